"""Corpora: folders in hbgl's format, two bundled ones, and converters of public ones.

Reading order: ``folder`` (what a corpus folder is, the bundled ones), ``writing`` (how a
converter streams into one), ``counts`` (what the literature publishes, and the comparison),
then one file per public corpus.
"""

from hbgl.corpora.folder import BUNDLED, BundledCorpus, CorpusFolder, open_corpus

__all__ = ["BUNDLED", "BundledCorpus", "CorpusFolder", "open_corpus"]
