"""The tree in the terminal."""

from __future__ import annotations

from hbgl.taxonomy import Taxonomy, draw_tree


def test_tree() -> None:
    taxonomy = Taxonomy.from_paths(
        [("science", "physics", "optics"), ("science", "biology"), ("sports",)],
        names={"optics": "light"},
    )
    assert list(draw_tree(taxonomy)) == [
        "science",
        "├── physics",
        "│   └── optics",
        "└── biology",
        "sports",
    ]
    counts = {"science": 1200, "optics": 3}
    assert list(draw_tree(taxonomy, names=True, counts=counts, ascii_only=True)) == [
        "science (1,200)",
        "|-- physics (0)",
        "|   `-- optics: light (3)",
        "`-- biology (0)",
        "sports (0)",
    ]
    assert list(draw_tree(taxonomy, levels=1)) == ["science (3 below)", "sports"]
    assert list(draw_tree(taxonomy, levels=2)) == [
        "science",
        "├── physics (1 below)",
        "└── biology",
        "sports",
    ]


def test_label_with_several_parents_is_spelled_out_once() -> None:
    taxonomy = Taxonomy.from_paths([("a", "c", "d"), ("b", "c")])
    assert list(draw_tree(taxonomy)) == [
        "a",
        "└── c",
        "    └── d",
        "b",
        "└── c (see above)",
    ]


def test_deep_chain_does_not_grow_wide() -> None:
    lines = list(draw_tree(Taxonomy.from_paths([[f"n{i}" for i in range(5000)]])))
    assert len(lines) == 5000
    assert max(map(len, lines)) < 200
    assert lines[4999].endswith("[5000] n4999")
