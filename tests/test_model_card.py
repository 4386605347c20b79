"""The model card: true to the model, and readable by the hub."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

from hbgl.decisions import RULES, Calibration, Decision, LevelMap
from hbgl.errors import UsageError
from hbgl.model_card import model_card
from hbgl.settings import Settings, with_overrides
from hbgl.taxonomy import Taxonomy
from tests.small_corpus import TAXONOMY

THRESHOLDS = np.array([0.25, 0.25, 0.5, 0.5, 0.5, 0.875, 0.75, 0.75], dtype=np.float32)
MAPS = Calibration((LevelMap("platt", 2.0, 0.5), LevelMap("temperature", 0.5), LevelMap()))
TUNED = {
    "corpus": "small",
    "documents": 1234,
    "tuning": {
        "documents": 56,
        "before": {"micro_f1": 0.5, "macro_f1": 0.25},
        "after": {"micro_f1": 0.75, "macro_f1": 0.5},
    },
}


def card(**changed: object) -> str:
    given = {"settings": Settings(), "decision": Decision(THRESHOLDS, "backoff", MAPS)}
    details = {key: changed.pop(key) for key in ("license", "repo_id") if key in changed}
    given.update({key: changed.pop(key) for key in ("settings", "decision") if key in changed})
    metrics = changed.pop("metrics", TUNED)
    taxonomy = changed.pop("taxonomy", TAXONOMY)
    return model_card(taxonomy, given["settings"], given["decision"], metrics, **details)  # type: ignore[arg-type]


def header(text: str) -> list[str]:
    found = re.match(r"---\n(.*?)\n---\n", text, re.DOTALL)
    assert found is not None
    return found[1].splitlines()


def test_the_header_is_what_the_hub_reads() -> None:
    """A licence only if given; the base model only where its name on the hub is known."""
    lines = header(card())
    assert "library_name: hbgl" in lines
    assert "pipeline_tag: text-classification" in lines
    assert "- hierarchical-text-classification" in lines
    assert 'base_model: "sentence-transformers/all-MiniLM-L6-v2"' in lines
    assert not any(line.startswith("license") for line in lines)
    assert "license: cc-by-4.0" in header(card(license="cc-by-4.0"))
    local = with_overrides(Settings(), {"backbone": "/data/me/encoders/mine"})
    assert not any(line.startswith("base_model") for line in header(card(settings=local)))


def test_the_header_is_yaml() -> None:
    yaml = pytest.importorskip("yaml")
    found = yaml.safe_load("\n".join(header(card(license="mit"))))
    assert found["license"] == "mit"
    assert found["tags"][0] == "hbgl"


@pytest.mark.parametrize("name", ["", "My own", "mit\ntags: x", "-x"])
def test_a_licence_that_is_no_identifier_is_refused(name: str) -> None:
    with pytest.raises(UsageError, match="no licence identifier"):
        card(license=name)


def test_a_local_path_stays_on_its_machine() -> None:
    for path in ("/data/me/encoders/mine", "./mine", "C:\\me\\mine", "a/b/mine"):
        text = card(settings=with_overrides(Settings(), {"backbone": path}))
        assert "backbone `mine`" in text
        assert "/me" not in text


def test_thresholds_calibration_and_rule() -> None:
    """Level 2: three labels at 0.5 and one, herbs, at 0.875."""
    text = card()
    assert f"Rule `backoff`: {RULES['backoff']}." in text
    assert "| 1 | 2 | 0.25 | 0 | platt |" in text
    assert "| 2 | 4 | 0.5 | 1 | temperature |" in text
    assert "| 3 | 2 | 0.75 | 0 | none |" in text
    assert "calibrated on 56 dev documents" in text
    plain = card(decision=replace(Decision.of_paper(8), most_paths=2), metrics={})
    assert "Probabilities are not calibrated" in plain
    assert "At most 2 paths per text." in plain


def test_scores_of_dev_and_test() -> None:
    text = card(metrics={**TUNED, "test": {"micro_f1": 0.625, "exact_match": 0.125}})
    assert "Training documents: 1,234." in text
    assert "| dev, each level on its own over 0.5 | 50.00 | 25.00 |  |" in text
    assert "| dev, as tuned on these documents | 75.00 | 50.00 |  |" in text
    assert "| test | 62.50 |  | 12.50 |" in text
    assert "None are recorded" in card(metrics={})


def test_how_often_labels_occurred_in_training() -> None:
    text = card(metrics={**TUNED, "label_documents": [9, 5, 0, 7, 1, 2, 3, 4]})
    assert "A label has 0 to 9 of them, the median is 4; labels without any: 1." in text
    assert "A label has" not in card()


def test_taxonomy_use_and_limits() -> None:
    text = card(repo_id="me/model")
    assert "8 labels on 3 levels. Level 1: animals, plants." in text
    assert 'HBGLClassifier.from_pretrained("me/model")' in text
    assert "hbgl predict this-folder -" in text
    assert "from_pretrained" not in card()
    assert "## Intended use and limits" in text
    short = with_overrides(Settings(), {"model.max_length": 99})
    assert "longer than 99 tokens" in card(settings=short)
    many = Taxonomy.from_paths([(f"label {i}",) for i in range(15)] + [("label 0", "x")])
    several = card(taxonomy=many, decision=Decision.of_paper(16))
    assert "label 11 and 3 more." in several
