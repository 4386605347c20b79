"""Sentence embeddings: the mean of a backbone's last states over the tokens, at length 1."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch.nn import functional

from hbgl.backbones import Backbone
from hbgl.batching import collate, forward_tokens, prediction_batches, tokenize
from hbgl.families import encoder_parts
from hbgl.trained_model import default_device

__all__ = ["SentenceEncoder"]


@dataclass(frozen=True, slots=True)
class SentenceEncoder:
    """A frozen backbone."""

    backbone: Backbone
    max_length: int
    """Tokens of a text, [CLS] and [SEP] included; never more than the backbone has positions."""

    @torch.inference_mode()
    def vectors(self, texts: Sequence[str]) -> np.ndarray:
        """[texts, d] float32, each of length 1; computed in batches of texts of like length."""
        model: Any = self.backbone.model
        device = default_device()
        model.to(device).eval()
        parts = encoder_parts(model)
        longest = min(self.max_length, parts.max_positions)
        tokens = tokenize(texts, self.backbone.tokenizer, longest)
        found = np.zeros((len(texts), parts.hidden_size), dtype=np.float32)
        for indices in prediction_batches(tokens.lengths, forward_tokens(device)):
            batch = collate(tokens, indices, self.backbone.pad_id).to(device)
            seen = torch.arange(batch.ids.shape[1], device=device) < batch.lengths[:, None]  # [B,N]
            states = model(input_ids=batch.ids, attention_mask=seen.long()).last_hidden_state
            sums = (states * seen[..., None]).sum(dim=1)  # [B, d]
            found[indices] = functional.normalize(sums / batch.lengths[:, None], dim=1).cpu()
        return found
