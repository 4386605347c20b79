"""What converters share: options, splits, label names, duplicates, counts, the writer."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hbgl.corpora import PrepareOptions, open_corpus, prepare_corpus
from hbgl.corpora.counts import PUBLISHED, differences, measure
from hbgl.corpora.duplicates import Document, without_duplicates
from hbgl.corpora.label_names import frequent_labels, taxonomy_from_paths, unique_labels
from hbgl.corpora.split_choice import IdLists, shares_to_sizes, shuffled_splits, twice_a_fifth
from hbgl.corpora.writing import Description, corpus_writer
from hbgl.errors import CorpusError, UsageError
from hbgl.taxonomy import Taxonomy

DESCRIPTION = Description("Title", "source", "licence", "split")


def test_options_without_effect_are_refused_all_at_once() -> None:
    options = PrepareOptions(seed=3, labels=Path("x"), drop_duplicates=True, dev_share=0.0)
    with pytest.raises(UsageError, match="clinc150 does not use --labels, --dev-share; its opt"):
        options.refuse_unused("clinc150", ("drop_duplicates",))


def test_unknown_corpora_and_missing_raw_files_are_wrong_use(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no corpus 'imdb'; there are wos, nyt"):
        prepare_corpus("imdb", [tmp_path], tmp_path / "out")
    with pytest.raises(UsageError, match=r"wos needs raw files: Data\.xlsx"):
        prepare_corpus("wos", [], tmp_path / "out")


def test_sizes_of_the_published_splits() -> None:
    assert twice_a_fifth(46985) == PUBLISHED["wos"].documents
    assert (
        shares_to_sizes(36471, dict(PUBLISHED["nyt"].documents or {})) == PUBLISHED["nyt"].documents
    )
    train = {"train": 20833, "dev": 2316, "test": 0}
    assert shares_to_sizes(23149, train) == train


@given(st.integers(0, 200), st.integers(0, 2**32 - 1))
@settings(max_examples=50, deadline=None)
def test_shuffled_splits_have_the_sizes(documents: int, seed: int) -> None:
    sizes = twice_a_fifth(documents)
    splits = shuffled_splits(documents, sizes, seed)
    assert Counter(splits) == Counter({k: v for k, v in sizes.items() if v})
    assert splits == shuffled_splits(documents, sizes, seed)


def test_id_lists_decide_and_report_what_is_missing(tmp_path: Path) -> None:
    for name, text in {"train": "1\n002\n", "test": "3\n", "other": "3\n1\n"}.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    options = PrepareOptions(train_ids=tmp_path / "train", test_ids=tmp_path / "test")
    lists = IdLists.from_options(options)
    assert lists is not None
    assert [lists.split(i) for i in ("0001", "2", "9")] == ["train", "train", None]
    assert "1 ids of the lists were not found (such as 3)" in lists.report()[1]
    with pytest.raises(UsageError, match="--train-ids and --test-ids together"):
        IdLists.from_options(PrepareOptions(dev_ids=tmp_path / "train"))
    with pytest.raises(CorpusError, match=r"document 3 is in .*test too"):
        IdLists({"test": tmp_path / "test", "train": tmp_path / "other"})


def test_equal_names_are_qualified() -> None:
    """Depression stands in two domains; "general" even below equal parents."""
    paths = [
        ("Medical", "Depression"),
        ("Psychology", "depression"),
        ("CS", "Logic"),
        ("A", "X", "General"),
        ("B", "X", "General"),
    ]
    labels = unique_labels(paths)
    assert labels["Medical", "Depression"] == "Depression (Medical)"
    assert labels["Psychology", "depression"] == "depression (Psychology)"
    assert labels["CS", "Logic"] == "Logic"
    assert labels["A", "X"] == "X (A)"
    assert labels["A", "X", "General"] == "General (X, A)"
    taxonomy = taxonomy_from_paths(labels)
    assert taxonomy.names["General (X, B)"] == "General"
    for path in paths:
        assert taxonomy.labels[taxonomy.path_ids(path)[-1]] == labels[tuple(path)]
    assert taxonomy.depth == 3


@given(
    st.lists(
        st.lists(st.sampled_from(["a", "A", "b", "c", "a (b)"]), min_size=1, max_size=4),
        min_size=1,
        max_size=20,
    )
)
@settings(max_examples=100, deadline=None)
def test_unique_labels_make_a_taxonomy_of_every_set_of_paths(paths: list[list[str]]) -> None:
    labels = unique_labels(paths)
    assert len(set(labels.values())) == len(labels)
    taxonomy = taxonomy_from_paths(labels)
    assert set(taxonomy.labels) == set(labels.values())
    for node, label in labels.items():
        parents = [taxonomy.labels[int(i)] for i in taxonomy.parents(taxonomy.id(label))]
        assert parents == ([labels[node[:-1]]] if len(node) > 1 else [])


def test_frequent_labels_count_ancestors() -> None:
    taxonomy = Taxonomy.from_edges([("a", "a1"), ("a", "a2")])
    assert frequent_labels(taxonomy, [("a1",), ("a2",)], 2) == {"a"}


def test_duplicates_are_kept_once_test_first() -> None:
    documents = [
        Document("train", "Same text!", ("a",)),
        Document("dev", "same  TEXT", ("a",)),
        Document("test", "same text", ("a",)),
        Document("train", "other", ("a",)),
    ]
    kept, lost = without_duplicates(documents)
    assert [document.text for document in kept] == ["same text", "other"]
    assert lost == {"dev": 1, "train": 1}


def test_measure_counts_labels_with_their_ancestors() -> None:
    """Two documents {a, a1} and one {b} of the labels a, b, a1, a2: 5 / 3 labels each."""
    taxonomy = Taxonomy.from_edges([("a", "a1"), ("a", "a2")], labels=["a", "b"])
    found = measure(taxonomy, {"train": Counter({("a1",): 2}), "test": Counter({("b",): 1})})
    assert found.labels_per_document == 1.6667
    assert found.documents == {"train": 2, "test": 1}
    assert found.labels_without_documents == 1


def test_differences_name_each_figure() -> None:
    taxonomy = Taxonomy.from_edges([("a", "a1")])
    found = measure(taxonomy, {"train": Counter({("a1",): 30070}), "dev": Counter()})
    lines = differences("wos", found)
    assert lines[0] == "labels: 2 here, 141 published (-139)"
    assert "test documents: 0 here, 9,397 published (-9,397)" in lines
    assert not any("train" in line or "depth" in line for line in lines)
    assert differences("table", found) == []


def test_the_writer_writes_all_files_and_the_same_bytes(tmp_path: Path) -> None:
    for name in ("one", "two"):
        with corpus_writer("table", tmp_path / name) as writer:
            writer.add("train", "a tree", ["a1", "a1"], "7")
            writer.add("test", "b\u00e4r", [])
            writer.leave_out("rows without text", 2)
            writer.finish(Taxonomy.from_edges([("a", "a1")]), DESCRIPTION)
    one, two = tmp_path / "one", tmp_path / "two"
    for file in one.iterdir():
        assert file.read_bytes() == (two / file.name).read_bytes()
    assert {file.name for file in one.iterdir()} == {
        "README.md",
        "names.json",
        "statistics.json",
        "taxonomy.tsv",
        "test.jsonl.gz",
        "train.jsonl.gz",
    }
    corpus = open_corpus(one)
    assert [record.labels for record in corpus.records("train")] == [("a", "a1")]
    statistics = json.loads((one / "statistics.json").read_text(encoding="utf-8"))
    assert statistics["left_out"] == {"rows without text": 2}
    assert statistics["documents_without_labels"] == 1


def test_nothing_is_written_without_documents_or_with_unknown_labels(tmp_path: Path) -> None:
    def write(labels: list[str], documents: int) -> None:
        with corpus_writer("table", tmp_path / "out") as writer:
            writer.leave_out("of no use", 3)
            for _ in range(documents):
                writer.add("train", "text", labels)
            writer.finish(Taxonomy.from_edges([("a", "a1")]), DESCRIPTION)

    with pytest.raises(CorpusError, match=r"no document was found \(3 of no use\)"):
        write([], 0)
    with pytest.raises(CorpusError, match="labels that the taxonomy lacks: 'x'"):
        write(["x"], 1)
    assert list(tmp_path.iterdir()) == []
