"""Every fault is found, all at once, each with file and line."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import pytest

from hbgl.errors import Fault, HBGLError, TaxonomyError, UsageError
from hbgl.taxonomy import Taxonomy, read_taxonomy


def faults(tmp_path: Path, content: str | bytes) -> list[str]:
    """The faults of a file, each as ``line: message``."""
    path = tmp_path / "taxonomy.tsv"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    with pytest.raises(TaxonomyError) as raised:
        read_taxonomy(path)
    assert all(fault.file == str(path) for fault in raised.value.faults)
    return [f"{fault.line}: {fault.message}" for fault in raised.value.faults]


def test_all_faults_at_once(tmp_path: Path) -> None:
    """One file with one fault of each kind; nothing hides anything else."""
    assert faults(
        tmp_path,
        "Root\tBirds\tFish\tBirds\n"  # 1: Birds twice
        "Birds\tbirds\t Owls\n"  # 2: only case; padded
        "Fish\tCod\tSea > Bass\n"  # 3: separator
        "Fush\tTrout\n"  # 4: hangs nowhere
        "Cod\tPollock\tCafe\u0301\tCaf\u00e9\n"  # 5: composed and decomposed
        "Pollock\tCod\n"  # 6: cycle
        "Birds\t\tGulls\n",  # 7: empty
    ) == [
        '1: duplicate sibling "Birds" below "Root" (already on line 1)',
        '2: "birds" differs from "Birds" (line 1) only in case or Unicode form',
        '2: padded name " Owls": remove the space around it',
        '3: separator " > " inside the name "Sea > Bass"',
        '4: unknown parent "Fush": nothing puts it below "Root", so there are two roots where one '
        'is promised; did you mean "Fish"?',
        '5: "Caf\u00e9" differs from "Cafe\u0301" (line 5) only in case or Unicode form',
        "6: cycle: Cod > Pollock > Cod",
        "7: empty name",
    ]


def test_message_lists_file_and_line(tmp_path: Path) -> None:
    path = tmp_path / "taxonomy.tsv"
    path.write_text("Root\tA\nA\tB\nB\tA\n")
    with pytest.raises(TaxonomyError) as raised:
        read_taxonomy(path)
    assert str(raised.value) == (
        f"the taxonomy cannot be used: 1 fault in {path}\n  {path}:3: cycle: A > B > A"
    )
    assert raised.value.faults == (Fault("cycle: A > B > A", str(path), 3),)


def test_every_cycle_is_shown(tmp_path: Path) -> None:
    """Two cycles, one label below a cycle, and one label that is its own parent."""
    assert faults(
        tmp_path, "Root\tR\nA\tB\nB\tC\tbelow\nC\tA\nX\tY\nY\tX\nbelow\tdeeper\nS\tS\n"
    ) == ["4: cycle: A > B > C > A", "6: cycle: X > Y > X", "8: cycle: S > S"]


def test_cycles_that_share_labels_are_all_shown(tmp_path: Path) -> None:
    """A is on two cycles, B > C is part of two; one repair does not bring up another fault."""
    assert faults(tmp_path, "Root\tR\nA\tB\tD\nB\tC\nC\tA\tB\nD\tA\n") == [
        "4: cycle: A > B > C > A",
        "4: cycle: B > C > B",
        "5: cycle: A > D > A",
    ]


def test_many_long_cycles_are_summed_up() -> None:
    """A chain of 3,000 labels, each the parent of the first as well: 3,000 cycles.

    The longest come first: 354 of them have a million labels.
    """
    names = [f"n{i:04}" for i in range(3000)]
    back = [(name, names[0]) for name in names]
    with pytest.raises(TaxonomyError) as raised:
        Taxonomy.from_edges([*itertools.pairwise(names), *back])
    shown = [fault.message for fault in raised.value.faults]
    assert len(shown) == 356
    assert shown[-1] == "there are more cycles; correct these first"


def test_long_cycle_is_shortened() -> None:
    names = [f"n{i:05}" for i in range(30_000)]
    with pytest.raises(TaxonomyError) as raised:
        Taxonomy.from_edges(zip(names, [*names[1:], names[0]], strict=True))
    (fault,) = raised.value.faults
    assert fault.message.startswith("cycle: n00000 > n00001 > ")
    assert fault.message.endswith("... (30000 labels) > n29999 > n00000")


def test_tsv_without_its_root(tmp_path: Path) -> None:
    assert faults(tmp_path, "A\tB\nC\tD\n") == [
        '1: no line begins with the root "Root"; without a parent: "A", "C" '
        "(if the root has another name, say so)"
    ]
    assert faults(tmp_path, "A\tB\nB\tA\n") == [
        '1: no line begins with the root "Root" (if the root has another name, say so)',
        "2: cycle: A > B > A",
    ]


def test_another_name_for_the_root(tmp_path: Path) -> None:
    path = tmp_path / "taxonomy.tsv"
    path.write_text("Top\tA\nA\tB\n")
    assert read_taxonomy(path, root="Top").labels == ("A", "B")


def test_root_below_a_label(tmp_path: Path) -> None:
    assert faults(tmp_path, "Root\tA\nA\tRoot\n") == ['2: the root "Root" stands below "A"']


@pytest.mark.parametrize("content", ["", "\n\n", "\r\n", "\ufeff", "Root\n"])
def test_empty_file(tmp_path: Path, content: str) -> None:
    assert faults(tmp_path, content) == ["None: no labels: the taxonomy is empty"]


@pytest.mark.parametrize("suffix", [".csv", ".txt", ".yaml"])
def test_empty_file_of_other_formats(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"empty{suffix}"
    path.touch()
    with pytest.raises(TaxonomyError, match="no labels: the taxonomy is empty"):
        read_taxonomy(path)


def test_byte_order_mark_and_line_ends(tmp_path: Path) -> None:
    path = tmp_path / "taxonomy.tsv"
    path.write_bytes(b"\xef\xbb\xbfRoot\tA\r\n\r\nA\tB\r\n")
    assert read_taxonomy(path).labels == ("A", "B")


def test_broken_utf8_names_each_line(tmp_path: Path) -> None:
    assert faults(tmp_path, b"Root\tA\nA\tcaf\xe9\nA\t\xff\n") == [
        "2: broken UTF-8 (byte 0xE9); save the file as UTF-8",
        "3: broken UTF-8 (byte 0xFF); save the file as UTF-8",
    ]


def test_utf16_is_recognised(tmp_path: Path) -> None:
    assert "it is UTF-16" in faults(tmp_path, "Root\tA".encode("utf-16"))[0]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("", "empty name"),
        ("  ", "empty name"),
        (" x", 'padded name " x": remove the space around it'),
        ("x\u00a0", 'padded name "x\\xa0": remove the space around it'),
        ("\ufeffx", 'padded name "\\ufeffx": remove the space around it'),
        ("a > b", 'separator " > " inside the name "a > b"'),
        ("a >", 'separator " > " inside the name "a >"'),
        (">", 'separator " > " inside the name ">"'),
        ("a\tb", 'separator (tab) inside the name "a\\tb"'),
        ("a\nb", 'separator (line break) inside the name "a\\nb"'),
        ("a\x1b[0m", 'unprintable character U+001B inside the name "a\\x1b[0m"'),
        ("a\ud800", 'unprintable character U+D800 inside the name "a\\ud800"'),
        ("Root", 'the root "Root" is no label'),
    ],
)
def test_name_rules(name: str, message: str) -> None:
    with pytest.raises(TaxonomyError) as raised:
        Taxonomy.from_edges([("Root", "known"), ("known", name)], labels=[name])
    assert message in [fault.message for fault in raised.value.faults]


@pytest.mark.parametrize("name", ["a>b", ">50", "#tag", '"q"', "é", "root", "A & B, C/D", "-"])
def test_unusual_names_that_are_fine(name: str) -> None:
    assert name in Taxonomy.from_edges([("Root", name)])


@pytest.mark.parametrize(
    ("one", "other"),
    [("Straße", "STRASSE"), ("ﬁn", "fin"), ("Ⅳ", "iv"), ("É", "e\u0301"), ("Ω", "\u2126")],
)
def test_names_alike(one: str, other: str) -> None:
    with pytest.raises(TaxonomyError, match="only in case or Unicode form"):
        Taxonomy.from_edges([("Root", one), ("Root", other)])


def test_missing_file_and_folder(tmp_path: Path) -> None:
    with pytest.raises(TaxonomyError, match=r"cannot read the taxonomy .*: No such file"):
        read_taxonomy(tmp_path / "none.tsv")
    with pytest.raises(TaxonomyError, match=r"cannot read the taxonomy .*: Is a directory"):
        read_taxonomy(tmp_path, format="tsv")


def test_unknown_suffix_and_options(tmp_path: Path) -> None:
    path = tmp_path / "taxonomy.docx"
    path.write_text("Root\tA\n")
    with pytest.raises(UsageError, match=r"the suffix of .* says no taxonomy format"):
        read_taxonomy(path)
    assert read_taxonomy(path, format="tsv").labels == ("A",)
    with pytest.raises(UsageError, match='repeated is "join" or "qualify", not "both"'):
        Taxonomy.from_paths([("A",)], repeated="both")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="a path is a sequence of labels"):
        Taxonomy.from_paths(["A > B"])


class TestNames:
    """``names.json`` beside the taxonomy."""

    @pytest.fixture
    def path(self, tmp_path: Path) -> Path:
        path = tmp_path / "taxonomy.tsv"
        path.write_text("Root\tcs\tq-bio\ncs\tcs.AI\n")
        return path

    def test_are_taken_up(self, path: Path) -> None:
        names = {"cs.AI": "artificial intelligence", "Root": "everything"}
        (path.parent / "names.json").write_text(json.dumps(names))
        taxonomy = read_taxonomy(path)
        assert taxonomy.names["cs.AI"] == "artificial intelligence"
        assert taxonomy.names["q-bio"] == "q bio"
        assert read_taxonomy(path, names=False).names["cs.AI"] == "cs.AI"
        with pytest.raises(KeyError):
            taxonomy.names["Root"]

    def test_may_stand_elsewhere(self, path: Path) -> None:
        (path.parent / "other.json").write_text('{"cs": "computing"}')
        assert read_taxonomy(path, names=path.parent / "other.json").names["cs"] == "computing"
        assert read_taxonomy(path, names={"cs": "computers"}).names["cs"] == "computers"

    def test_faults_have_lines(self, path: Path) -> None:
        (path.parent / "names.json").write_text(
            '{\n "cs": "",\n "q-bio": 3,\n "cs.Al": "learning",\n "cs.AI": " padded"\n}'
        )
        with pytest.raises(TaxonomyError) as raised:
            read_taxonomy(path)
        assert [(fault.line, fault.message) for fault in raised.value.faults] == [
            (2, 'the words for "cs": empty name'),
            (3, 'the words for "q-bio" are no text'),
            (4, 'words for the unknown label "cs.Al"; did you mean "cs.AI"?'),
            (5, 'the words for "cs.AI": padded name " padded": remove the space around it'),
        ]

    def test_repeated_label(self, path: Path) -> None:
        (path.parent / "names.json").write_text('{"cs": "one",\n "cs": "two"}')
        with pytest.raises(
            TaxonomyError, match=r'names\.json:2: "cs" has words already \(line 1\)'
        ):
            read_taxonomy(path)

    @pytest.mark.parametrize(
        "content", [b"[]", b"{", b"\xff", b'"cs"', b"[" * 100_000, b'{"cs": ' + b"9" * 5000 + b"}"]
    )
    def test_other_content(self, path: Path, content: bytes) -> None:
        (path.parent / "names.json").write_bytes(content)
        with pytest.raises(HBGLError, match=r"names\.json"):
            read_taxonomy(path)
