"""Lemmas G.5 and 5.9: the Rademacher complexity of networks near the start, exactly, over width and sample size."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

import beyondkernels as bk
from beyondkernels import lab
from beyondkernels.papers.overparam.experiments.common import Closed, Points, Several, Steps, size
from beyondkernels.papers.overparam.experiments.near_networks import NearSettings, learner_of, truth_of
from beyondkernels.papers.overparam.paper import PAPER

SLOPE, SLACK = -0.5, 0.05
"""How the complexity falls with N, and by how much a fitted slope may differ from it, or pass 0 in m (ours)."""

NARROW: dict[str, Any] = {"widths": (256, 1024, 4096), "deep_widths": (64, 128, 256, 512)}
FEWER: dict[str, Any] = {"samples": (50, 100, 200, 500), "draws": 60, "test_samples": 2000}
TINY: dict[str, Any] = {"widths": (32, 128), "deep_widths": (8, 16), "samples": (20, 40), "width": 32, "deep_width": 8}
"""Networks and samples of the smaller scales."""

OVER_WIDTH, OVER_SAMPLES = "width", "samples"
"""What a series of runs varies."""

LEMMAS = {2: ("G.5", "B", "the radius 1/m"), 3: ("5.9", "ε_a", "the radii m^(-3/4) and 1, without the start's part,")}
"""By layers: the lemma, what its Õ is read as, and the radii of the checks, with the powers of m of the proofs."""


@dataclass(frozen=True)
class RademacherSettings(NearSettings):
    widths: Several = lab.setting((256, 1024, 4096, 16_384), "ours", "m of two layers")
    deep_widths: Several = lab.setting((64, 128, 256, 512, 1024), "ours", "m₁ = m₂ of three layers")
    samples: lab.Counts = lab.setting((50, 100, 200, 500, 1000), "ours", "N")
    width: lab.Count = lab.setting(1024, "ours", "m of two layers where N varies")
    deep_width: lab.Count = lab.setting(128, "ours", "m₁ = m₂ of three layers where N varies")
    fixed_samples: lab.Count = lab.setting(200, "ours", "N where m varies")
    noise: Closed = lab.setting(0.1, "ours", "label noise, so that there is something to overfit")
    rate: lab.Size = lab.setting(1.0, "ours", "η = rate/(m ε_a²) of Algorithm 1, as in overparam/coupling")
    signed_rate: lab.Size = lab.setting(3.0, "ours", "the same of Algorithm 2; tried with truth and seed 100")
    batch: lab.Count = lab.setting(
        20, "ours", "points in a step of Algorithm 2, which share their signs; the paper has 1"
    )
    steps: Steps = lab.setting(5000, "ours", "T of both")
    draws: Points = lab.setting(200, "ours", "of signs ξ")
    test_samples: lab.Count = lab.setting(5000, "ours")
    seeds: lab.Seeds = lab.setting(10, "ours", "0, 1, 2, …: each has a ground truth, a start and a sample of its own")
    backend: lab.Backend = lab.setting("compiled", "ours", "needs a C++ compiler; eager does without, more slowly")

    def __post_init__(self) -> None:
        least = min(self.fixed_samples, *self.samples)
        bk.core.require(
            self.batch <= least, f"batch must be at most the least number of samples, {least}, got {self.batch}"
        )


class Rademacher(lab.Experiment):
    id = "overparam/rademacher"
    reference = PAPER.at("Lemmas G.5 and 5.9")
    quantities = {
        "layers": lab.Quantity("layers"),
        "over": lab.Quantity("varies"),
        "complexity": size("complexity", ".2e", "Exact supremum, mean over drawn signs."),
        "complexity_bound": size("bound", ".2e", "The lemma's right side."),
        "complexity_ratio": size("Of bound", ".2g", "Complexity over bound."),
        "gap": lab.Quantity("loss gap", ".2e", about="Test loss minus training loss."),
        "gap_ratio": lab.Quantity("Of twice", ".1g", about="Loss gap over twice the complexity."),
        "unit_complexity": size("At fixed radii", ".2e", "The complexity of which slopes are checked."),
        "complexity_error": size("error", ".0e", "The standard error of the draws in the complexity."),
        "real_complexity": lab.Quantity("real", ".2e", about="The real network at the pseudo network's maximiser."),
        "start_complexity": size("start", ".2e", "What the start gives, in Lemma 5.9 alone."),
        "complexity_room": size("bound over complexity"),
        "real_room": lab.Quantity("bound over the real network's value"),
        "gap_room": lab.Quantity("twice the complexity minus the gap"),
        "both": lab.Quantity("complexity, gap of the loss", log=True),
    }
    seconds_per_run = {"smoke": 0.1, "laptop": 3.0, "paper": 40.0}
    seed_sets = lab.THREE_SETS
    settings_class = RademacherSettings
    scales = {
        "laptop": lab.scale(**NARROW, **FEWER, width=256, deep_width=64, steps=2000, seeds=5),
        "smoke": lab.scale("laptop", **TINY, fixed_samples=20, batch=5, steps=20, draws=5, test_samples=50, seeds=2),
    }

    def runs(self, s: RademacherSettings) -> list[lab.Runs]:
        found = []
        for layers, widths, width in ((2, s.widths, s.width), (3, s.deep_widths, s.deep_width)):
            for over, m, n in ((OVER_WIDTH, widths, [s.fixed_samples]), (OVER_SAMPLES, [width], s.samples)):
                found.append(lab.Runs(spec, {"layers": [layers], "over": [over], "width": m, "samples": n}, row))
        return found

    def claims(self, s: RademacherSettings) -> list[lab.Statement]:
        def slope(column: str, layers: int, axis: str = OVER_WIDTH) -> lab.Value:
            return lab.of(column, axis, over=axis, layers=layers).slope()

        def in_every_run(column: str, layers: int) -> lab.Value:
            return lab.least(column, per_seed=False, layers=layers)

        logs, grows = "0 up to logarithms", lab.AtMost(SLACK)
        real = ("the real network at the pseudo network's maximiser has the slope", slope("real_complexity", 2))
        made = [
            self.claim(s, "reached-2", slope("complexity", 2), grows, logs, beside=real),
            self.claim(s, "readout-2", slope("per_readout", 2), grows, "0"),
            self.claim(s, "reached-3", slope("increment_complexity", 3), grows, logs),
            *(
                self.claim(s, f"gap-{k}", in_every_run("gap_room", k), lab.AtLeast(0.0), None, "gap", layers=k)
                for k in LEMMAS
            ),
            self.claim(s, "real", in_every_run("real_room", 2), lab.AtLeast(1.0), "Õ(1)"),
        ]
        flat, falls = lab.Between(-SLACK, SLACK), lab.Between(SLOPE - SLACK, SLOPE + SLACK)
        for k, (lemma, constant, radii) in LEMMAS.items():
            room, over_samples = in_every_run("complexity_room", k), slope("unit_complexity", k, OVER_SAMPLES)
            told = {"lemma": lemma, "constant": constant, "radii": radii}
            made += [
                self.claim(s, f"bound-{k}", room, lab.AtLeast(1.0), "Õ(1)", "bound", **told),
                self.claim(s, f"samples-{k}", over_samples, falls, SLOPE, "samples", **told),
                self.claim(s, f"width-{k}", slope("unit_complexity", k), flat, logs, "width", **told),
            ]
        return made

    def table(self, s: RademacherSettings) -> lab.Table:
        reached = ["complexity", "complexity_bound", "complexity_ratio", "gap", "gap_ratio"]
        others = ["unit_complexity", "complexity_error", "real_complexity", "start_complexity"]
        return lab.Table(["layers", "over", "width", "samples"], [*reached, *others])

    def figures(self, s: RademacherSettings) -> list[lab.Picture]:
        columns = {"complexity": "complexity", "complexity_bound": "bound", "gap": "gap of the loss"}
        caption = "With the radii that training reached. Two layers: Lemma G.5; three layers: Lemma 5.9."
        words = {OVER_WIDTH: "the width m", OVER_SAMPLES: "the sample size N"}

        def lines(axis: str) -> dict[str, dict[str, Any]]:
            every = itertools.product(LEMMAS, columns.items())
            return {f"{k} layers, {label}": {"layers": k, "over": axis, "y": y} for k, (y, label) in every}

        return [
            lab.Over(axis, f"Rademacher complexity over {of}", caption, x=axis, y="both", line=lines(axis))
            for axis, of in words.items()
        ]


def spec(s: RademacherSettings, at: lab.At) -> bk.store.RunSpec:
    """Two layers by Algorithm 1, three by Algorithm 2 with random signs, with the complexity measured at the end."""
    learner = learner_of(s, at, rule_of(s, at), (0, s.steps), s.backend)
    measurements = (bk.overparam.RademacherComplexity(s.draws),)
    return bk.store.RunSpec(truth_of(s, at.seed, s.noise), learner, at.samples, s.test_samples, at.seed, measurements)


def rule_of(s: RademacherSettings, at: lab.At) -> bk.algorithms.Algorithm:
    """Algorithm 1; or Algorithm 2 with L2 alone: no smoothing (W^ρ = V^ρ = 0), no penalties, λ = 1."""
    loss, unit = bk.algorithms.PseudoHuber(), at.width * s.output_std**2
    if at.layers == 2:
        return bk.overparam.TwoLayerSGD(s.steps, s.rate / unit, loss=loss)
    bare = bk.overparam.ThreeLayerSettings()
    return bk.overparam.ThreeLayerSGD(bare, s.steps, s.signed_rate / unit, "L2", s.batch, loss)


def row(s: RademacherSettings, at: lab.At, outcome: bk.core.Outcome) -> dict[str, Any]:
    if outcome.status != "finished":
        return {}
    found: dict[str, Any] = dict(outcome.scalars)
    bound, whole = found["complexity_bound"], found["complexity"]
    found["gap"] = found["test_loss"] - found["train_loss"]
    found["gap_ratio"] = _over(found["gap"], 2 * whole)
    found["gap_room"] = 2 * whole - found["gap"]
    found["complexity_ratio"], found["complexity_room"] = _over(whole, bound), _over(bound, whole)
    if at.layers == 2:
        real = found["real_complexity"]
        found["real_ratio"], found["real_room"] = _over(real, bound), _over(bound, real)
        found["increment_complexity"] = whole
        found["per_readout"] = _over(whole, found.get("largest_readout", 0.0))
    return found


def _over(above: float, below: float) -> float | None:
    """A ratio, where there is one: a network that has not moved has none."""
    return above / below if below else None
