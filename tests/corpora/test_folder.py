"""Corpus folders and the bundled corpora."""

from __future__ import annotations

from pathlib import Path

import pytest

from hbgl.corpora import BUNDLED, copy_bundled, open_corpus
from hbgl.corpora.folder import new_corpus_folder
from hbgl.errors import CorpusError, UsageError


def small_folder(path: Path) -> Path:
    path.mkdir()
    (path / "taxonomy.tsv").write_text("Root\ta\tb\na\ta1\n", encoding="utf-8")
    (path / "train.jsonl").write_text('{"text": "one", "labels": ["a1"]}\n', encoding="utf-8")
    return path


@pytest.mark.parametrize("name", sorted(BUNDLED))
def test_bundled_corpora_are_what_their_entry_says(name: str) -> None:
    corpus, entry = open_corpus(name), BUNDLED[name]
    assert len(corpus.taxonomy) == entry.labels
    assert corpus.taxonomy.depth == entry.depth
    documents = tuple(sum(1 for _ in corpus.records(split)) for split in ("train", "dev", "test"))
    assert documents == entry.documents
    readme = (corpus.path / "README.md").read_text(encoding="utf-8")
    assert entry.licence in readme


@pytest.mark.parametrize("name", sorted(BUNDLED))
def test_every_bundled_label_has_a_training_document(name: str) -> None:
    corpus = open_corpus(name)
    seen = {label for record in corpus.records("train") for label in record.labels}
    assert seen == set(corpus.taxonomy.labels)


def test_bundled_arxiv_sample_is_small() -> None:
    folder = open_corpus("arxiv-sample").path
    assert sum(file.stat().st_size for file in folder.iterdir()) <= 2_000_000


def test_labels_are_closed_and_other_files_open_by_stem() -> None:
    corpus = open_corpus("clinc150")
    record = next(corpus.records("dev"))
    assert len(record.labels) == 2
    assert sum(1 for _ in corpus.records("oos_test")) == 1000
    with pytest.raises(CorpusError, match="no split 'training'; it has train, dev, test"):
        corpus.records("training")


def test_a_folder_opens_and_comes_before_a_bundled_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small_folder(tmp_path / "clinc150")
    monkeypatch.chdir(tmp_path)
    corpus = open_corpus("clinc150")
    assert corpus.taxonomy.labels == ("a", "b", "a1")
    assert [record.labels for record in corpus.records("train")] == [("a", "a1")]


def test_incomplete_folders_are_refused(tmp_path: Path) -> None:
    folder = small_folder(tmp_path / "corpus")
    (folder / "train.jsonl.gz").write_bytes(b"")
    with pytest.raises(CorpusError, match=r"both train\.jsonl and train\.jsonl\.gz"):
        open_corpus(folder)
    (folder / "train.jsonl.gz").unlink()
    (folder / "train.jsonl").unlink()
    with pytest.raises(CorpusError, match="none of train, dev, test"):
        open_corpus(folder)
    (folder / "taxonomy.tsv").unlink()
    with pytest.raises(CorpusError, match=r"no taxonomy\.tsv"):
        open_corpus(folder)
    with pytest.raises(CorpusError, match="neither a folder nor a bundled corpus"):
        open_corpus(tmp_path / "missing")
    (tmp_path / "file").touch()
    with pytest.raises(CorpusError, match="a file, but a corpus folder"):
        open_corpus(tmp_path / "file")


def test_a_copy_is_complete_and_never_overwrites(tmp_path: Path) -> None:
    destination = tmp_path / "new" / "copy"
    copy_bundled("clinc150", destination)
    source = open_corpus("clinc150").path
    assert {f.name for f in destination.iterdir()} == {f.name for f in source.iterdir()}
    assert open_corpus(destination).taxonomy == open_corpus("clinc150").taxonomy
    with pytest.raises(UsageError, match="exists already"):
        copy_bundled("clinc150", destination)
    with pytest.raises(CorpusError, match="bundled are arxiv-sample, clinc150"):
        copy_bundled("wos", tmp_path / "other")


def test_nothing_is_left_after_an_error(tmp_path: Path) -> None:
    def fail() -> None:
        with new_corpus_folder(tmp_path / "corpus") as beside:
            (beside / "train.jsonl").touch()
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert list(tmp_path.iterdir()) == []
