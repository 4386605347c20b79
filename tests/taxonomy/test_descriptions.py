"""``descriptions.json``: a sentence per label, and every fault with its line."""

from __future__ import annotations

from pathlib import Path

import pytest

from hbgl.errors import TaxonomyError
from hbgl.taxonomy import read_descriptions

LABELS = ("banking", "balance", "travel")


def test_some_labels_are_described(tmp_path: Path) -> None:
    """Any text will do, over several lines as well; the root is not a label, but may be there."""
    file = tmp_path / "descriptions.json"
    file.write_text('{"balance": "How much\\nmoney.", "travel": " trips ", "Root": "all"}')
    assert read_descriptions(file, LABELS) == {
        "balance": "How much\nmoney.",
        "travel": " trips ",
        "Root": "all",
    }


def test_all_faults_come_at_once_with_their_lines(tmp_path: Path) -> None:
    file = tmp_path / "descriptions.json"
    file.write_text(
        '{"balance": "money",\n"balnce": "money",\n"balance": "again",\n"travel": 7,\n'
        '"banking": " "}'
    )
    with pytest.raises(TaxonomyError) as refused:
        read_descriptions(file, LABELS)
    assert [(fault.line, fault.message.partition(";")[0]) for fault in refused.value.faults] == [
        (2, 'a description of the unknown label "balnce"'),
        (3, '"balance" is described already (line 1)'),
        (4, 'the description of "travel" is no text'),
        (5, 'the description of "banking" is no text'),
    ]
    assert refused.value.faults[0].file == str(file)


def test_half_a_character_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "descriptions.json"
    file.write_text('{"travel": "a \\ud83d b"}')
    with pytest.raises(TaxonomyError, match="half a character"):
        read_descriptions(file, LABELS)


@pytest.mark.parametrize(("content", "message"), [("[]", "one JSON object"), ("{", "broken JSON")])
def test_other_files_are_refused(content: str, message: str, tmp_path: Path) -> None:
    file = tmp_path / "descriptions.json"
    file.write_text(content)
    with pytest.raises(TaxonomyError, match=message):
        read_descriptions(file, LABELS)
