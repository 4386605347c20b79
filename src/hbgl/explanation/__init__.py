"""Why a text got its labels, and whether the reasons hold.

Read in this order: `words` (a text's words and their tokens), `gradients` (integrated gradients
through the text embeddings), `explain` (paths, siblings, words), `page` (as HTML), `deletion` (the
test of the attributions).
"""

from hbgl.explanation.deletion import DeletionResult, deletion_test
from hbgl.explanation.explain import Explanation, LabelExplanation, PathNode, Word, explain
from hbgl.explanation.page import explanation_page

__all__ = [
    "DeletionResult",
    "Explanation",
    "LabelExplanation",
    "PathNode",
    "Word",
    "deletion_test",
    "explain",
    "explanation_page",
]
