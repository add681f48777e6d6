"""The one-file version agrees with the library: inputs, targets, starts, every step of both algorithms, the effect."""

import math

import pytest
import torch

from beyondkernels.activations import Cosine, Sine
from beyondkernels.algorithms import PseudoHuber
from beyondkernels.core import Sample, Stream
from beyondkernels.engine import Member, train
from beyondkernels.papers.overparam import ThreeLayerLearner, ThreeLayerSGD, TwoLayerLearner, TwoLayerSGD, practical
from beyondkernels.papers.overparam.experiments.theorem41 import Theorem41
from beyondkernels.papers.overparam.problems import ThreeLayerTruth, TwoLayerTruth, UnitInputs

D, M, N, T = 5, 7, 12, 15


def test_its_choices_are_the_librarys(minimal):
    settings = Theorem41().settings("laptop")
    mine = minimal.D, minimal.TERMS, minimal.N, minimal.N_TEST, minimal.OUTPUT_STD, minimal.RATE, minimal.STEPS
    assert mine == (
        settings.dim, settings.terms, settings.samples, settings.test_samples, settings.output_std, settings.rate,
        settings.steps,
    )  # fmt: skip
    assert (minimal.WIDTHS[0], minimal.WIDTHS[-1]) == (settings.widths[0], settings.widths[-1])
    theirs = practical(0.01, minimal.WIDTH3, rate=minimal.RATE3, steps=minimal.STEPS3)
    assert theirs.smoothing == pytest.approx((minimal.SIGMA, minimal.SIGMA))
    assert theirs.gradient_noise == minimal.GRADIENT_NOISE
    assert theirs.penalties == pytest.approx((2 * minimal.WIDTH3 / minimal.RADIUS**4, 2 / minimal.RADIUS**2))
    assert (theirs.wait, theirs.draws) == (minimal.WAIT, minimal.DRAWS)


def test_inputs_have_norm_one_and_last_coordinate_one_half(minimal):
    n = 40_000
    x = minimal.inputs(n, D, torch.Generator().manual_seed(1))
    torch.testing.assert_close(x.norm(dim=1), torch.ones(n))
    assert (x[:, -1] == 0.5).all()
    rest = 4 / 3 * x[:, :-1].T @ x[:, :-1] / n  # uniform: every direction has the same second moment
    torch.testing.assert_close(rest, torch.eye(D - 1) / (D - 1), rtol=0, atol=5 / n**0.5)


def test_the_targets_are_the_librarys(minimal):
    two = TwoLayerTruth(UnitInputs(D), Sine(minimal.FREQUENCY), terms=minimal.TERMS)
    wave = Cosine(minimal.FREQUENCY3)
    three = ThreeLayerTruth(UnitInputs(D), "identity", wave, wave, outer_terms=1, inner_terms=1)
    x = two.draw(50, Stream(0))
    for mine, truth in ((minimal.two_layer_truth, two), (minimal.three_layer_truth, three)):
        w = truth.matrices()
        signs = w["a"][0] if truth is two else w["a"][0] * w["v1"][0] * w["v2"][0]
        torch.testing.assert_close(mine(x, w | {"a": signs}), truth.target(x)[:, 0], rtol=1e-12, atol=1e-12)


def test_the_loss_is_the_librarys(minimal):
    out, y = (Stream(0).child(name).normal(30, dtype=torch.float64) for name in ("out", "y"))
    assert minimal.loss(out, y).item() == pytest.approx(PseudoHuber().report(out[:, None], y[:, None])["loss"])


@pytest.mark.parametrize(("layers", "std"), [(2, 0.1), (3, 1.0)])
def test_the_start_has_the_librarys_law(minimal, layers, std):
    m, d = 1600, 20
    network = TwoLayerLearner(m, std) if layers == 2 else ThreeLayerLearner(m, std)
    params, buffers = network.init(d, 1, Stream(1))
    theirs = params | buffers | {"a": buffers["a"][0]}
    mine = minimal.start(m, d, layers, std, torch.Generator().manual_seed(1))
    assert {name: value.shape for name, value in mine.items()} == {name: value.shape for name, value in theirs.items()}
    for drawn in (mine, theirs):
        for name, value in drawn.items():
            spread, error = (std if name == "a" else 1 / math.sqrt(m)), 5 / value.numel() ** 0.5
            assert value.square().mean().item() == pytest.approx(spread**2, rel=2.3 * error)  # E b⁴ / (E b²)² = 6
            if name[0] == "b":
                assert (value == 0).float().mean().item() == pytest.approx(0.5, abs=error / 2)


def member_in_double(network, rule) -> Member:
    x, y = (Stream(0).child(name).normal(N, columns, dtype=torch.float64) for name, columns in (("x", D), ("y", 1)))
    member = Member(network, rule, Sample(x, y), Stream(1))
    member.start(D, 1)
    member.params = {name: value.double() for name, value in member.params.items()}
    member.buffers = {name: value.double() for name, value in member.buffers.items()}
    member.optimiser = {name: value.double() for name, value in member.optimiser.items()}
    return member


def weights_of(member) -> dict[str, torch.Tensor]:
    return {**member.params, **member.buffers, "a": member.buffers["a"][0]}


def same(found, expected) -> None:
    for name in expected:
        torch.testing.assert_close(found[name], expected[name], rtol=1e-10, atol=1e-12, msg=name)


def test_every_step_of_algorithm_1_agrees(minimal):
    member = member_in_double(TwoLayerLearner(M, 0.5), TwoLayerSGD(T, 0.3))
    points = member.rows(0, T)
    assert points is not None
    start, x, y = weights_of(member), member.sample.x, member.sample.y[:, 0]
    for t in range(1, T + 1):
        train([member], [frozenset()], lambda _: None, until=t)
        same(minimal.algorithm1(start, x, y, 0.3, points[:t, 0]), weights_of(member))
    assert (weights_of(member)["W"] - start["W"]).norm() > 0.1


def test_every_step_and_the_choice_of_algorithm_2_agree(minimal, monkeypatch):
    monkeypatch.setattr(minimal, "RADIUS", 1.5)  # penalties that are felt
    rate, steps = 0.2, T
    settings = practical(
        0.01, M, rate=rate, steps=steps, radius=1.5, smoothing=0.5, gradient_noise=0.3, wait_constant=3.0
    )
    assert settings.wait is not None and 3 * settings.wait < steps  # λ shrinks several times
    chosen = set()
    for seed in (1, 2, 3):
        member = member_in_double(ThreeLayerLearner(M), ThreeLayerSGD(settings, steps, rate))
        member.stream = Stream(seed)
        start, x, y = weights_of(member), member.sample.x, member.sample.y[:, 0]
        points, drawn = member.rows(0, steps), [member.noise(t) for t in range(steps)]
        assert points is not None
        kinds = ("smoothing", "gradient")
        draws = (
            (int(point), *((noise[f"{kind}/W"], noise[f"{kind}/V"]) for kind in kinds), int(noise["wait"]))
            for point, noise in zip(points, drawn, strict=True)
        )
        w, lam = minimal.algorithm2(start, x, y, rate, steps, draws)
        end = Stream(seed).child("transition").at(steps)
        spread = settings.smoothing[0]
        candidates = [
            tuple(
                spread * end.child("draw", str(j), name).normal(*start[name].shape, dtype=torch.float64)
                for name in ("W", "V")
            )
            for j in range(settings.draws)
        ]
        found = minimal.choose(w, lam, x, y, candidates)
        train([member], [frozenset()], lambda _: None)
        same(found, weights_of(member))
        assert lam < 0.6 and float(member.optimiser["scale"]) == pytest.approx(lam)
        chosen.add(int(member.optimiser["chosen"]))
    assert len(chosen) > 1


def test_the_effect(minimal, monkeypatch, capsys):
    """At a tenth of the size: the widest network is no worse than the narrowest, and both algorithms learn."""
    for name, value in (("N_TEST", 2000), ("STEPS", 8000), ("STEPS3", 1500), ("WIDTHS", (64, 1024))):
        monkeypatch.setattr(minimal, name, value)
    found = minimal.main(seed=3)
    assert found["Algorithm 1, m = 1024"] < found["Algorithm 1, m = 64"] < 0.2 * found["the mean label"]
    assert found["Algorithm 2, m = 100"] < 0.5 * found["product of cosines: the mean"]
    assert capsys.readouterr().out.count("test loss") == len(found)
