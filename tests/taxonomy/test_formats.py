"""The same taxonomy from every format, and what is written."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from hbgl.errors import MissingExtraError, TaxonomyError, UsageError
from hbgl.taxonomy import Taxonomy, json_text, read_taxonomy, tsv_text, write_taxonomy

# science -> physics -> optics, science -> biology, sports
EXPECTED = Taxonomy.from_paths(
    [("science", "physics", "optics"), ("science", "biology"), ("sports",)]
)

SAME = {
    "a.tsv": "Root\tscience\tsports\nscience\tphysics\tbiology\nphysics\toptics\n",
    "one-child-per-line.tsv": (
        "Root\tscience\nscience\tphysics\nphysics\toptics\nscience\tbiology\nRoot\tsports\n"
    ),
    "plain.csv": ",science\nscience,physics\nscience,biology\nphysics,optics\n,sports\n",
    "root.csv": "Root,science\nscience,physics\nscience,biology\nphysics,optics\nRoot,sports\n",
    "head.csv": (
        'child;parent\nscience;\nphysics;science\n"optics";physics\nbiology;science\nsports;'
    ),
    "a.txt": "# made by hand\nscience > physics > optics\nscience > biology\nsports\n",
    "root.txt": "Root > science > physics > optics\nRoot > science > biology\nRoot > sports\n",
    "mapping.json": '{"science": {"physics": ["optics"], "biology": null}, "sports": []}',
    "single.json": '{"science": {"physics": "optics", "biology": {}}, "sports": {}}',
    "rooted.json": '{"Root": {"science": {"physics": ["optics"], "biology": []}, "sports": []}}',
    "objects.json": (
        '[{"name": "science", "id": 1, "children": [{"name": "physics", "children":'
        ' [{"name": "optics"}]}, {"name": "biology", "children": []}]}, "sports"]'
    ),
    "object.json": (
        '{"name": "Root", "children": [{"label": "science", "children":'
        ' [{"physics": ["optics"]}, "biology"]}, "sports"]}'
    ),
    "flat.json": (
        '{"format": "hbgl-taxonomy", "labels": [{"label": "science"}, {"label": "sports",'
        ' "parents": []}, {"label": "physics", "parents": ["science"]}, {"label": "biology",'
        ' "parents": ["science"]}, {"label": "optics", "parents": ["physics"]}]}'
    ),
    "a.yaml": "science:\n  physics: [optics]\n  biology:\nsports:\n",
    "list.yml": "- science:\n  - physics:\n    - optics\n  - biology\n- sports: ~\n",
    "studio.xml": (
        '<View><Text name="t" value="$t"/><Choices name="x" toName="t"><Choice value="no"/>'
        '</Choices>\n<Taxonomy name="c" toName="t"><Choice value="science"><Choice value="physics">'
        '<Choice value="optics"/></Choice><Choice value="biology"/></Choice>'
        '<Choice value="sports"/></Taxonomy></View>'
    ),
}


@pytest.mark.parametrize("name", SAME)
def test_every_format_says_the_same(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_text(SAME[name], encoding="utf-8")
    taxonomy = read_taxonomy(path)
    assert taxonomy.labels == EXPECTED.labels
    assert taxonomy == EXPECTED


REPEATED = {
    "a.txt": "Medical > Depression\nWeather > Depression > Fog\n",
    "a.json": '{"Medical": ["Depression"], "Weather": {"Depression": ["Fog"]}}',
    "a.yaml": "Medical: [Depression]\nWeather:\n  Depression: [Fog]\n",
    "a.xml": (
        '<Taxonomy><Choice value="Medical"><Choice value="Depression"/></Choice><Choice '
        'value="Weather"><Choice value="Depression"><Choice value="Fog"/></Choice></Choice>'
        "</Taxonomy>"
    ),
}


@pytest.mark.parametrize("name", REPEATED)
def test_a_name_under_two_paths(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_text(REPEATED[name], encoding="utf-8")
    joined = read_taxonomy(path)
    assert joined.labels == ("Medical", "Weather", "Depression", "Fog")
    assert joined.parents(2).tolist() == [0, 1]
    apart = read_taxonomy(path, repeated="qualify")
    assert apart.labels == (
        *("Medical", "Weather", "Depression (Medical)", "Depression (Weather)", "Fog"),
    )
    assert apart.is_tree


WORDS = {
    "a.csv": "parent,child,name\n,ai,artificial intelligence\nai,ml,\n",
    "a.json": '{"label": "ai", "name": "artificial intelligence", "children": ["ml"]}',
    "a.yaml": "- label: ai\n  name: artificial intelligence\n  children: [ml]\n",
    "a.xml": (
        '<Taxonomy><Choice alias="ai" value="artificial intelligence"><Choice value="ml"/>'
        "</Choice></Taxonomy>"
    ),
}


@pytest.mark.parametrize("name", WORDS)
def test_words_in_the_file(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_text(WORDS[name], encoding="utf-8")
    taxonomy = read_taxonomy(path)
    assert taxonomy.labels == ("ai", "ml")
    assert dict(taxonomy.names) == {"ai": "artificial intelligence", "ml": "ml"}


def test_words_follow_a_qualified_name(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text('[{"name": "A", "children": [{"label": "x", "name": "ex"}]}, {"B": ["x"]}]')
    assert read_taxonomy(path, repeated="qualify").names["x (A)"] == "ex"


def test_other_separators(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("Top/News/Sports\nTop/Features\n")
    taxonomy = read_taxonomy(path, separator="/", root="Top")
    assert taxonomy.labels == ("News", "Features", "Sports")
    path = tmp_path / "a.csv"
    path.write_text("parent\tchild\nA\tB, C\n")
    assert read_taxonomy(path).labels == ("A", "B, C")


def test_yaml_words_stay_text(tmp_path: Path) -> None:
    """Norway is no, and 2024 is no number."""
    path = tmp_path / "a.yaml"
    path.write_text("countries: [no, se]\nyears: [2024, 1e3, 'null']\n")
    assert read_taxonomy(path).labels[2:] == ("no", "se", "2024", "1e3", "null")


# Name, content, faults.
WRONG = [
    ("a.csv", "A,B\nA,B,C,D\nX\nA,C\nA,B\n", [
        "2: a row has the columns parent and child, this one has 4",
        "3: a row has the columns parent and child, this one has 1",
        '5: duplicate sibling "B" below "A" (already on line 1)',
    ]),
    ("a.csv", "child;;parent\nA;x;\nB\n", [
        "3: a row has the columns parent and child, this one has 1",
    ]),
    ("a.csv", "Root,A\n\nB,C\n", [
        '3: unknown parent "B": nothing puts it below "Root", so there are two roots where one is '
        "promised",
    ]),
    ("a.csv", 'A,"B\nA,C\n', ["2: broken CSV: unexpected end of data"]),
    ("a.csv", 'A,"B\nC"\n', ['2: separator (line break) inside the name "B\\nC"']),
    ("a.txt", "A > B\nA >  > C\nA > B\nB > A\n", [
        '2: empty name in the path "A >  > C"',
        '3: duplicate path "A > B" (already on line 1)',
        "4: cycle: A > B > A",
    ]),
    ("a.txt", "Root > A\nB > C\n", ['2: two roots where one is promised: "B" beside "Root"']),
    ("a.json", '{"Root": ["A"],\n "B": ["C"]}', [
        '2: two roots where one is promised: "B" beside "Root"',
    ]),
    ("a.json", '{"A": ["x",\n"x", 3, "", [], ["y"]],\n "A": ["z"]}', [
        '2: duplicate sibling "x" (already on line 1)',
        "2: a name must be text",
        "2: empty name",
        "2: a list directly inside a list; labels need a name",
        "2: a list directly inside a list; labels need a name",
        '3: duplicate sibling "A" (already on line 1)',
    ]),
    ("a.json", '[{"name": "A",\n "kids": ["B"]}]', [
        '2: "kids" of "A" is not read; children stand under "children"',
    ]),
    ("a.json", '"A"', ['1: one text "A" where a taxonomy was expected']),
    ("a.json", "{}", ["None: no labels: the taxonomy is empty"]),
    ("a.json", "null", ["None: no labels: the taxonomy is empty"]),
    ("a.json", '{"A":\n }}', ["2: broken JSON: Expecting value"]),
    ("a.json", '{"format": "hbgl-taxonomy"}', ['1: "labels" must be a list of labels']),
    ("a.json", '{"format": "hbgl-taxonomy", "labels": [3,\n{}, {"label": ""},\n'
     '{"label": "A", "parents": "B"},\n{"label": "C", "parents": [3]},\n'
     '{"label": "D", "parents": ["E"]}]}', [
        '1: an entry must have a "label"',
        '2: an entry must have a "label"',
        "2: empty name",
        '3: the parents of "A" must be a list',
        '4: a parent of "C" is no text',
        '5: unknown parent "E": nothing puts it below "Root", so there are two roots where one is '
        "promised",
    ]),
    ("a.yaml", "A: [B\n", ["2: broken YAML: did not find expected ',' or ']'"]),
    ("a.yaml", "A: &x [B]\nC: *x\n", [
        "2: broken YAML: aliases (*name) are not read; write the names out",
    ]),
    ("a.yaml", "A:\n---\nB:\n", ["2: broken YAML: a second document; one taxonomy per file"]),
    ("a.yaml", "? [A]\n: B\n", ["1: broken YAML: a key must be text"]),
    ("a.yaml", "A: B\nC: \x01\n", ["2: broken YAML: control characters are not allowed"]),
    ("a.xml", "<View/>", ["None: there is no <Taxonomy> tag"]),
    ("a.xml", "<Taxonomy>\n<Choice value='A'/><Choice/>\n<Choice value='A'/></Taxonomy>", [
        "2: empty name: a <Choice> without a value",
        '3: duplicate sibling "A"',
    ]),
    ("a.xml", "<V><Taxonomy><Choice value='A'/></Taxonomy>\n<Taxonomy apiUrl='u'/></V>", [
        "2: a second <Taxonomy> tag; one taxonomy per file",
        "2: the choices are kept elsewhere (apiUrl); download them and read that file",
    ]),
    ("a.xml", "<Taxonomy>\n<Choice value='A'></Taxonomy>", ["2: broken XML: mismatched tag"]),
    ("a.xml", "", ["1: broken XML: no element found"]),
    ("a.xml", "<?xml version='1.0' encoding='klingon'?><Taxonomy/>", [
        "1: broken XML: unknown encoding: klingon",
    ]),
    ("a.xml", "<!DOCTYPE x [\n<!ENTITY a 'aaaa'><!ENTITY b '&a;&a;'>]><Taxonomy>&b;</Taxonomy>", [
        "1: a DOCTYPE may define entities that grow without end, so it is not read; remove it and "
        "write its entities out",
    ]),
]  # fmt: skip


@pytest.mark.parametrize(("name", "content", "expected"), WRONG)
def test_faults_of_each_format(
    tmp_path: Path, name: str, content: str, expected: list[str]
) -> None:
    path = tmp_path / name
    path.write_text(content, encoding="utf-8")
    with pytest.raises(TaxonomyError) as raised:
        read_taxonomy(path)
    found = [f"{fault.line}: {fault.message}" for fault in raised.value.faults]
    assert sorted(found) == sorted(expected)
    assert {fault.file for fault in raised.value.faults} == {str(path)}


DEPTH = 50_000
DEEP = {
    "a.json": '{"a":' * DEPTH + "{}" + "}" * DEPTH,
    "list.json": "[" * DEPTH + "]" * DEPTH,
    "a.yaml": "[" * DEPTH + "]" * DEPTH,
    "a.xml": "<Taxonomy>" + '<Choice value="a">' * DEPTH + "</Choice>" * DEPTH + "</Taxonomy>",
    "a.txt": " > ".join(["a"] * DEPTH),
}


@pytest.mark.parametrize("name", DEEP)
def test_deep_nesting_is_a_clear_error(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_text(DEEP[name])
    with pytest.raises(TaxonomyError):
        read_taxonomy(path)


def test_deep_paths_and_choices_are_read(tmp_path: Path) -> None:
    depth = 20_000
    (tmp_path / "a.txt").write_text(" > ".join(f"n{i}" for i in range(depth)))
    assert read_taxonomy(tmp_path / "a.txt").depth == depth
    opening = "".join(f'<Choice value="n{i}">' for i in range(depth))
    (tmp_path / "a.xml").write_text(f"<Taxonomy>{opening}{'</Choice>' * depth}</Taxonomy>")
    assert read_taxonomy(tmp_path / "a.xml").depth == depth


def test_yaml_without_its_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.yaml"
    path.write_text("A: [B]")
    monkeypatch.setitem(sys.modules, "yaml", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'hbgl\[yaml\]'"):
        read_taxonomy(path)


class TestWriting:
    """TSV with names.json, JSON, atomic."""

    TAXONOMY = Taxonomy.from_edges(
        [("a", "c"), ("b", "c"), ("b", "d")], names={"c": "the third", "d": "d"}
    )

    def test_tsv_has_one_line_per_inner_node(self) -> None:
        assert tsv_text(self.TAXONOMY) == "Root\ta\tb\na\tc\nb\tc\td\n"

    def test_json_has_one_line_per_label(self) -> None:
        assert json_text(self.TAXONOMY) == (
            '{"format": "hbgl-taxonomy", "labels": [\n'
            ' {"label": "a"},\n {"label": "b"},\n'
            ' {"label": "c", "name": "the third", "parents": ["a", "b"]},\n'
            ' {"label": "d", "parents": ["b"]}\n]}\n'
        )

    def test_words_go_beside_the_tsv(self, tmp_path: Path) -> None:
        write_taxonomy(self.TAXONOMY, tmp_path / "taxonomy.tsv")
        names = json.loads((tmp_path / "names.json").read_text())
        assert names == {"a": "a", "b": "b", "c": "the third", "d": "d"}
        assert read_taxonomy(tmp_path / "taxonomy.tsv") == self.TAXONOMY
        plain = Taxonomy.from_paths([("x", "y")])
        write_taxonomy(plain, tmp_path / "taxonomy.tsv")
        assert [path.name for path in tmp_path.iterdir()] == ["taxonomy.tsv"]
        assert read_taxonomy(tmp_path / "taxonomy.tsv") == plain

    def test_json_holds_its_words(self, tmp_path: Path) -> None:
        (tmp_path / "names.json").write_text('{"other": "of another taxonomy"}')
        write_taxonomy(self.TAXONOMY, tmp_path / "a.json")
        assert read_taxonomy(tmp_path / "a.json") == self.TAXONOMY

    def test_format_by_option(self, tmp_path: Path) -> None:
        write_taxonomy(self.TAXONOMY, tmp_path / "a.json", format="tsv")
        assert read_taxonomy(tmp_path / "a.json", format="tsv") == self.TAXONOMY
        with pytest.raises(UsageError, match="written as tsv or json, not skos"):
            write_taxonomy(self.TAXONOMY, tmp_path / "a", format="skos")  # type: ignore[arg-type]

    def test_failure_leaves_nothing(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        def fail(*_: object) -> None:
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(Path, "replace", fail)
        with pytest.raises(TaxonomyError, match=r"cannot write .*: No space left"):
            write_taxonomy(self.TAXONOMY, tmp_path / "a.json")
        assert list(tmp_path.iterdir()) == []
        with pytest.raises(TaxonomyError, match="cannot write"):
            write_taxonomy(self.TAXONOMY, tmp_path / "none" / "a.json")
