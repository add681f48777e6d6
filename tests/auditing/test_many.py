"""Audits of several models."""

from typing import Any

import pytest
import torch

import beyondkernels as bk
from refusals import refused

X = bk.core.Stream(0).child("points").normal(80, 4)
Y = (X[:, 0] * X[:, 1]).reshape(-1, 1)


def network(width: int) -> torch.nn.Module:
    return torch.nn.Sequential(torch.nn.Linear(4, width), torch.nn.ReLU(), torch.nn.Linear(width, 1))


OPTIONS: dict[str, Any] = {"parts": ["ladder"], "without": ["feature machine"], "seeds": 2, "epochs": 3}


def test_each_model_has_its_audit_and_shared_learners_run_once(tmp_path):
    models = {"narrow": network(4), "wide": network(16)}
    found = bk.audit_many(models, (X, Y), store=tmp_path / "store", progress=False, **OPTIONS)
    alone = bk.audit(network(16), (X, Y), name="wide", progress=False, **OPTIONS)
    assert found["wide"].sentence == alone.sentence
    summary: Any = found.summary.set_index("model")
    rungs: Any = alone.ladder
    best = rungs[rungs["kind"].isin(["fixed features", "no features"])]["score"]
    assert summary["fixed_score"]["wide"] == pytest.approx(max(best))
    assert summary["lead"]["wide"] == pytest.approx(summary["score"]["wide"] - max(best))
    rows = found.to_frame()
    assert rows.groupby("model")["rung"].nunique().to_dict() == {"narrow": 12, "wide": 12}
    done = len(list((tmp_path / "store").rglob("done.json")))
    # four rungs see no model; of two models eight with two seeds, and three rates with five splits of few points
    assert done == 4 + 2 * (8 * 2 + 3 * 5)
    found.write(tmp_path / "report")
    assert (tmp_path / "report" / "audit__narrow.html").is_file()
    assert "wide" in str(found)
    assert len(found._repr_html_()) < 100_000


def test_bad_input():
    refused("models must hold at least one model by name", bk.audit_many, {}, (X, Y))
    refused("name cannot be given", bk.audit_many, {"a": network(2)}, (X, Y), name="b")
