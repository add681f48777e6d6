"""The numbers of Figure 2: the paper's, and those that are refused."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from beyondkernels.experiments.resnet.fig2.experiment import Fig2a, Fig2b
from beyondkernels.experiments.resnet.fig2.methods import KERNELS_BY_SGD, problem_of, trained_methods
from beyondkernels.experiments.resnet.fig2.settings import Fig2aSettings, Fig2Settings

from beyondkernels.core import InputError
from beyondkernels.experiments.published import published

A, B = Fig2a(), Fig2b()


def test_the_papers_numbers() -> None:
    printed = published("resnet", "figure2")
    for experiment, n in ((A, "n_all"), (B, "n_hidden")):
        settings = experiment.settings("paper")
        names = ("dim", "outputs", "alpha", "epochs", "decay_epoch", "momentum", "batch")
        assert {name: getattr(settings, name) for name in names} == {name: printed[name] for name in names}
        assert settings.samples == printed[n]
        assert settings.widths == (20, 50, 100, 200, 500, 1000)
        assert settings.threshold == pytest.approx(printed["threshold"])
        laptop = experiment.settings("laptop")
        assert laptop.widths == (20, 50, 100, 200)
        changed = {name for name in vars(settings) if getattr(settings, name) != getattr(laptop, name)}
        coarser = {"learning_rates", "weight_decays", "kernel_rates", "kernel_decays"}
        assert changed == coarser | {"widths", "test_samples"}


def test_the_threshold_is_the_problems() -> None:
    for settings in (A.settings("paper"), A.settings("smoke"), replace(A.settings("smoke"), alpha=0.7)):
        assert settings.threshold == pytest.approx(problem_of(settings).base_only_risk, rel=1e-12)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"widths": ()}, "widths must hold increasing numbers, each once"),
        ({"widths": (20, 20)}, "widths must hold increasing numbers, each once"),
        ({"widths": (0, 20)}, "widths must be positive, got 0"),
        ({"learning_rates": (0.05, 0.02)}, "learning_rates must hold increasing numbers"),
        ({"learning_rates": (0.03,)}, "1, 2 or 5 times a power of ten, got 0.03"),
        ({"learning_rates": (-0.1, 0.1)}, "learning_rates must be positive, got -0.1"),
        ({"learning_rates": (0.05, 5.0)}, r"learning_rates must lie in \[0.001, 1.0\], got 5.0"),
        ({"decay_limits": (1.0, 0.1)}, "decay_limits must be two increasing numbers"),
        ({"batch": 501}, r"batch must not exceed samples \(500\), got 501"),
        ({"decay_epoch": 801}, r"decay_epoch must lie in \[0, 800\], got 801"),
        ({"search_seeds": 0}, "search_seeds must be positive, got 0"),
    ],
)
def test_bad_settings(changes: dict[str, Any], sentence: str) -> None:
    for settings in (Fig2Settings(), Fig2aSettings()):
        with pytest.raises(InputError, match=sentence):
            replace(settings, **changes)


def test_bad_grids_of_the_kernels() -> None:
    with pytest.raises(InputError, match="kernel_rates must hold increasing numbers"):
        replace(Fig2aSettings(), kernel_rates=(0.1, 0.05))
    with pytest.raises(InputError, match=r"kernel_decays must lie in \[0.0001, 10.0\], got 20.0"):
        replace(Fig2aSettings(), kernel_decays=(1.0, 20.0))
    with pytest.raises(InputError, match="kernel_rate_limits must be two increasing numbers"):
        replace(Fig2aSettings(), kernel_rate_limits=(1.0,))
    axes = Fig2aSettings().axes_of(KERNELS_BY_SGD[0]), Fig2aSettings().axes_of(trained_methods("all")[0])
    assert [[axis.limits for axis in pair] for pair in axes] == [
        [(1e-5, 1.0), (1e-4, 10.0)],
        [(1e-3, 1.0), (1e-4, 1.0)],
    ]
