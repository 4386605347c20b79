"""Corpora: folders in hbgl's format, the bundled ones, and converters of public ones.

Reading order: ``folder`` (what a corpus folder is, the bundled ones), ``options`` and ``writing``
(how a converter streams into one), ``counts`` (what the literature publishes, and the
comparison), ``raw_files``, ``split_choice``, ``label_names``, ``duplicates`` (what converters
share), ``converters`` (the list), then one file per public corpus.
"""

from hbgl.corpora.converters import CONVERTERS, Converter, prepare_corpus
from hbgl.corpora.folder import BUNDLED, BundledCorpus, CorpusFolder, copy_bundled, open_corpus
from hbgl.corpora.options import PrepareOptions
from hbgl.corpora.writing import PreparedCorpus

__all__ = [
    "BUNDLED",
    "CONVERTERS",
    "BundledCorpus",
    "Converter",
    "CorpusFolder",
    "PrepareOptions",
    "PreparedCorpus",
    "copy_bundled",
    "open_corpus",
    "prepare_corpus",
]
