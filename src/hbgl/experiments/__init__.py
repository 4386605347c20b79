"""Experiments: methods x corpora x seeds, and the yardsticks to hold them against."""
