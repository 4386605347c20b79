"""The page: complete, valid, escaped, self-contained."""

from __future__ import annotations

import base64
import dataclasses
import hashlib
import re
from functools import cache
from html.parser import HTMLParser

import pytest

from hbgl.decisions import RULES, Decision
from hbgl.records import Record
from hbgl.report import REFERENCE, gather, report_page
from hbgl.taxonomy import Taxonomy
from tests.report.answers import FLAT, GRAPH, TREE, model_of, records_of

VOID = {"meta", "br", "hr", "input", "wbr"}
HOSTILE = (
    "<script>alert(1)</script>",
    'x" onload="alert(2)',
    "</td></table>&amp;<img src=x onerror=alert(3)>",
    "l\u202eabel \x00\x1b[31m",
)
TAXONOMIES = {"tree": TREE, "graph": GRAPH, "flat": FLAT}


class Checked(HTMLParser):
    """Every tag is closed in order, every id is there once."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.tags: dict[str, int] = {}
        self.attributes: list[tuple[str, str, str]] = []
        self.text: list[str] = []
        self.feed(page)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags[tag] = self.tags.get(tag, 0) + 1
        self.attributes += [(tag, name, value or "") for name, value in attrs]
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open, f"</{tag}> closes nothing"
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] not in ("script", "style"):
            self.text.append(data)

    def values(self, name: str) -> list[str]:
        return [value for _, key, value in self.attributes if key == name]


@cache
def page_of(name: str) -> str:
    taxonomy = TAXONOMIES[name]
    found = gather(
        model_of(taxonomy), records_of(taxonomy, 50), source="corpus:test", folder="my-model"
    )
    return report_page(found)


@pytest.mark.parametrize("name", TAXONOMIES)
def test_a_page_is_whole_and_stands_alone(name: str) -> None:
    """Closed tags, ids once, links to ids that exist, nothing from elsewhere."""
    page = page_of(name)
    checked = Checked(page)
    ids = checked.values("id")
    assert len(set(ids)) == len(ids)
    assert {link.removeprefix("#") for link in checked.values("href")} <= set(ids)
    assert set(checked.values("aria-labelledby"))
    for reference in checked.values("aria-labelledby"):
        assert set(reference.split()) <= set(ids)
    assert not checked.values("src")
    assert checked.tags["script"] == checked.tags["style"] == 1
    assert not {"link", "img", "iframe", "object", "base"} & checked.tags.keys()
    assert not re.search(r"https?://|//[a-z]|@import|url\(", page)
    assert page.startswith('<!doctype html>\n<html lang="en">')


def test_only_its_own_script_may_run() -> None:
    page = page_of("tree")
    script = re.search(r"<script>(.*?)</script>", page, re.DOTALL)
    assert script
    digest = base64.b64encode(hashlib.sha256(script[1].encode()).digest()).decode()
    assert f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'" in page


@pytest.mark.parametrize("name", TAXONOMIES)
def test_it_says_what_it_must(name: str) -> None:
    taxonomy, page = TAXONOMIES[name], page_of(name)
    text = " ".join(" ".join(Checked(page).text).split())
    for words in (
        "Evaluation of my-model",
        "corpus:test",
        "50 documents",
        "Micro-F1",
        f"mean over all {len(taxonomy)} labels",
        "Hierarchical F1",
        "By level",
        "Every decision rule on every score",
        REFERENCE,
        "Labels by frequency",
        "Wrong predicted labels",
        "Missed gold labels",
        "Most confused pairs",
        "Documents with errors",
        "Calibration error before and after",
        "Risk against coverage",
        "platt",
        "tiny",
        *RULES,
        *taxonomy.labels,
    ):
        assert words in text, words
    level_figures = 2 * taxonomy.depth if taxonomy.depth > 1 else 1
    # Dots of the labels, reliability twice and by level, thresholds by level, risk.
    assert Checked(page).tags["figure"] == 1 + 2 + level_figures + 1


def test_numbers_of_the_levels_are_in_the_page() -> None:
    model, records = model_of(TREE), records_of(TREE, 50)
    scores = model.assess(records).scores
    page = page_of("tree")
    for level in scores.levels:
        assert f"{100 * level.micro_f1:.2f}" in page
        assert f"{100 * level.macro_f1_supported:.2f}" in page


def test_hostile_labels_and_texts_stay_text() -> None:
    """Markup in labels, texts, ids, file names and corpus names is shown, not obeyed."""
    taxonomy = Taxonomy.from_paths([(HOSTILE[0], HOSTILE[1]), (HOSTILE[2], "plain")])
    model = model_of(taxonomy)
    model.metrics["corpus"] = HOSTILE[0]
    records = [
        Record(f"money {one} \ud83d", (taxonomy.labels[number % 2],), id=one)
        for number, one in enumerate(HOSTILE * 3)
    ]
    found = gather(model, records, source=HOSTILE[0], folder=HOSTILE[1], examples=12)
    page = report_page(found)
    page.encode()
    checked = Checked(page)
    assert checked.tags["script"] == 1
    assert "img" not in checked.tags
    assert not checked.values("onload") + checked.values("onerror")
    assert checked.tags["table"] == page.count("</table>")
    assert HOSTILE[0] in " ".join(checked.text)
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f]", page)


def test_a_model_without_errors() -> None:
    """Nothing gold and nothing predicted at threshold 1: no error, and no page that breaks."""
    nothing = Decision(model_of(TREE).decision.thresholds * 0 + 1)
    records = [Record(record.text) for record in records_of(TREE, 5)]
    found = gather(model_of(TREE), records, decision=nothing, rules=False)
    page = report_page(found)
    text = " ".join(Checked(page).text)
    assert "There are none." in text
    assert "Documents with errors" not in text
    assert "All scores" in text
    assert "Every decision rule" not in text


def test_without_calibration() -> None:
    found = gather(model_of(TREE, calibrated=False), records_of(TREE, 20), rules=False)
    assert found.calibration.calibrated is None
    page = report_page(found)
    Checked(page)
    assert "No calibration was fitted or it was left out." in page


def test_labels_without_support_and_an_empty_text() -> None:
    """Only c occurs: the other labels are in the band of 0 documents, and stand last."""
    records = [Record("", ("c",)), Record("money", ("c",))]
    found = gather(model_of(TREE), records, rules=False)
    page = report_page(found)
    text = " ".join(" ".join(Checked(page).text).split())
    assert "mean over the 1 that occur" in text
    assert text.index("Labels without support stand last") < text.rindex("a11")


def test_labels_go_by_their_training_documents_where_the_folder_says_them() -> None:
    """a 12 documents in training, b 3, c 0; a and c occur here, b does not and is in no band."""
    records = [Record("money", ("a",)), Record("money", ("c",))]
    found = gather(model_of(FLAT), records, rules=False, examples=0)
    assert found.training_documents is None
    assert "is not in this model folder" in report_page(found)
    for counts, known in (([12, 3, 0], True), ([12, 3], False), ("many", False)):
        one = dataclasses.replace(found, metrics={"label_documents": counts})
        text = " ".join(" ".join(Checked(report_page(one)).text).split())
        assert ("training documents" in text) == known
        assert ("evaluated file (1) are left out" in text) == known
        bands = text[text.index("Labels by frequency") : text.index("F1 of each label")]
        assert ("10\u201319" in bands) == known
        assert "2\u20134" not in bands


def test_the_rule_in_use_stands_beside_the_reference() -> None:
    text = " ".join(" ".join(Checked(page_of("tree")).text).split())
    assert f"score {REFERENCE} backoff in use paper closed coherent leaf" in text


def test_what_the_folder_does_not_say_is_left_out() -> None:
    found = gather(model_of(TREE), records_of(TREE, 5), rules=False, examples=0)
    found = dataclasses.replace(found, metrics={}, model="", source="")
    text = " ".join(Checked(report_page(found)).text)
    assert "trained on" not in text
    assert "Evaluation of a model" in text
