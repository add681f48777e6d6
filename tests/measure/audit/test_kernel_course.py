"""Kernels along a training: every number once more from gradients of single points and fits without single points."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from audited import Toy, convolutional, dense, ended, headless, of
from beyondkernels.core import Ended, InputError, accuracy
from beyondkernels.engine import Predictor
from beyondkernels.kernels import Gaussian, KernelRidge
from beyondkernels.kernels.solvers.ridge import RELATIVE_RIDGES
from beyondkernels.measure import Ansatz, KernelCourse
from beyondkernels.measure.audit import LayerChange, PointErrors, SquaredError, emergence_step, moments
from beyondkernels.measure.audit.moments import chosen
from beyondkernels.networks import FullyConnected
from refusals import refused

NAMES = {"step", "start", "end", "labels", "change"}


def gradients(at: Predictor, x: torch.Tensor) -> np.ndarray:
    """∇f_c(x_i) for every point and output, one backward pass each, (n, k, parameters)."""
    rows = []
    for point in x:
        leaves = {name: value.double().requires_grad_() for name, value in at.params.items()}
        buffers = {name: v.double() if v.is_floating_point() else v for name, v in at.buffers.items()}
        out = at.network.apply(leaves, buffers, point[None].double())[0][0]
        of_point = [torch.autograd.grad(o, list(leaves.values()), retain_graph=True) for o in out]
        rows.append([torch.cat([g.flatten() for g in found]).numpy() for found in of_point])
    return np.array(rows)


def traced(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    return np.mean([first[:, c] @ second[:, c].T for c in range(first.shape[1])], axis=0)


def fitted(K: np.ndarray, y: np.ndarray, block: np.ndarray) -> np.ndarray:
    """Ridge regression whose ridge has the least error of fits to all points but one."""
    n, best = len(K), (np.inf, np.nan)
    for relative in RELATIVE_RIDGES[:17]:  # below 1e-5 such fits lose their digits
        ridge, error = relative * np.trace(K) / n, 0.0
        for i in range(n):
            rest = [j for j in range(n) if j != i]
            alpha = np.linalg.solve(K[np.ix_(rest, rest)] + ridge * np.eye(n - 1), y[rest])
            error += ((y[i] - K[i, rest] @ alpha) ** 2).sum()
        best = min(best, (error, ridge))
    return block @ np.linalg.solve(K + best[1] * np.eye(n), y)


def alignment(K: np.ndarray, L: np.ndarray) -> float:
    H = np.eye(len(K)) - 1 / len(K)
    K, L = H @ K @ H, H @ L @ H
    return float((K * L).sum() / np.sqrt((K * K).sum() * (L * L).sum()))


@pytest.mark.parametrize("precision", ["single", "double"])
@pytest.mark.parametrize("kind", ["classes", "signs", "numbers"])
def test_every_number_by_hand(kind, precision):
    run = ended(of(dense), Toy(kind=kind), steps=6)
    found = KernelCourse(points=20, test_points=15, precision=precision).measure(run)
    train, test, at = chosen(run, "train", 20), chosen(run, "test", 15), moments(run)
    assert list(at) == [0, 3, 6]
    assert (found.scalars["kernel_points"], found.scalars["kernel_test_points"]) == (20, 15)
    y = train.y.double().reshape(20, -1).numpy()
    score = "loss" if kind == "numbers" else "accuracy"
    assert set(found.series) == {f"{g}/{n}" for g in ("tangent", "conjugate") for n in NAMES | {score}} | {
        "model/step",
        f"model/{score}",
    }
    kernels = {"tangent": [], "conjugate": []}
    for one in at.values():
        J, J_test = gradients(one, train.x), gradients(one, test.x)
        kernels["tangent"].append((traced(J, J), traced(J_test, J)))
        h, h_test = (one.network.features(one.params, one.buffers, x).double().numpy() for x in (train.x, test.x))
        kernels["conjugate"].append((h @ h.T, h_test @ h.T))
    for group, grams in kernels.items():
        for i, (K, block) in enumerate(grams):
            values = {name: found.series[f"{group}/{name}"][i] for name in (NAMES | {score}) - {"step"}}
            assert values["start"] == pytest.approx(alignment(K, grams[0][0]), abs=1e-6)
            assert values["end"] == pytest.approx(alignment(K, grams[-1][0]), abs=1e-6)
            assert values["labels"] == pytest.approx(alignment(K, y @ y.T), abs=1e-6)
            moved = np.sqrt(((K - grams[0][0]) ** 2).sum() / (grams[0][0] ** 2).sum())
            assert values["change"] == pytest.approx(moved, abs=1e-6)
            out = torch.from_numpy(fitted(K, y - y.mean(0), block) + y.mean(0))
            squared = (out - test.y.reshape(out.shape)).square().sum(1).mean().item()
            expected = squared if kind == "numbers" else accuracy(out, test.y)
            assert values[score] == pytest.approx(expected, rel=1e-3)
    own = [one(test.x) for one in at.values()]
    losses = [(out - test.y.reshape(out.shape)).square().sum(1).mean().item() for out in own]
    wanted = losses if kind == "numbers" else [accuracy(out, test.y) for out in own]
    assert found.series[f"model/{score}"] == pytest.approx(wanted, rel=1e-5)


def test_the_tangent_kernel_of_the_last_layer_is_the_conjugate_one():
    found = KernelCourse(group="last").measure(ended(FullyConnected(width=8, depth=2), Toy(), rate=0.1))
    assert found.series["tangent/change"][-1] > 0
    for name in ("start", "end", "labels", "accuracy"):
        assert found.series[f"tangent/{name}"] == pytest.approx(found.series[f"conjugate/{name}"], abs=1e-6)


@pytest.mark.parametrize("factory", [convolutional, headless])
def test_images(factory):
    found = KernelCourse(points=10, test_points=8).measure(ended(of(factory), Toy(shape=(2, 6, 6)), steps=4))
    headed = factory is convolutional  # without a last linear layer there is no conjugate kernel
    assert ("conjugate/start" in found.series) == headed
    assert all(np.isfinite(values).all() for values in found.series.values())
    assert (found.series["tangent/start"][0], found.series["tangent/end"][-1]) == pytest.approx((1, 1))


@pytest.mark.parametrize(
    ("scores", "expected"),
    [
        ([0.9, 0.9, 0.9], 0),
        ([0.1, 0.89, 0.9], 5),
        ([0.95, 0.1, 0.9], 9),
        ([0.9, 0.9, 0.88], None),
        ([0.0, 0.0, 0.0], None),
    ],
)
def test_emergence(scores, expected):
    assert emergence_step([0, 5, 9], scores, 0.9, 0.01, rising=True) == expected
    losses = [1 - score for score in scores]  # 0.1 at the end, and 0.11 is as good
    assert emergence_step([0, 5, 9], losses, 0.1, 0.1, rising=False) == expected


def test_of_two_errors_that_are_nearly_zero_neither_is_better():
    assert emergence_step([0, 5], [1e-12, 1e-13], 1e-14, 0.05, rising=False) is None
    assert emergence_step([0, 5], [1e-12, 1e-13], 1e-14, 0.05, rising=False, near=0.01) == 0
    assert emergence_step([0, 5], [0.2, 0.105], 0.1, 0.05, rising=False, near=1e-9) == 5


def test_the_draw_of_points_is_the_runs_own():
    run = ended(of(dense), Toy())
    first, again = chosen(run, "train", 10), chosen(run, "train", 10)
    assert torch.equal(first.x, again.x)
    assert not torch.equal(first.x, run.case.train.x[:10])
    assert len(chosen(run, "test", 999)) == 30
    other = Ended(run.learner, replace(run.case, stream=run.case.stream.child("other")), run.outcome)
    assert not torch.equal(first.x, chosen(other, "train", 10).x)


def test_sentences():
    refused(r"must be \('all',\) for an audit, got", KernelCourse().measure, ended(of(dense), Toy(), snapshot_names=()))
    with pytest.raises(InputError, match=r"^snapshot_at must hold step 0, the start, for an audit, got \(20,\)$"):
        KernelCourse().measure(ended(of(dense), Toy(), snapshot_at=(20,)))
    run = ended(of(dense), Toy())
    with pytest.raises(InputError, match=r"^learner must be a TrainedNetwork for an audit, got KernelRidge$"):
        moments(Ended(KernelRidge(Gaussian(1.0)), run.case, run.outcome))


def test_a_run_that_kept_no_end_is_taken_at_its_end():
    run = ended(of(dense), Toy(), snapshot_at=(0,))
    at = moments(run)
    assert list(at) == [0, 20]
    assert all(torch.equal(value, run.predictor.params[name]) for name, value in at[20].params.items())  # pyright: ignore[reportFunctionMemberAccess]
    refused("must hold step 20, the end", moments, Ended(run.learner, run.case, replace(run.outcome, predictor=None)))


def halved(in_dim: int, out_dim: int) -> torch.nn.Module:
    return dense(in_dim, out_dim).bfloat16()


def test_a_run_in_bfloat16_is_kept_and_looked_at_in_float32():
    run, short = (ended(of(halved), Toy(), snapshot_at=steps) for steps in ((0, 20), (0,)))
    for at in (moments(run), moments(short)):
        assert {value.dtype for seen in at.values() for value in seen.params.values()} == {torch.float32}
        for name, value in at[20].params.items():
            last = run.predictor.params[name]  # pyright: ignore[reportFunctionMemberAccess]
            assert last.dtype == torch.bfloat16 and torch.equal(value, last.float())
    for measurement in (KernelCourse(), Ansatz(), LayerChange(), SquaredError(), PointErrors()):
        found = [measurement.measure(one) for one in (run, short)]
        assert found[0].scalars == pytest.approx(found[1].scalars, nan_ok=True)
