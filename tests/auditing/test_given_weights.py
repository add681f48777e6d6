"""What given weights are worth: readouts against a fit by hand, files of weights, and models that seem trained."""

import json
import re
import warnings
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC
from torch import nn

import beyondkernels as bk
from beyondkernels.auditing.checkpoints import unlike_fresh
from beyondkernels.auditing.ladder import ABOUT
from beyondkernels.core import Stream
from beyondkernels.networks import FromCopy
from beyondkernels.networks.from_copy import ModelWarning
from refusals import refused

X = torch.from_numpy(np.random.default_rng(100).normal(size=(240, 8)).astype(np.float32))
Y = (X[:, 0] * X[:, 1] > 0).long()
TRAIN, TEST = (X[:120], Y[:120]), (X[120:], Y[120:])
QUIET: dict[str, Any] = {"seeds": 2, "progress": False}


def fresh() -> nn.Sequential:
    layers = [nn.Linear(8, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Linear(32, 16), nn.ReLU(), nn.Linear(16, 2)]
    return nn.Sequential(*layers)


@pytest.fixture(scope="module")
def checkpoint() -> nn.Sequential:
    """A model that was trained by hand on other points."""
    with torch.random.fork_rng():
        torch.manual_seed(100)
        model, x = fresh(), torch.randn(2000, 8)
        optimiser = torch.optim.Adam(model.parameters(), 1e-2)
        for rows in torch.randperm(2000 * 16).remainder(2000).split(100):
            optimiser.zero_grad()
            nn.functional.cross_entropy(model(x[rows]), (x[rows, 0] * x[rows, 1] > 0).long()).backward()
            optimiser.step()
    return model.eval()


@pytest.fixture(scope="module")
def found(checkpoint: nn.Sequential) -> Any:
    before = {name: value.clone() for name, value in checkpoint.state_dict().items()}
    result = bk.audit(checkpoint, TRAIN, TEST, weights="given", seeds=4, progress=False)
    assert all(torch.equal(value, before[name]) for name, value in checkpoint.state_dict().items())
    return result


def scores(found: Any) -> dict[str, float]:
    return dict(zip(found.ladder["rung"], found.ladder["score"], strict=True))


def test_the_model_and_its_probes_are_those_of_the_given_numbers(checkpoint: nn.Sequential, found: Any) -> None:
    by_name = scores(found)
    with torch.no_grad():
        assert by_name["model"] == pytest.approx(100 * (checkpoint(TEST[0]).argmax(1) == TEST[1]).float().mean().item())
        h, fresh_points = (checkpoint[:3](part[0]).numpy() for part in (TRAIN, TEST))
    row = found.to_frame().query("rung == 'probe of 0'").iloc[0]
    # The probe reads a one beside the features.
    first, second = (np.hstack([each, np.ones((len(each), 1))]).astype(np.float64) for each in (h, fresh_points))
    assert row["logistic"] == 1
    by_hand: Any = LogisticRegression(C=row["penalty"] / np.square(first).sum(1).mean(), tol=1e-8, max_iter=10_000)
    right = by_hand.fit(first, TRAIN[1].numpy()).predict(second) == TEST[1].numpy()
    assert row["test_accuracy"] == pytest.approx(right.mean())
    assert by_name["probe of 0"] > by_name["probe of 0 at a fresh start"] + 5
    assert found.sentence.startswith("The features of the given weights are worth")


def test_a_search_tries_standardised_features_and_says_what_it_chose() -> None:
    """The units that know the labels are a ten-thousandth of the size of the others."""
    with torch.random.fork_rng():
        torch.manual_seed(102)
        model = fresh()
        size = torch.where(torch.arange(32) < 8, 1.0, 1e4)
        first: Any = model[0]
        with torch.no_grad():
            first.weight.copy_(torch.randn(32, 8) * size[:, None])
    below: Any = nn.Sequential(*list(model)[:3]).eval()
    numbers = below(X).detach().double()
    y = (numbers[:, :8].sum(1) > numbers[:, :8].sum(1).median()).long()
    train, test = (X[:120], y[:120]), (X[120:], y[120:])
    found = bk.audit(model.eval(), train, test, weights="given", tune=True, seeds=1, progress=False)
    chosen = found.tuned.set_index("rung").loc["probe of 0"]
    assert chosen["kernel"] == "standardised features"
    h = numbers[:, numbers[:120].std(0) > 0].numpy()
    h = (h - h[:120].mean(0)) / h[:120].std(0)
    h = np.hstack([h, np.ones((240, 1))])
    by_hand: Any = {
        "logistic": LogisticRegression(tol=1e-8, max_iter=10_000),
        "hinge": SVC(kernel="linear"),
        "squared": None,
    }[chosen["loss"]]
    by_hand.set_params(C=chosen["strength"] / np.square(h[:120]).sum(1).mean())
    right = by_hand.fit(h[:120], train[1].numpy()).score(h[120:], test[1].numpy())
    assert scores(found)["probe of 0"] == pytest.approx(100 * right)
    assert {"Gaussian kernel", "RBF support vector machine", "conjugate kernel"} <= set(found.tuned["rung"])
    plain = bk.audit(model.eval(), train, test, weights="given", seeds=1, progress=False)
    assert scores(plain)["probe of 0"] < scores(found)["probe of 0"] - 3
    refused("probes cannot be True with weights", bk.audit, model, train, test, weights="given", probes=True)


def test_the_distance_is_that_of_the_numbers(checkpoint: nn.Sequential, found: Any) -> None:
    network, far = FromCopy.of(checkpoint), []
    for seed in range(4):
        stream = Stream(seed).child("learner").child("fresh", "first")
        start = network.init(8, 2, stream)[0]
        own = dict(checkpoint.named_parameters())
        change = sum(float((own[name].detach().double() - value).square().sum()) for name, value in start.items())
        far.append((change / sum(float(value.double().square().sum()) for value in start.values())) ** 0.5)
    row = found.distance.set_index("block").loc["all"]
    assert row["distance"] == pytest.approx(sum(far) / 4, rel=1e-5)
    assert row["apart"] < row["distance"]


def test_a_fresh_model_has_features_that_are_worth_nothing(tmp_path: Any) -> None:
    with torch.random.fork_rng():
        torch.manual_seed(101)
        result = bk.audit(fresh(), TRAIN, TEST, weights="given", **QUIET)
    assert re.match("The features of the given weights (gain nothing|may be better)", result.sentence)
    result.write(tmp_path)
    assert any("given conjugate kernel" in page.read_text() for page in tmp_path.rglob("*.html"))


def as_safetensors(numbers: dict[str, torch.Tensor]) -> bytes:
    """The format as its definition has it, written without the library's reader."""
    header, body = {}, b""
    for name, value in numbers.items():
        kind = {torch.float32: "F32", torch.int64: "I64"}[value.dtype]
        content = value.numpy().tobytes()
        header[name] = {
            "dtype": kind,
            "shape": list(value.shape),
            "data_offsets": [len(body), len(body) + len(content)],
        }
        body += content
    text = json.dumps({"__metadata__": {"format": "pt"}, **header}).encode()
    return len(text).to_bytes(8, "little") + text + body


def make(in_dim: Any, out_dim: int) -> nn.Module:
    return fresh()


@pytest.mark.parametrize("form", ["state dict", "torch", "safetensors", "nested"])
def test_weights_from_elsewhere(form: str, checkpoint: nn.Sequential, found: Any, tmp_path: Any) -> None:
    numbers, path = checkpoint.state_dict(), tmp_path / "weights.pt"
    if form == "safetensors":
        path = tmp_path / "weights.safetensors"
        path.write_bytes(as_safetensors(numbers))
    else:
        torch.save({"state_dict": {f"module.{name}": each for name, each in numbers.items()}, "epoch": 3}, path)
    given: Any = {"state dict": numbers, "torch": str(path)}.get(form, path)
    model = make if form == "nested" else fresh()
    other = bk.audit(model, TRAIN, TEST, weights=given, **{**QUIET, "seeds": 1})
    for name in ("model", "given conjugate kernel"):
        assert scores(other)[name] == scores(found)[name]


def test_weights_that_cannot_be_read(tmp_path: Any) -> None:
    class Code:
        def __reduce__(self) -> Any:
            return (print, ("a file of weights ran code",))

    torch.save({"0.weight": Code()}, tmp_path / "code.pt")
    (tmp_path / "short.safetensors").write_bytes(b"\xff" * 9)

    def audit(model: Any = None, **options: Any) -> Any:
        return bk.audit(model or fresh(), TRAIN, TEST, progress=False, **options)

    refused("weights must be a file of tensors alone, got code.pt", audit, weights=tmp_path / "code.pt")
    refused("got short.safetensors: its header is longer", audit, weights=tmp_path / "short.safetensors")
    refused("weights must be 'given', a state dict or the path of a file", audit, weights="absent.pt")
    refused("weights must be a state dict of Sequential, got another one", audit, weights={"a": torch.ones(1)})
    refused("epochs cannot be given with weights, because nothing is trained", audit, weights="given", epochs=3)
    refused("which has no weights of its own, got 'given'", audit, make, weights="given")


def test_a_trained_model_is_said_to_be_drawn_anew_and_a_fresh_one_is_not(checkpoint: nn.Sequential) -> None:
    options: Any = {"parts": ["ladder"], "without": list(ABOUT)[:-1], "epochs": 1}
    with pytest.warns(ModelWarning, match="seems to be trained or to start in a way of its own .*weights='given'"):
        bk.audit(checkpoint, TRAIN, TEST, seeds=1, progress=False, **options)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        bk.audit(fresh(), TRAIN, TEST, seeds=1, progress=False, **options)


@pytest.mark.parametrize(
    "make",
    [
        fresh,
        lambda: nn.Sequential(nn.Conv2d(3, 8, 3), nn.GroupNorm(2, 8), nn.Flatten(), nn.Linear(128, 3)),
        lambda: nn.TransformerEncoderLayer(8, 2, 16, batch_first=True),
        lambda: nn.LSTM(4, 8),
        lambda: nn.Linear(1, 1),
        lambda: nn.Sequential(nn.Embedding(20, 4, padding_idx=0), nn.Linear(4, 1)),
    ],
)
def test_a_model_at_its_start_is_never_taken_for_trained(make: Any) -> None:
    with torch.random.fork_rng():
        for seed in range(100, 104):
            torch.manual_seed(seed)
            assert unlike_fresh(FromCopy.of(make())) == []
