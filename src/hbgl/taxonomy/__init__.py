"""Taxonomies: the labels, how they hang together, and the only reader of them.

Read in this order: `names` (what a label may be called), `draft` (what a source says), `validate`
(all faults at once), `structure` (the taxonomy), then the formats.
"""

from hbgl.taxonomy.descriptions import DESCRIPTIONS_FILE, read_descriptions
from hbgl.taxonomy.drawing import draw_tree
from hbgl.taxonomy.formats import NAMES_FILE, Format, names_text, read_taxonomy, write_taxonomy
from hbgl.taxonomy.names import PATH_SEPARATOR, ROOT
from hbgl.taxonomy.nested import json_text
from hbgl.taxonomy.paths import Repeated
from hbgl.taxonomy.structure import Taxonomy
from hbgl.taxonomy.text_formats import tsv_text

__all__ = [
    "DESCRIPTIONS_FILE",
    "NAMES_FILE",
    "PATH_SEPARATOR",
    "ROOT",
    "Format",
    "Repeated",
    "Taxonomy",
    "draw_tree",
    "json_text",
    "names_text",
    "read_descriptions",
    "read_taxonomy",
    "tsv_text",
    "write_taxonomy",
]
