"""Models with several inputs and outputs, initial values by their own rules, and tables for pipelines."""

from __future__ import annotations

import sys
import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from torch import nn

import beyondkernels as bk
from beyondkernels.core import Stream
from beyondkernels.networks import FromCopy
from beyondkernels.networks.from_copy import ModelWarning
from refusals import refused

QUIET: dict[str, Any] = {"steps": 3, "progress": False}
X = np.random.default_rng(100).normal(size=(60, 4)).astype(np.float32)
Y = X[:, 0] > 0
IDS = np.random.default_rng(101).integers(0, 9, size=(60, 4))
MASK = (np.random.default_rng(102).random((60, 4)) > 0.2).astype(int)
WORDS = {"input_ids": IDS, "attention_mask": MASK}


class Output:
    """As the outputs of Hugging Face's models are: an object with several tensors."""

    def __init__(self, logits: torch.Tensor, hidden: torch.Tensor) -> None:
        self.logits, self.hidden = logits, hidden


FORMS: dict[str, Any] = {
    "object": Output,
    "dictionary": lambda z, h: {"hidden": h, "logits": z},
    "only tensor": lambda z, _: (z, None),
    "two tensors": lambda z, h: (h, z),
}


class Language(nn.Module):
    """As a model of Hugging Face is: named arguments, a rule for its parts, outputs as an object."""

    def __init__(self, form: str = "object") -> None:
        super().__init__()
        self.form, self.embed, self.head = form, nn.Embedding(9, 5), nn.Linear(5, 2)

    def _init_weights(self, module: nn.Module) -> None:
        if isinstance(module, nn.Embedding):
            nn.init.normal_(module.weight, std=0.02)

    def forward(self, input_ids: torch.Tensor, attention_mask: Any = None, labels: Any = None) -> Any:
        h = self.embed(input_ids)
        h = h.mean(1) if attention_mask is None else (h * attention_mask[..., None]).sum(1)
        return FORMS[self.form](self.head(h), h)


class OneDictionary(Language):
    def forward(self, batch: dict[str, torch.Tensor]) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        return super().forward(**batch)


@pytest.mark.parametrize("form", FORMS)
def test_outputs_that_are_no_tensor(form):
    model: Any = Language(form)
    if form == "two tensors":
        refused(r"got a tuple with 0, 1; FromCopy\.of\(module, output=0\)", bk.fit, model, (IDS, Y), **QUIET)
        model = FromCopy.of(model, output=1)
    run = bk.fit(model, (IDS, Y), **QUIET)
    module = run.module
    logits = module.head(module.embed(torch.from_numpy(IDS)).mean(1))  # type: ignore[operator]
    assert torch.allclose(run.outputs(IDS), logits, atol=1e-6)


class Items(torch.utils.data.Dataset):
    def __len__(self) -> int:
        return 60

    def __getitem__(self, i: int) -> dict[str, Any]:
        return {"input_ids": torch.tensor(IDS[i]), "attention_mask": torch.tensor(MASK[i]), "label": int(Y[i])}


@pytest.mark.parametrize("kind", ["pair", "mapping", "data set", "loader", "one dictionary", "pair of sets"])
def test_points_of_several_arrays(kind, tmp_path):
    model = OneDictionary() if kind == "one dictionary" else Language()
    data: Any = {
        "mapping": {**WORDS, "label": Y.astype(int)},
        "data set": Items(),
        "loader": torch.utils.data.DataLoader(Items(), 7),
        "pair of sets": ((WORDS, Y), ({name: each[:9] for name, each in reversed(WORDS.items())}, Y[:9])),
    }.get(kind, (WORDS, Y))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", bk.data.DataWarning)  # the pair's test points are among its training points
        run = bk.fit(model, data, store=tmp_path / "store", **QUIET)
    module, (ids, mask) = run.module, (torch.from_numpy(each) for each in WORDS.values())
    logits = module.head((module.embed(ids) * mask[..., None]).sum(1))  # type: ignore[operator]
    assert torch.allclose(run.outputs(WORDS), logits, atol=1e-6)
    refused("x must hold input_ids, attention_mask, got input_ids", run.predict, {"input_ids": IDS})
    refused("x must be a dictionary of input_ids, attention_mask, got a ndarray", run.predict, IDS)


def test_numbers_beside_whole_numbers_keep_their_kinds():
    class Both(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.rows, self.line = nn.Embedding(9, 3), nn.Linear(7, 1)

        def forward(self, ids: torch.Tensor, x: torch.Tensor, on: torch.Tensor) -> torch.Tensor:
            assert ids.dtype == torch.int64
            assert on.dtype == torch.bool
            assert on.ndim == 1
            return self.line(torch.cat([self.rows(ids).mean(1) * on[:, None], x], 1))

    points = {"ids": IDS, "x": X, "on": Y}
    run = bk.fit(Both(), (points, X[:, 0] / 3), **QUIET)
    assert run.predict(points).shape == (60,)
    refused(r"X\['ids'\] must hold whole numbers below 2\*\*24", bk.fit, Both(), ({**points, "ids": IDS + 2**25}, Y))


def test_a_rule_for_parts_is_part_of_the_start():
    network = FromCopy.of(Language())
    params, _ = network.init(4, 2, Stream(100))
    assert 0.01 < float(params["embed.weight"].std()) < 0.03  # nn.Embedding draws a standard deviation of 1
    assert params["head.weight"].abs().max() <= 5**-0.5  # the rule leaves nn.Linear's own


class Positions(nn.Module):
    """As a vision transformer is: parameters of its own, outside of layers."""

    def __init__(self) -> None:
        super().__init__()
        self.place, self.scale = nn.Parameter(0.02 * torch.randn(64, 4)), nn.Parameter(torch.full((4,), 0.5))
        self.line = nn.Linear(4, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.line(self.scale * x + self.place.mean(0))


class WithRule(Positions):
    def init_weights(self) -> None:
        nn.init.uniform_(self.place, 1, 2)


def test_bare_parameters_are_drawn_like_those_given():
    with pytest.warns(ModelWarning, match=r"no reset_parameters of Positions draws place \(0\.02\)"):
        network = FromCopy.of(Positions())
    first, second = (network.init(4, 2, Stream(seed))[0] for seed in (100, 101))
    assert float(first["place"].std()) == pytest.approx(0.02, rel=0.3)
    assert not torch.equal(first["place"], second["place"])
    assert first["scale"].tolist() == [0.5] * 4
    ruled = FromCopy.of(WithRule()).init(4, 2, Stream(100))[0]
    assert ruled["place"].min() >= 1
    assert FromCopy.of(WithRule()).architecture == FromCopy.of(WithRule()).architecture


class Failing(nn.Module):
    def __init__(self, when: str) -> None:
        super().__init__()
        self.line, self.when, self.calls = nn.Linear(4, 2), when, [0]

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.calls[0] += 1
        if self.when == "exit" or (self.when == "exit in training" and self.training):
            sys.exit(3)
        if self.when == "second call" and self.calls[0] > 1:
            raise ValueError("once is enough")
        return self.line(x)


MASKED, LINE = np.ma.masked_array(X, mask=X > 1), nn.Linear(4, 2)


@pytest.mark.parametrize(
    ("model", "data", "sentence"),
    [
        (LINE, (MASKED, Y), r"X must have a value in each place, got a masked array with \d+ masked"),
        (LINE, (list(MASKED), Y), "X must have a value in each place, got a masked array"),
        (LINE, (X, np.ma.masked_array(Y, mask=Y)), "y must have a value in each place"),
        (nn.Linear(4, 1), (X, [10**30, 1] * 30), r"y must hold whole numbers that 64 bits hold, got 1e\+30"),
        (LINE, (lambda: torch.nested.nested_tensor([torch.ones(4)] * 60), Y), "X must have rows of one shape"),
        (LINE, (lambda: torch.quantize_per_tensor(torch.ones(60, 4), 0.1, 0, torch.qint8), Y), "got a quantised"),
        (nn.Linear(4, 2, device="meta"), (X, Y), "must hold numbers, got weight, bias on the device meta"),
        (Failing("second call"), (X, Y), "must give outputs each time it is called, got ValueError: once is enough"),
        (Failing("exit"), (X, Y), r"ends the process in its forward: sys\.exit\(3\)"),
        (Failing("exit in training"), (X, Y), r"ends the process in its forward while it trains: sys\.exit\(3\)"),
    ],
)
@pytest.mark.filterwarnings(
    "ignore:The PyTorch API of nested tensors", "ignore:.*quantize", "ignore::DeprecationWarning"
)
def test_what_is_refused(model, data, sentence):
    x, y = data
    refused(sentence, bk.fit, model, (x() if callable(x) else x, y), **QUIET)


def test_a_mask_that_masks_nothing_loses_nothing():
    masked = bk.fit(nn.Linear(4, 2), (np.ma.masked_array(X, mask=False), Y), **QUIET)
    assert masked.test_loss == bk.fit(nn.Linear(4, 2), (X, Y), **QUIET).test_loss


def table() -> Any:
    rng = np.random.default_rng(103)
    days = pd.to_datetime("2020-01-01") + pd.to_timedelta(rng.integers(0, 900, 80), "D")
    frame = pd.DataFrame({"kind": rng.choice(["a", "b"], 80), "size": rng.normal(size=80), "day": days})
    frame.loc[::7, "size"], frame.loc[::9, "kind"] = np.nan, None
    return frame.assign(label=np.where(frame["size"].fillna(0) > 0, "high", "low"))


def pipeline() -> Any:
    kinds = make_pipeline(SimpleImputer(strategy="constant", fill_value="?"), OneHotEncoder(handle_unknown="ignore"))
    columns = make_column_transformer((kinds, ["kind"]), (SimpleImputer(), ["size"]))
    return make_pipeline(columns, LogisticRegression())


def test_a_pipeline_is_given_the_table_as_it_is(tmp_path):
    train, test = table()[:50], table()[50:]
    runs = [bk.fit(pipeline(), (train, test), target="label", store=tmp_path / "store", progress=False) for _ in "12"]
    by_hand = pipeline().fit(train.drop(columns="label"), train["label"])
    assert runs[0].test_accuracy == by_hand.score(test.drop(columns="label"), test["label"])
    new = test.drop(columns="label").assign(kind="new")[["day", "size", "kind"]]  # another order and a new word
    for run in runs:
        assert (run.predict(new) == by_hand.predict(new[["kind", "size", "day"]])).all()
        np.testing.assert_allclose(run.predict_proba(test), by_hand.predict_proba(test.drop(columns="label")))
    assert runs[1].outcome.predictor is None
    other = train.assign(kind=train["kind"].replace("b", "c"))
    again = bk.fit(pipeline(), (other, test), target="label", store=tmp_path / "store", progress=False)
    assert again.spec.key != runs[0].spec.key
    refused("columns must hold numbers, got kind, day", bk.fit, nn.Linear(3, 2), train, target="label", **QUIET)
    refused("x must be a table", runs[0].predict, test["size"].to_numpy()[:, None])
