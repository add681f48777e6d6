"""Theorem 4.1: a wider network needs no more samples."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import beyondkernels as bk
from beyondkernels import lab
from beyondkernels.papers.overparam.experiments import two_layers
from beyondkernels.papers.overparam.experiments.common import Several
from beyondkernels.papers.overparam.paper import PAPER

NOISY = f"{two_layers.SINE}, noisy labels"
TARGETS = (*two_layers.FUNCTIONS, NOISY)
"""Ground truths: φ, and one of them with label noise."""

EPSILON = 0.01  # ε at which the complexity of the targets is written out
LEARNT = 0.1  # a target is learnt when the excess loss is at most this part of what the mean label leaves


@dataclass(frozen=True)
class Theorem41Settings(two_layers.TwoLayerSettings):
    dim: lab.Count = lab.setting(10, "ours", "d")
    widths: Several = lab.setting((64, 128, 256, 512, 1024, 2048, 4096, 8192), "ours", "m")
    samples: lab.Count = lab.setting(1000, "ours", "N while m varies")
    width: lab.Count = lab.setting(1024, "ours", "m while N varies")
    sample_sizes: lab.Counts = lab.setting((125, 250, 500, 1000, 2000, 4000), "ours", "N")
    noise_loss: lab.Size = lab.setting(0.02, "ours", "ε₀ of the noisy labels")
    noisy_rate: lab.Size = lab.setting(0.1, "ours", "η m ε_a² for noisy labels; chosen on seeds and truths 100 and 101")

    def __post_init__(self) -> None:
        bk.core.require(self.width in self.widths, f"width must be one of widths = {self.widths}, got {self.width}")
        words = f"sample_sizes must hold samples = {self.samples} and at least another number, got {self.sample_sizes}"
        bk.core.require(self.samples in self.sample_sizes and len(self.sample_sizes) > 1, words)

    @property
    def growth(self) -> float:
        return self.widths[-1] / self.widths[0]


class Theorem41(lab.Experiment):
    id = "overparam/theorem41"
    reference = PAPER.at("§4.1, Theorem 4.1, Algorithm 1")
    quantities = {
        "target": lab.Quantity("φ"),
        "excess": lab.Quantity(
            "excess test loss", ".2e", log=True, better="less", about="Test loss minus ε₀, that of the ground truth."
        ),
        **two_layers.LOSSES,
        "relative": lab.Quantity("relative", ".1e", about=two_layers.RELATIVE),
    }
    seconds_per_run = {"smoke": 0.1, "laptop": 0.7, "paper": 1.5}
    settings_class = Theorem41Settings
    scales = {
        "laptop": lab.scale(**two_layers.LAPTOP, widths=(64, 256, 1024, 4096), test_samples=10_000),
        "smoke": lab.scale(**two_layers.SMOKE, widths=(8, 32), width=32, dim=4, terms=2, steps=100),
    }

    def runs(self, s: Theorem41Settings) -> list[lab.Runs]:
        others = [n for n in s.sample_sizes if n != s.samples]
        return [
            lab.Runs(spec, {"target": list(TARGETS), "width": s.widths, "samples": [s.samples]}, row),
            lab.Runs(spec, {"target": list(TARGETS), "width": [s.width], "samples": others}, row),
        ]

    def claims(self, s: Theorem41Settings) -> list[lab.Statement]:
        def at(column: str, samples: int, width: int) -> lab.Value:
            return lab.of(column, "target", samples=samples, width=width)

        beyond = two_layers.overparameterised(s.widths, s.dim, s.samples)
        (first, *_, last), (few, *_, many) = s.widths, s.sample_sizes
        wider = at("excess", s.samples, last) / at("excess", s.samples, first)
        widest = two_layers.widest_over("excess", beyond, "target", samples=s.samples)
        more = at("excess", many, s.width) / at("excess", few, s.width)
        flat, nowhere = (
            lab.AtMost(1.0),
            "no narrower network has as many trained weights as samples",
        )
        return [
            self.claim(s, "flat", wider, flat, "N need not grow with m"),
            self.claim(s, "flat-beyond", widest, flat, "N need not grow with m ≥ M", nowhere=nowhere),
            self.claim(s, "samples", more, lab.Below(1.0), "ε falls with N", few=few, many=many),
            self.claim(s, "learnt", at("relative", s.samples, last), lab.AtMost(LEARNT), "ε₀ + ε"),
        ]

    def table(self, s: Theorem41Settings) -> lab.Table:
        return lab.Table(["target", "width", "samples"], ["excess", "relative", "train_loss"])

    def remarks(self, s: Theorem41Settings) -> list[str]:
        words = f"M is a polynomial of the complexity ℭ(φ, √log(p/ε)). With its constant C = 1 and ε = {EPSILON:g} it"
        found = "; ".join(complexity_of(s, name) for name in two_layers.FUNCTIONS)
        return [f"{words} is {found}. With the paper's example C = 10⁴ it would be beyond any width that can be run."]

    def figures(self, s: Theorem41Settings) -> list[lab.Over]:
        over: dict[str, Any] = {"y": "excess", "line": "target"}
        return [
            lab.Over("width", x="width", where={"samples": s.samples}, **over),
            lab.Over("samples", x="samples", where={"width": s.width}, **over),
        ]


def complexity_of(s: Theorem41Settings, name: str) -> str:
    """ℭ(φ, √log(p/ε)) with the constant C = 1 in words, or where the series converges."""
    series, radius = bk.activations.taylor_series(two_layers.function_of(name)), math.sqrt(math.log(s.terms / EPSILON))
    if series.radius <= radius:
        return f"none for {name}, whose series converges within {series.radius:.3g} only"
    return f"{bk.activations.smooth_complexity(series, radius, star=1.0)} for {name}"


def problem_of(s: Theorem41Settings, target: str, seed: int) -> bk.overparam.TwoLayerTruth:
    noisy, inputs = target == NOISY, bk.overparam.UnitInputs(s.dim)
    function = two_layers.function_of(two_layers.SINE if noisy else target)
    noise = bk.overparam.label_noise(two_layers.loss(), s.noise_loss) if noisy else 0.0
    return bk.overparam.TwoLayerTruth(inputs, function, terms=s.terms, noise=noise, instance=seed)


def spec(s: Theorem41Settings, at: lab.At) -> bk.store.RunSpec:
    rate = s.noisy_rate if at.target == NOISY else s.rate
    problem = problem_of(s, at.target, at.seed)
    return bk.store.RunSpec(problem, two_layers.algorithm1(s, at.width, rate), at.samples, s.test_samples, at.seed)


def row(s: Theorem41Settings, at: lab.At, outcome: bk.core.Outcome) -> dict[str, float | None]:
    """Losses above those of the ground truth, ε₀."""
    least, test = s.noise_loss if at.target == NOISY else 0.0, outcome.scalars.get("test_loss")
    excess = None if test is None else test - least
    return {"excess": excess, **two_layers.relative_losses(problem_of(s, at.target, at.seed), outcome, least)}
