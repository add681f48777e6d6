import math
from dataclasses import replace
from typing import Any

import pytest
import torch

import beyondkernels as bk
from beyondkernels.core import Outcome, Stream
from beyondkernels.lab import At
from beyondkernels.papers.overparam.experiments.theorem41 import NOISY, TARGETS, Theorem41, problem_of, spec
from beyondkernels.papers.overparam.experiments.two_layers import FUNCTIONS, function_of, loss, overparameterised
from papers.judging import check_figures, finish, undecided, unshaken

EXPERIMENT = Theorem41()
SETTINGS = replace(EXPERIMENT.settings("smoke"), widths=(8, 32, 512), seeds=3)
SEEDS = (0, 1, 2)


def test_what_the_theorem_promises():
    """Excess losses that are smaller at the last width, and at every N but the first."""

    def outcome(at: At, _: Any) -> Outcome:
        wide = 0.9 if at.width == SETTINGS.widths[-1] else 1.0
        many = 1.0 if at.samples == SETTINGS.sample_sizes[0] else 0.5
        whole = bk.overparam.constant_loss(problem_of(SETTINGS, at.target, at.seed), loss())
        least = SETTINGS.noise_loss if at.target == NOISY else 0.0
        excess = 0.02 * (whole - least) * wide * many * (1 + 0.01 * at.seed)
        return Outcome("finished", {"test_loss": least + excess, "train_loss": 0.1})

    found = finish(EXPERIMENT, SETTINGS, SEEDS, outcome)
    assert unshaken(EXPERIMENT, SETTINGS, found.rows) == []
    check_figures(found, ["width", "samples"])


@pytest.mark.parametrize("scale", ["laptop", "paper"])
def test_the_width_grows_64_fold_beyond_the_samples(scale):
    s = EXPERIMENT.settings(scale)
    assert s.growth >= 64
    beyond = overparameterised(s.widths, s.dim, s.samples)
    assert beyond == tuple(m for m in s.widths if m >= 100)  # 1000 samples in 10 dimensions
    assert 1 < len(beyond) < len(s.widths)


def test_no_narrower_network_is_overparameterised():
    outcome = Outcome("finished", {"test_loss": 0.5, "train_loss": 0.1})
    few = replace(SETTINGS, samples=200, sample_sizes=(20, 200))
    assert "flat-beyond" in undecided(finish(EXPERIMENT, few, SEEDS, lambda *_: outcome))


def test_functions_are_what_their_names_say():
    z = torch.tensor([0.3], dtype=torch.float64)
    values = [torch.sin(3 * z), torch.exp(z), 1 / (1 + torch.exp(-4 * z)), z**2 + z**3]
    for name, value in zip(FUNCTIONS, values, strict=True):
        torch.testing.assert_close(function_of(name).value(z), value)


def test_noisy_labels_have_the_stated_loss():
    sample = problem_of(SETTINGS, NOISY, 3).sample(50, Stream(0))
    found = bk.algorithms.PseudoHuber().each(sample.hidden["target"].double(), sample.y.double())
    torch.testing.assert_close(found, torch.full_like(found, SETTINGS.noise_loss), rtol=1e-4, atol=1e-6)


def test_rates_go_with_the_inverse_width():
    rates = []
    for width in (8, 32):
        learner = spec(SETTINGS, At(target=TARGETS[0], width=width, samples=40, seed=0)).learner
        assert isinstance(learner, bk.engine.TrainedNetwork)
        rates.append(learner.algorithm.hyper(learner.algorithm.stages()[0], 1)["rate"])
    assert rates[0] == pytest.approx(4 * rates[1])


def test_complexities_of_the_targets():
    """ℭ(e^z, R) = e^R, and the sigmoid's series ends before R."""
    radius = math.sqrt(math.log(SETTINGS.terms / 0.01))
    (remark,) = EXPERIMENT.remarks(SETTINGS)
    assert f"{math.exp(radius):.6g} for eᶻ" in remark
    assert f"{radius**2 + radius**3:.6g} for z² + z³" in remark
    assert f"none for 1/(1 + e⁻⁴ᶻ), whose series converges within {math.pi / 4:.3g} only" in remark
