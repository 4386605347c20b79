from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import typer
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from hbgl.cli.data_split import split as split_command
from hbgl.errors import HBGLError, RecordError, UsageError
from hbgl.records import Record, read_records, write_records
from hbgl.records.text_key import text_key
from hbgl.splitting import assign_splits, stratify, write_splits
from hbgl.taxonomy import Taxonomy, read_taxonomy, write_taxonomy

FRACTIONS = {"train": 0.8, "dev": 0.1, "test": 0.1}
TREE = Taxonomy.from_paths([("science", "physics"), ("sports",)], names={"physics": "nature"})


def corpus(documents: int, seed: int = 0) -> list[Record]:
    """Documents with one or two of 20 labels, the rarest in about one of a hundred."""
    random = np.random.default_rng(seed)
    share = np.linspace(1, 10, 20) / np.linspace(1, 10, 20).sum()
    return [
        Record(
            f"document {number}",
            tuple(f"label {i}" for i in random.choice(20, random.integers(1, 3), False, share)),
        )
        for number in range(documents)
    ]


def test_texts_are_compared_without_case_space_and_punctuation() -> None:
    assert text_key("Hello, World!") == text_key(" hello-world\n")
    assert text_key("«Ça va?» — Oui…") == text_key("ça vaoui")
    assert text_key("ｆｕｌｌ ｗｉｄｔｈ") == text_key("full width")
    assert text_key("a1") != text_key("a2")
    assert text_key("!") != text_key("?")
    assert text_key("कि") != text_key("की")  # vowel signs are no punctuation


def test_two_documents_per_label_and_two_equal_splits() -> None:
    """Labels 0 and 1 with two documents each: one of each goes to each half."""
    chosen = stratify([[(0,)], [(0,)], [(1,)], [(1,)]], [0.5, 0.5], seed=3)
    assert sorted(chosen[:2]) == sorted(chosen[2:]) == [0, 1]


def test_the_label_distribution_is_kept() -> None:
    """2,000 documents: each label's share in each split is within a document or two of its due."""
    records = corpus(2000)
    chosen, _ = assign_splits(records, FRACTIONS, seed=1)
    sizes = Counter(chosen)
    assert all(abs(sizes[name] - 2000 * share) <= 20 for name, share in FRACTIONS.items())
    totals = Counter(label for record in records for label in record.labels)
    for name, share in FRACTIONS.items():
        found = Counter(
            label
            for record, split in zip(records, chosen, strict=True)
            if split == name
            for label in record.labels
        )
        worst = max(abs(found[label] - share * total) for label, total in totals.items())
        assert worst <= 8, (name, worst)


def test_leaves_keep_their_share_beside_their_ancestors() -> None:
    """1,000 documents of one to three leaves below A and B: no leaf is off by more than three.

    When B has as many documents left as its last leaf, that leaf decides where they go.
    """
    random = np.random.default_rng(0)
    share = 1 / np.arange(1, 11) / (1 / np.arange(1, 11)).sum()
    leaves = [random.choice(10, random.integers(1, 4), True, share).tolist() for _ in range(1000)]
    records = []
    for number, chosen_leaves in enumerate(leaves):
        above = {"A" if leaf < 5 else "B" for leaf in chosen_leaves}
        labels = [*sorted(above), *(f"leaf {leaf}" for leaf in sorted(set(chosen_leaves)))]
        records.append(Record(f"document {number}", tuple(labels)))
    for seed in range(5):
        chosen, _ = assign_splits(records, FRACTIONS, seed=seed)
        for leaf in range(10):
            mine = [split for split, some in zip(chosen, leaves, strict=True) if leaf in some]
            for split, part in FRACTIONS.items():
                assert abs(mine.count(split) - part * len(mine)) <= 3, (seed, leaf, split)


def test_rare_labels_go_to_training_first() -> None:
    records = [Record(f"common {i}", ("common",)) for i in range(98)] + [Record("one", ("rare",))]
    chosen, _ = assign_splits(records, FRACTIONS)
    assert chosen[-1] == "train"


def test_near_duplicates_stay_together() -> None:
    """Ten texts, each in five spellings: five documents of one text are in one split."""
    records = [
        Record(mark.join(("Text", "number", str(number))), (f"label {number % 3}",))
        for mark in (" ", "-", "  ", ", ", "\n")
        for number in range(10)
    ]
    chosen, repeated = assign_splits(records, {"train": 0.5, "test": 0.5}, seed=2)
    assert repeated == 40
    for number in range(10):
        assert len({chosen[place] for place in range(number, 50, 10)}) == 1
    assert Counter(chosen) == {"train": 25, "test": 25}


def test_documents_without_labels_fill_up_the_sizes() -> None:
    chosen, _ = assign_splits([Record(str(number)) for number in range(100)], FRACTIONS)
    assert Counter(chosen) == {"train": 80, "dev": 10, "test": 10}


def test_the_seed_decides() -> None:
    records = corpus(300)
    first, second, third = (assign_splits(records, FRACTIONS, seed=seed)[0] for seed in (1, 1, 2))
    assert first == second != third


@given(
    st.lists(
        st.lists(st.lists(st.integers(0, 5), unique=True, max_size=3), min_size=1, max_size=3)
    ),
    st.integers(0, 3),
)
def test_every_unit_gets_a_split(units: list[list[list[int]]], seed: int) -> None:
    chosen = stratify(units, [0.7, 0.2, 0.1], seed=seed)
    assert len(chosen) == len(units)
    assert set(chosen) <= {0, 1, 2}


@pytest.mark.parametrize("fractions", [{"a": 0.5, "b": 0.4}, {"a": 1.5, "b": -0.5}, {}])
def test_fractions_that_are_no_division(fractions: dict[str, float]) -> None:
    with pytest.raises(UsageError, match="fraction"):
        assign_splits([], fractions)


def test_a_corpus_folder_is_written(tmp_path: Path) -> None:
    records = [
        Record(f"text {i}", ("science", "physics") if i % 2 else ("sports",)) for i in range(20)
    ]
    folder = tmp_path / "made" / "corpus"
    made = write_splits(
        lambda: records, folder, taxonomy=TREE, fractions={"train": 0.5, "dev": 0, "test": 0.5}
    )
    assert made.documents == {"train": 10, "test": 10}
    assert sorted(file.name for file in folder.iterdir()) == [
        "names.json",
        "taxonomy.tsv",
        "test.jsonl",
        "train.jsonl",
    ]
    taxonomy = read_taxonomy(folder / "taxonomy.tsv")
    assert taxonomy.names["physics"] == "nature"
    back = [
        record
        for name in ("train", "test")
        for record in read_records(folder / f"{name}.jsonl", taxonomy=taxonomy)
    ]
    assert sorted(back, key=lambda record: record.text) == sorted(
        records, key=lambda record: record.text
    )


def test_nothing_is_replaced_without_force(tmp_path: Path) -> None:
    records = [Record("a", ("sports",)), Record("b", ("sports",))]
    source = tmp_path / "train.jsonl"
    write_records(records, source)

    def write(*, overwrite: bool, keep: tuple[Path, ...] = ()) -> None:
        write_splits(
            lambda: records,
            tmp_path,
            taxonomy=TREE,
            fractions={"train": 0.5, "test": 0.5},
            compress=True,
            overwrite=overwrite,
            keep=keep,
        )

    with pytest.raises(UsageError, match=r"has train\.jsonl already"):
        write(overwrite=False)
    with pytest.raises(UsageError, match="would be replaced by what is made from it"):
        write(overwrite=True, keep=(source,))
    assert [file.name for file in tmp_path.iterdir()] == ["train.jsonl"]
    (tmp_path / "notes.txt").touch()
    write(overwrite=True)
    assert sorted(file.name for file in tmp_path.iterdir()) == [
        "names.json",
        "notes.txt",
        "taxonomy.tsv",
        "test.jsonl.gz",
        "train.jsonl.gz",
    ]


def test_what_cannot_be_divided_is_refused(tmp_path: Path) -> None:
    def write(*records: Record) -> None:
        write_splits(lambda: records, tmp_path / "new", taxonomy=TREE, fractions=FRACTIONS)

    with pytest.raises(RecordError, match="there are no documents to divide"):
        write()
    with pytest.raises(RecordError, match="none of the 2 documents has labels"):
        write(Record("a"), Record("b"))
    (tmp_path / "new").touch()
    with pytest.raises(UsageError, match="a file; name the folder to make"):
        write(Record("a", ("sports",)))
    assert [file.name for file in tmp_path.iterdir()] == ["new"]


def test_documents_without_labels_are_counted(tmp_path: Path) -> None:
    records = [Record("a", ("sports",)), Record("b"), Record("c")]
    made = write_splits(
        lambda: records, tmp_path / "new", taxonomy=TREE, fractions={"train": 0.5, "dev": 0.5}
    )
    assert made.without_labels == 2
    assert sum(made.documents.values()) == 3


def test_after_an_error_nothing_is_left(tmp_path: Path) -> None:
    counts: Iterator[int] = iter((3, 2))
    with pytest.raises(RecordError, match="changed while"):
        write_splits(
            lambda: corpus(next(counts)), tmp_path / "new", taxonomy=TREE, fractions=FRACTIONS
        )
    assert list(tmp_path.iterdir()) == []


app = typer.Typer()
app.command()(split_command)


def run(*arguments: object) -> dict[str, object]:
    result = CliRunner().invoke(app, [*map(str, arguments), "--json"])
    if isinstance(result.exception, HBGLError):
        raise result.exception
    assert result.exit_code == 0, result.output
    report: dict[str, object] = json.loads(result.stdout)
    return report


def test_the_command_reads_a_table_with_label_columns(tmp_path: Path) -> None:
    """Ten rows, one of them with an unknown area: nine documents in the folder, one beside."""
    table = tmp_path / "reviews.csv"
    rows = [f"text {i},science,physics\n" for i in range(9)] + ["text 9,scince,physics\n"]
    table.write_text("body,area,topic\n" + "".join(rows))
    write_taxonomy(TREE, tmp_path / "areas.tsv")
    arguments = (table, "-o", tmp_path / "out", "--text", "body", "--labels", "area,topic")
    with pytest.raises(RecordError, match=r'reviews\.csv:11: .*"scince"; did you mean "science"'):
        run(*arguments, "--taxonomy", tmp_path / "areas.tsv")
    report = run(*arguments, "--taxonomy", tmp_path / "areas.tsv", "--on-error", "skip", "--gzip")
    assert report["documents"] == {"train": 7, "dev": 1, "test": 1}
    assert report["skipped"] == 1
    skipped = (tmp_path / "reviews.csv.skipped.jsonl").read_text().splitlines()
    assert len(skipped) == 1
    assert json.loads(skipped[0])["raw"] == "text 9,scince,physics"
    inferred = run(*arguments, "--force")
    assert inferred["labels"] == 3
    with pytest.raises(UsageError, match="--force"):
        run(*arguments)
    with pytest.raises(UsageError, match="standard input"):
        run("-", "-o", tmp_path / "out")


def test_the_file_of_skipped_records_replaces_no_other(tmp_path: Path) -> None:
    source = tmp_path / "all.jsonl"
    source.write_text('{"text": "a", "labels": ["a > b"]}\n{"text": ""}\n{"text": "b"}\n')
    before, out = source.read_bytes(), tmp_path / "out"
    arguments = (source, "-o", out, "--on-error", "skip", "--skipped")
    for taken in (source, out / "train.jsonl", tmp_path, tmp_path / "nowhere" / "bad.jsonl"):
        with pytest.raises(UsageError, match="--skipped"):
            run(*arguments, taken)
    assert source.read_bytes() == before
    assert not out.exists()
    assert run(*arguments, tmp_path / "bad.jsonl")["without_labels"] == 1
    assert len((tmp_path / "bad.jsonl").read_text().splitlines()) == 1


def test_when_all_records_are_skipped_the_command_says_why(tmp_path: Path) -> None:
    source = tmp_path / "all.jsonl"
    source.write_text('{"text": "", "labels": ["a > b"]}\n')
    result = CliRunner().invoke(
        app, [str(source), "-o", str(tmp_path / "out"), "--on-error", "skip"]
    )
    assert isinstance(result.exception, RecordError)
    assert "read 0 records, skipped 1 (1 no text); the skipped ones are in" in result.stderr
    assert (tmp_path / "all.jsonl.skipped.jsonl").exists()


def test_the_command_reports_in_plain_words(tmp_path: Path) -> None:
    source = tmp_path / "all.jsonl"
    lines = [Record(text, ("a > b",)) for text in ("x", "X!", "y", "z")]
    write_records(lines, source)
    result = CliRunner().invoke(
        app,
        [str(source), "-o", str(tmp_path / "out"), "--train", "0.5", "--dev", "0", "--test", "0.5"],
    )
    assert result.exit_code == 0
    assert "train 2, test 2; 2 labels, seed 0" in result.output
    assert "1 documents repeat a text" in result.output
