import importlib
import traceback
from dataclasses import dataclass, replace
from typing import Any

import pytest
import torch

import beyondkernels as bk
from beyondkernels.algorithms import GradientDescent, Squared
from beyondkernels.core import Ended, InputError, Measured, Problem, Sample, Stream, UncacheableError
from beyondkernels.engine import Member, Predictor, TrainedNetwork
from beyondkernels.execution import perform
from beyondkernels.kernels import ConstantClassifier, Gaussian, KernelRidge
from beyondkernels.learning import compare, fit, run_specs
from beyondkernels.measure import Measurement
from beyondkernels.networks import FromModule, FullyConnected, TwoLayer
from beyondkernels.networks.from_copy import ModelWarning
from beyondkernels.papers.features.problems import DictionaryParity
from beyondkernels.store import RunSpec
from refusals import refused

PROBLEM = DictionaryParity(dim=8, patterns=6, relevant=3)
RULE = GradientDescent(steps=5, learning_rate=0.1)


def test_fit_gives_scalars_as_attributes():
    run = fit(TwoLayer(pairs=4), PROBLEM, n=60, algorithm=RULE, seed=1, test=30)
    assert run.status == "finished"
    assert 0 <= run.test_accuracy <= 1
    with pytest.raises(AttributeError, match="this run has no 'risk'; it has steps, test_accuracy"):
        _ = run.risk


def test_compare_gives_all_learners_the_same_samples():
    learners = {"slow": TrainedNetwork(TwoLayer(pairs=4), RULE), "again": TrainedNetwork(TwoLayer(pairs=4), RULE)}
    comparison = compare(PROBLEM, 60, learners=learners, seeds=2, test=30)
    slow, again = comparison.rows
    assert slow["seeds"] == 2
    assert {k: v for k, v in slow.items() if k != "learner"} == {k: v for k, v in again.items() if k != "learner"}
    assert "slow" in str(comparison)
    accuracies = [run.test_accuracy for run in comparison.runs["slow"]]
    assert slow["test_accuracy"] == pytest.approx(sum(accuracies) / 2)


def test_a_kernel_stands_for_ridge_regression_with_it():
    kernel = Gaussian(bandwidth=8.0)
    run = fit(kernel, PROBLEM, n=60, test=30)
    assert run.learner == KernelRidge(kernel)
    assert run.test_accuracy == fit(KernelRidge(kernel), PROBLEM, n=60, test=30).test_accuracy
    shown = str(compare(PROBLEM, 60, learners={"a kernel with a rather long name": kernel}, seeds=1, test=30))
    head, line = shown.splitlines()
    assert len(head) == len(line)
    assert line.startswith("a kernel with a rather long name ")
    assert f"{100 * run.test_accuracy:.2f}%" in line


@dataclass(frozen=True)
class Doubled(Problem):
    @property
    def in_dim(self):
        return 3

    @property
    def out_dim(self):
        return 2

    def sample(self, n, stream):
        x = stream.normal(n, 3)
        return Sample(x, 2 * x[:, :2])


def make(in_dim, out_dim):
    return torch.nn.Linear(in_dim, out_dim)


def test_sentences_at_the_front_door():
    refused("a must be a torch.nn.Module, .* got a str", compare, PROBLEM, 60, learners={"a": "a network"})
    refused("ConstantClassifier knows how to learn", fit, ConstantClassifier(), PROBLEM, n=60, algorithm=RULE)
    wrong = {"algorithm": RULE, "snapshot_names": ("hiden.weight",)}
    refused("'hiden.weight', did you mean hidden.weight", fit, TwoLayer(4), PROBLEM, n=60, **wrong)
    refused("network must be a TwoLayer, got FromModule", bk.features.theorem26, PROBLEM, FromModule(make, "mine"))


@pytest.mark.parametrize("backend", ["eager", "compiled"])
def test_the_record_begins_at_the_start_where_it_is_asked_to(backend):
    network = bk.networks.FullyConnected(6, 2, parameterisation=bk.networks.Parameterisation("standard"))
    rule = GradientDescent(10, 0.1, 10, loss=bk.algorithms.Squared())
    problem, words = DictionaryParity(dim=8, patterns=6, relevant=3), dict[str, Any](n=50, test=20, seed=100)
    fields: dict[str, Any] = {"backend": backend, "snapshot_at": (0,), "snapshot_names": ("layer1.weight",)}
    run = fit(TrainedNetwork(network, rule, record_at=(0, 4, 10), **fields), problem, **words)
    assert run.outcome.series["step"].tolist() == [0, 4, 10]
    without = fit(TrainedNetwork(network, rule, record_at=(4, 10), **fields), problem, **words)
    for name, values in without.outcome.series.items():
        assert run.outcome.series[name][1:].tolist() == values.tolist()
    assert run.outcome.scalars == without.outcome.scalars
    untrained = fit(TrainedNetwork(network, replace(rule, steps=1, learning_rate=1e-30), **fields), problem, **words)
    for name in ("train_loss", "test_loss"):
        assert run.outcome.series[name][0] == untrained.outcome.scalars[name]


@pytest.mark.parametrize("n", [0, 1, 31, 32, 33, 70])
def test_predictions_of_blocks_are_put_together(n, monkeypatch):
    monkeypatch.setattr("beyondkernels.networks.evaluation.evaluation_block", lambda _: 32)
    network = FullyConnected(6, depth=3)
    x = Stream(0).child("x").normal(n, 4)
    member = Member(network, GradientDescent(1, 0.1, loss=Squared()), Sample(x, x[:, :2]), Stream(1))
    member.start(4, 2)
    out = Predictor(member.network, member.params, member.buffers)(x)
    assert out.shape == (n, 2)
    assert torch.allclose(out, network.apply(member.params, member.buffers, x)[0], atol=1e-6)


def test_networks_of_all_seeds_train_as_one_ensemble(monkeypatch):
    rule = GradientDescent(steps=5, learning_rate=0.01, loss=Squared())
    learner, calls, together = TrainedNetwork(FullyConnected(6), rule), [], TrainedNetwork.fit_together.__func__

    def counted(cls, learners, cases, progress):
        calls.append(len(cases))
        return together(cls, learners, cases, progress)

    alone = [fit(learner, Doubled(), 40, seed=seed, test=20).test_loss for seed in range(4)]
    monkeypatch.setattr(TrainedNetwork, "fit_together", classmethod(counted))
    comparison = compare(Doubled(), 40, learners={"network": learner}, seeds=[0, 1, 2, 3, 3], test=20)
    assert calls == [4]
    assert [run.test_loss for run in comparison.runs["network"]] == alone


def local_linear(in_dim, out_dim):
    return torch.nn.Linear(in_dim, out_dim)


def test_what_cannot_be_stored_still_runs(tmp_path):
    network = FromModule(lambda d, k: torch.nn.Linear(d, k), "unnamed")
    learner = TrainedNetwork(network, RULE)
    named = fit(FromModule(local_linear, "named"), PROBLEM, n=40, algorithm=RULE, test=20)
    comparison = compare(PROBLEM, 40, learners={"mine": learner}, seeds=2, test=20)
    assert comparison.runs["mine"][0].test_loss == named.test_loss
    assert comparison.runs["mine"][0].test_loss != comparison.runs["mine"][1].test_loss
    with pytest.raises(UncacheableError, match="unnamed function"):
        fit(network, PROBLEM, n=40, algorithm=RULE, test=20, store=tmp_path / "store")
    assert not (tmp_path / "store").exists()


def test_a_run_predicts_and_is_measured():
    words: dict[str, Any] = {"snapshot_at": (0, 5), "snapshot_names": ("hidden.weight",)}
    run = fit(TwoLayer(pairs=4), PROBLEM, n=60, algorithm=RULE, test=30, seed=2, **words)
    test = PROBLEM.sample(30, Stream(2).child("test"))
    margins = run.predict(test.x)[:, 0] * test.y
    assert run.test_accuracy == pytest.approx(((margins > 0).double() + 0.5 * (margins == 0)).mean().item())
    found = run.measure(bk.measure.Alignment())
    assert found.series["alignment/step"].tolist() == [0, 5]
    assert found.series["alignment/cosines"].shape == (2, 8)


@dataclass(frozen=True)
class Margins(Measurement):
    """Looks at all that a measurement is shown."""

    def measure(self, run: Ended) -> Measured:
        assert isinstance(run.learner, TrainedNetwork)
        margins = (run.predictor(run.case.train.x)[:, 0] * run.case.train.y).numpy()
        hidden = run.predictor.intermediates(run.case.train.x)["hidden"][0]  # pyright: ignore[reportFunctionMemberAccess]
        return Measured({"least_margin": float(margins.min())}, {}, {"margins": margins, "open": (hidden > 0).numpy()})


def test_a_measurement_sees_learner_sample_and_predictor():
    learner = TrainedNetwork(TwoLayer(pairs=4), RULE)
    (outcome,) = perform([RunSpec(PROBLEM, learner, 60, 30, 1, (Margins(),))])
    assert outcome.arrays["margins"].shape == (60,)
    assert outcome.arrays["open"].shape == (60, 8)
    right = ((outcome.arrays["margins"] > 0) + 0.5 * (outcome.arrays["margins"] == 0)).mean()
    assert outcome.scalars["train_accuracy"] == pytest.approx(right)


def test_tables_and_short_words():
    run = fit(TwoLayer(pairs=4), PROBLEM, n=60, algorithm=RULE, test=30)
    (row,) = run.to_frame().to_dict("records")
    assert (row["learner"], row["problem"], row["n"], row["seed"]) == (
        "TrainedNetwork(TwoLayer)", type(PROBLEM).__name__, 60, 0,
    )  # fmt: skip
    assert row["test_loss"] == run.test_loss
    assert repr(run).startswith("<Run TrainedNetwork(TwoLayer) on Dictionary")
    assert f"test_accuracy {run.test_accuracy:.4g}>" in repr(run)
    comparison = compare(PROBLEM, 60, learners={"a": TrainedNetwork(TwoLayer(4), RULE), "b": ConstantClassifier()},
                         seeds=3, test=30)  # fmt: skip
    frame: Any = comparison.to_frame()
    assert dict(frame.groupby("learner")["test_accuracy"].mean()) == pytest.approx(
        {row["learner"]: row["test_accuracy"] for row in comparison.rows}
    )
    assert (len(frame), list(frame.columns[:3])) == (6, ["learner", "seed", "status"])
    assert repr(comparison).endswith(f"b {100 * comparison.rows[1]['test_accuracy']:.2f}%>")
    assert len(repr(comparison)) < 200


@dataclass(frozen=True)
class Breaking(ConstantClassifier):
    """Raises with an odd seed."""

    def fit(self, case, progress):
        if case.stream.seed % 2:
            raise ValueError("odd")
        return super().fit(case, progress)


def test_exceptions_are_raised_or_counted_as_asked():
    specs = [RunSpec(PROBLEM, Breaking(), 20, 10, seed) for seed in range(3)]
    with pytest.raises(ValueError, match="odd"):
        run_specs(specs)
    runs = run_specs(specs, forgiving=True)
    assert [run.status for run in runs] == ["finished", "crashed", "finished"]
    assert runs[1].as_row() == {"status": "crashed", "reason": "ValueError: odd"}
    assert repr(runs[1]).endswith("crashed, ValueError: odd>")
    refused("this run cannot predict: it crashed", runs[1].predict, torch.zeros(1, 8))


def test_a_notebook_shows_tables_and_nothing_that_acts():
    learners = {"<b>bold</b>": TrainedNetwork(TwoLayer(4), RULE), "constant": ConstantClassifier()}
    comparison = compare(PROBLEM, 40, learners=learners, seeds=2, test=10)
    run = comparison.runs["constant"][0]
    sweep = bk.fit_many(TwoLayer(4), PROBLEM, 40, algorithm=RULE, grid=bk.grid(seed=range(30)), test=10)
    shown = [each._repr_html_() for each in (run, comparison, sweep)]
    assert all("<table" in html for html in shown)
    assert "<b>bold</b>" not in shown[1]
    assert "&lt;b&gt;bold&lt;/b&gt;" in shown[1]
    assert "10 more rows: see to_frame()" in shown[2]
    assert f"{run.test_accuracy:.3g}" in shown[0]
    assert repr(sweep) == "<Sweep of 30 runs: 30 finished>"
    assert len(sweep.to_frame()) == 30


def test_a_store_gives_back_what_was_computed(tmp_path):
    words: dict[str, Any] = {"algorithm": RULE, "n": 40, "test": 20, "seed": 3, "store": tmp_path / "store"}
    first = fit(TwoLayer(pairs=4), PROBLEM, **words)
    again = fit(TwoLayer(pairs=4), PROBLEM, **words)
    assert first.outcome.scalars == again.outcome.scalars
    assert len(list((tmp_path / "store" / "runs").rglob("done.json"))) == 1
    assert torch.equal(first.predict(torch.ones(1, 8)), again.predict(torch.ones(1, 8)))


class Late(torch.nn.Module):
    """Gives outputs until it trains, and raises then."""

    def __init__(self, in_dim: int = 8, out_dim: int = 1):
        super().__init__()
        self.line = torch.nn.Linear(in_dim, out_dim)

    def forward(self, x):
        if self.training:
            raise KeyError("a slip of mine")
        return self.line(x)


@pytest.mark.parametrize("kept", [False, True])
def test_a_module_that_raises_while_it_trains_shows_its_own_line(kept, tmp_path):
    where: Any = {"store": tmp_path / "store" if kept else None, "steps": 2, "test": 10, "progress": False}
    both = {"late": Late(), "constant": ConstantClassifier()}
    for call in (lambda: bk.fit(Late(), PROBLEM, 20, **where), lambda: compare(PROBLEM, 20, learners=both, **where)):
        with pytest.raises(InputError, match=r"Late must give outputs each .*, got KeyError: 'a slip of mine'") as at:
            call()
        assert at.value.__cause__ is not None
        assert traceback.extract_tb(at.value.__cause__.__traceback__)[-1].line == 'raise KeyError("a slip of mine")'
    with pytest.warns(ModelWarning, match=r"1 of 1 runs crashed; .*mine'\n  .*in forward\n +raise KeyError") as warned:
        sweep = bk.fit_many(Late(), PROBLEM, 20, grid=bk.grid(seed=[3]), **where)
    assert (sweep.rows[0]["status"], warned[0].filename) == ("crashed", __file__)


def test_a_worker_tells_the_users_line(tmp_path, monkeypatch):
    code = "import torch\n\ndef fails(x):\n    raise KeyError('far away')\n\n"
    code += "def tardy(i, o):\n    line = torch.nn.Linear(i, o)\n    line.register_full_backward_hook("
    code += "lambda *_: fails(0))\n    return line\n"
    (tmp_path / "tardy_models.py").write_text(code)
    monkeypatch.syspath_prepend(tmp_path)
    learners = {"tardy": importlib.import_module("tardy_models").tardy}
    with pytest.raises(RuntimeError, match=r"2 of 2 runs crashed; .*KeyError.*away'\n(  .*\n)+ +raise KeyError"):
        compare(PROBLEM, 20, learners=learners, seeds=2, steps=2, test=10, workers=2, progress=False)
