"""What a newcomer may type wrong: each gets one sentence that names the argument, what came, and what would do."""

import functools
import re
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

import beyondkernels as bk
from beyondkernels.cli import main
from refusals import refused

torch.set_num_threads(1)
X = torch.randn(40, 4, generator=torch.Generator().manual_seed(0))
Y = (X[:, 0] * X[:, 1] > 0).long()
NUMBERS = X[:, 0] * X[:, 1]
WITH_NAN = NUMBERS.clone().index_fill_(0, torch.tensor([7]), float("nan"))


def dense(out_dim: int = 2) -> nn.Module:
    return nn.Sequential(nn.Linear(4, 6), nn.ReLU(), nn.Linear(6, out_dim))


def audit(model: Any, *data: Any, **options: Any) -> Any:
    return bk.audit(model, *data, **{"seeds": 1, "epochs": 1, "progress": False, "parts": "ladder"} | options)


def no_arguments() -> nn.Module:
    return dense()


def no_module(in_dim: int, out_dim: int) -> Any:
    return 3


def three_outputs(in_dim: int, out_dim: int) -> nn.Module:
    return dense(3)


MODELS = {
    "model must be a module or a function with a name, got a partial": functools.partial(three_outputs),
    "model must have an output for each of 2 classes, or one, got 3": three_outputs,
    "model must be a module or a function with a name, got <lambda>; give a": lambda in_dim, out_dim: dense(out_dim),
    "model must be an instance, got the class Linear: Linear(…) makes one": nn.Linear,
    "model must be a function of (in_dim, out_dim), got no_arguments, which cannot be called so": no_arguments,
    "model must make a torch.nn.Module, got 3 from no_module": no_module,
    "which has no layers to look into": bk.kernels.Gaussian(1.0),
}


@pytest.mark.parametrize("sentence", MODELS)
def test_models(sentence: str) -> None:
    refused(re.escape(sentence), audit, MODELS[sentence], (X, Y))


DATA = {
    "data must hold points with labels, got a Tensor of the shape (40, 4) alone: bk.audit(model, (X, y))": (X, Y),
    "y must be finite, got NaN or infinity in 1 of 40 labels, the first in row 7": ((X, WITH_NAN),),
    "test must be test points or a fraction of a finite data set, got 0": ((X, Y), 0),
}


@pytest.mark.parametrize("sentence", DATA)
def test_data(sentence: str) -> None:
    refused(re.escape(sentence), audit, dense(), *DATA[sentence])


OPTIONS: dict[str, dict[str, Any]] = {
    "each of parts must be 'ladder', 'when', 'where' or 'what', got 'wher'": {"parts": "wher"},
    "unknown rung in without 'tangent', did you mean tangent kernel": {"without": "tangent"},
    "workers must be 1 for a module, which only this process has": {"workers": 2},
    "unknown argument 'epoch', did you mean epochs?": {"epoch": 3},
    "snapshots must be at least 3, got 2": {"snapshots": 2},
}


@pytest.mark.parametrize("sentence", OPTIONS)
def test_options(sentence: str) -> None:
    refused(re.escape(sentence), audit, dense(), (X, Y), **OPTIONS[sentence])


_ALL_BUT_CONSTANT = (
    *(
        "linear",
        "Laplace kernel",
        "Gaussian kernel",
        "RBF support vector machine",
        "last layer",
        "conjugate kernel",
        "tangent kernel",
        "linearised network",
    ),
    *("feature machine", "layer by layer", "early features", "trained tangent kernel"),
)


def test_a_rung_that_is_left_out_may_be_named_alone() -> None:
    assert "linear" not in audit(dense(), (X, Y), without="linear", parts="ladder").ladder["rung"].tolist()


def test_a_model_that_diverges_is_said_to() -> None:
    options = {"learning_rate": 1e6, "optimiser": "sgd", "epochs": 30, "seeds": 2}
    found = audit(dense(1), (X, NUMBERS), without=_ALL_BUT_CONSTANT, **options)
    assert found.sentence == (
        "The model diverged with every seed: its loss stopped being finite. A smaller rate may help."
    )
    assert re.search(r"model +diverged", str(found))


def test_a_run_that_crashes_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any) -> None:
        raise RuntimeError("no such thing")

    monkeypatch.setattr(bk.kernels.Constant, "fit", broken)
    found = audit(dense(), (X, Y), without=_ALL_BUT_CONSTANT)
    assert found.sentence == "Runs are missing: ladder constant 0 (crashed: RuntimeError: no such thing)."


FILE = """
import torch
from beyondkernels.auditing import Audit

def make(in_dim, out_dim):
    return torch.nn.Sequential(torch.nn.Linear(in_dim, 4), torch.nn.ReLU(), torch.nn.Linear(4, out_dim))

X = torch.arange(120.0).reshape(40, 3).sin()
MINE = Audit(make, (X, X.sum(1)), epochs=1, settings={"parts": ("what",), "points": 10, "snapshots": 3, "seeds": 1})
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where a newcomer has files; a process loads one file of a name."""
    place = tmp_path_factory.mktemp("newcomer")
    (place / "newcomers_audit.py").write_text(FILE)
    (place / "newcomers_model.py").write_text("import torch\nmodel = torch.nn.Linear(3, 1)\n")
    return place


def typed(monkeypatch: pytest.MonkeyPatch, *words: str) -> int:
    monkeypatch.setattr(sys, "argv", ["bk", "audit", *words])
    with pytest.raises(SystemExit) as ended:
        main()
    return int(ended.value.code or 0)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ([], "no audit is named; say bk audit path/file.py:NAME"),
        (["none.py:X"], "no file none.py"),
        (["newcomers_audit.py:make"], "newcomers_audit.py defines no experiment 'make'; say newcomers_audit.py:MINE"),
        (
            ["newcomers_model.py:model"],
            "newcomers_model.py defines no experiment; NAME = Audit(model, train, test) would be one",
        ),
        (["features/table1"], "features/table1 is an experiment, not an Audit; bk run features/table1 runs it"),
        (["newcomers_audit.py", "--seeds", "0"], "seeds must be positive, got 0"),
        (["newcomers_audit.py", "--set", "parts=wher"], "unknown parts 'wher', did you mean where"),
        (
            ["newcomers_audit.py", "--set", "epochs=3"],
            "epochs says how the model is trained and is no setting; change it in the",
        ),
    ],
)
def test_on_the_command_line(
    words: list[str], sentence: str, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(folder)
    assert typed(monkeypatch, *words) == 2
    assert sentence in capsys.readouterr().err.replace("\n", " ")


def test_workers_find_the_file_of_its_only_audit(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    assert typed(monkeypatch, "newcomers_audit.py", "--workers", "2") == 0
    assert (folder / "report" / "index.html").is_file()
