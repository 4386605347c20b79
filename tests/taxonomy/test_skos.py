"""SKOS in Turtle and RDF/XML."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from hbgl.errors import MissingExtraError, TaxonomyError
from hbgl.taxonomy import Taxonomy, read_taxonomy

PREFIXES = """\
@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix : <http://example.org/topics#> .
"""

TURTLE = """\
:science a skos:Concept ; skos:prefLabel "science"@en , "Wissenschaft"@de ;
    skos:narrower :physics .
:physics a skos:Concept ; skos:prefLabel "physics"@en-GB , "Physik"@de ; skos:broader :science .
:optics a skos:Concept ; skos:prefLabel "optics" , "Optik"@de ; skos:broader :physics , :tools .
:tools a skos:Concept ; rdfs:label "tools" .
:c_12 skos:broader :tools .
"""

XML = """\
<?xml version="1.0" encoding="UTF-8"?>
<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"
         xmlns:skos="http://www.w3.org/2004/02/skos/core#">
  <skos:Concept rdf:about="#a"><skos:prefLabel>animals</skos:prefLabel></skos:Concept>
  <skos:Concept rdf:about="#b">
    <skos:prefLabel xml:lang="en">birds</skos:prefLabel>
    <skos:broader rdf:resource="#a"/>
  </skos:Concept>
</rdf:RDF>
"""


def read(tmp_path: Path, content: str, name: str = "topics.ttl", language: str = "en") -> Taxonomy:
    pytest.importorskip("rdflib")
    path = tmp_path / name
    path.write_text(content, encoding="utf-8")
    return read_taxonomy(path, language=language)


def faults(tmp_path: Path, content: str, name: str = "topics.ttl") -> list[str]:
    with pytest.raises(TaxonomyError) as raised:
        read(tmp_path, content, name)
    return [f"{fault.line}: {fault.message}" for fault in raised.value.faults]


def test_concepts_are_labels(tmp_path: Path) -> None:
    """Optics is below physics (level 2) and tools, so on level 3; c_12 has only an address."""
    taxonomy = read(tmp_path, PREFIXES + TURTLE)
    assert set(taxonomy.labels) == {"science", "physics", "optics", "tools", "c_12"}
    assert taxonomy.levels[taxonomy.id("optics")] == 3
    assert {taxonomy.labels[i] for i in taxonomy.parents(taxonomy.id("optics"))} == {
        *("physics", "tools"),
    }
    assert taxonomy == read(tmp_path, PREFIXES + TURTLE)


def test_language_of_the_labels(tmp_path: Path) -> None:
    taxonomy = read(tmp_path, PREFIXES + TURTLE, language="de")
    assert set(taxonomy.labels) == {"Wissenschaft", "Physik", "Optik", "tools", "c_12"}


@pytest.mark.parametrize("name", ["animals.rdf", "animals.xml", "animals.skos"])
def test_rdf_xml(tmp_path: Path, name: str) -> None:
    taxonomy = read(tmp_path, XML, name)
    assert taxonomy.labels == ("animals", "birds")
    assert taxonomy.levels.tolist() == [1, 2]


def test_equal_labels_are_told_apart(tmp_path: Path) -> None:
    """By parent where that is enough, else by address."""
    taxonomy = read(
        tmp_path,
        PREFIXES
        + ':m skos:prefLabel "Medical" . :w skos:prefLabel "Weather" .\n'
        + ':c1 skos:prefLabel "Depression" ; skos:broader :m .\n'
        + ':c2 skos:prefLabel "depression" ; skos:broader :w .\n'
        + ':c3 skos:prefLabel "Fog" ; skos:broader :w . :c4 skos:prefLabel "Fog"; skos:broader :w.',
    )
    assert set(taxonomy.labels) == {
        *("Medical", "Weather", "Depression (Medical)", "depression (Weather)"),
        *("Fog (c3)", "Fog (c4)"),
    }


def test_faults_have_lines(tmp_path: Path) -> None:
    assert faults(
        tmp_path,
        PREFIXES
        + ':a skos:prefLabel "one" ; skos:broader :b .\n'
        + ':b skos:prefLabel "two" ; skos:broader :a .\n'
        + ':c skos:prefLabel " three" ; skos:broader :a .\n',
    ) == [
        "4: cycle: one > two > one",
        '6: padded name " three": remove the space around it',
    ]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("@prefix x: <http://x/> .\nx:a x:b x:c .", "there is no skos:Concept"),
        ("", "there is no skos:Concept"),
        ("@prefix x: <http://x/> .\nx:a x:b [ [", "2: broken RDF: "),
        ("a \x00 b", "broken RDF: "),
        (f"{PREFIXES}:a :b {'[ :b ' * 20_000}", "nested too deep|broken RDF"),
    ],
)
def test_broken_turtle(tmp_path: Path, content: str, message: str) -> None:
    with pytest.raises(TaxonomyError, match=message):
        read(tmp_path, content)


def test_broken_xml(tmp_path: Path) -> None:
    assert faults(tmp_path, XML.replace("</skos:Concept>", "", 1), "a.rdf") == [
        "9: broken XML: mismatched tag"
    ]
    entity = '<!DOCTYPE r [<!ENTITY x SYSTEM "file:///etc/passwd">]>'
    (found,) = faults(tmp_path, XML.replace("?>", f"?>{entity}"), "a.rdf")
    assert "a DOCTYPE may define entities" in found


def test_without_its_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "topics.ttl"
    path.write_text(PREFIXES)
    monkeypatch.setitem(sys.modules, "rdflib", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'hbgl\[skos\]'"):
        read_taxonomy(path)
