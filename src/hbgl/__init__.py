"""hbgl: hierarchical text classification, whole paths, many paths, any depth."""

__version__ = "0.1.0"
