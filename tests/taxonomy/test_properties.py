"""What holds for every taxonomy: written and read back equal, closure, levels, order."""

from __future__ import annotations

import contextlib
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from hbgl.errors import HBGLError
from hbgl.taxonomy import Taxonomy, json_text, read_taxonomy, tsv_text, write_taxonomy
from hbgl.taxonomy.names import fold_name, name_fault

NAMES = st.one_of(
    st.sampled_from(["#tag", '"quoted"', "a,b", "- dash", "{", "null", "no", "a>b", "ünï", "📚 x"]),
    st.text(st.characters(codec="utf-8"), min_size=1, max_size=12),
).filter(lambda name: name_fault(name) is None and name != "Root")


@st.composite
def taxonomies(draw: st.DrawFn) -> Taxonomy:
    """Trees, forests and graphs of up to 12 labels, from edges in any order."""
    names = draw(st.lists(NAMES, min_size=1, max_size=12, unique_by=fold_name))
    most = draw(st.sampled_from([1, 1, 3]))
    edges: list[tuple[str, str]] = []
    for place, name in enumerate(names):
        above = draw(st.sets(st.integers(0, place - 1), max_size=most)) if place else set()
        edges.extend((names[parent], name) for parent in above)
        if not above:
            edges.append(("Root", name))
    words = draw(st.dictionaries(st.sampled_from(names), NAMES, max_size=3))
    return Taxonomy.from_edges(draw(st.permutations(edges)), names=words)


some_labels: Any = taxonomies().flatmap(
    lambda taxonomy: st.tuples(
        st.just(taxonomy), st.sets(st.integers(0, len(taxonomy) - 1), max_size=6)
    )
)


@given(taxonomies(), st.sampled_from(["taxonomy.tsv", "taxonomy.json"]))
@settings(max_examples=150, deadline=None)
def test_written_and_read_back_equal(taxonomy: Taxonomy, name: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        write_taxonomy(taxonomy, path)
        again = read_taxonomy(path)
        assert again == taxonomy
        assert again.labels == taxonomy.labels
        assert tsv_text(again) == tsv_text(taxonomy)
        assert json_text(again) == json_text(taxonomy)


@given(taxonomies())
@settings(deadline=None)
def test_edges_rebuild_the_taxonomy(taxonomy: Taxonomy) -> None:
    pairs = [(taxonomy.labels[parent], taxonomy.labels[child]) for parent, child in taxonomy.edges]
    assert Taxonomy.from_edges(pairs, labels=taxonomy.labels, names=taxonomy.names) == taxonomy


@given(taxonomies())
@settings(deadline=None)
def test_parents_are_one_level_below_or_more(taxonomy: Taxonomy) -> None:
    for i in range(len(taxonomy)):
        above = taxonomy.levels[taxonomy.parents(i)]
        assert taxonomy.levels[i] == 1 + above.max(initial=0)
    assert (np.diff(taxonomy.levels) >= 0).all()
    parents, children = taxonomy.edges.T
    assert (parents < children).all()


@given(some_labels)
@settings(deadline=None)
def test_closure_is_idempotent(case: tuple[Taxonomy, set[int]]) -> None:
    taxonomy, ids = case
    closed = taxonomy.closure(ids)
    assert taxonomy.closure(closed).tolist() == closed.tolist()
    assert ids <= set(closed.tolist())
    expected = set(ids).union(*(taxonomy.ancestors(i).tolist() for i in ids))
    assert closed.tolist() == sorted(expected)


@given(some_labels)
@settings(deadline=None)
def test_paths_cover_the_closure(case: tuple[Taxonomy, set[int]]) -> None:
    taxonomy, ids = case
    paths = taxonomy.paths(ids)
    assert {i for path in paths for i in path} == set(taxonomy.closure(ids).tolist())
    assert len(set(paths)) == len(paths)
    for path in paths:
        assert not len(taxonomy.parents(path[0]))
        labels = [taxonomy.labels[i] for i in path]
        assert taxonomy.path_ids(labels).tolist() == list(path)


@given(taxonomies())
@settings(deadline=None)
def test_up_and_down_agree(taxonomy: Taxonomy) -> None:
    for i in range(len(taxonomy)):
        assert all(i in taxonomy.descendants(j) for j in taxonomy.ancestors(i))
        assert all(i in taxonomy.children(j) for j in taxonomy.parents(i))
        assert all(i in taxonomy.siblings(j) for j in taxonomy.siblings(i))
        below = taxonomy.subtree(taxonomy.labels[i])
        assert set(below.labels) == {
            taxonomy.labels[j] for j in [i, *taxonomy.descendants(i).tolist()]
        }


PIECES = st.sampled_from(
    [
        *(
            b"Root",
            b"A",
            b"B",
            b"\t",
            b"\n",
            b"\r\n",
            b" > ",
            b",",
            b'"',
            b"null",
            b"\x00",
            b"\xff",
        ),
        *(b"{", b"}", b"[", b"]", b":", b'"name"', b'"children"', b'"labels"', b"\xef\xbb\xbf"),
        *(b'{"format": "hbgl-taxonomy", ', b"- ", b"&a", b"*a", b"<Taxonomy>", b"</", b">"),
        *(b"<Choice value='A'>", b"<!DOCTYPE a>", b"? ", b"!!python/object:os.system ", b"---"),
    ]
)
SUFFIXES = st.sampled_from([".tsv", ".csv", ".txt", ".json", ".yaml", ".xml"])


@given(st.lists(PIECES, max_size=25).map(b"".join), SUFFIXES)
@settings(max_examples=300, deadline=None)
def test_no_content_is_a_crash(content: bytes, suffix: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"taxonomy{suffix}"
        path.write_bytes(content)
        with contextlib.suppress(HBGLError):
            assert len(read_taxonomy(path)) > 0
