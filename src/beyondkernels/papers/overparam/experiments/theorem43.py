"""Theorem 4.3: the generalisation gap of Algorithm 2 over the width, with random signs and without."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Annotated, Any

import beyondkernels as bk
from beyondkernels import lab
from beyondkernels.core.constraints import not_negative
from beyondkernels.papers.overparam.experiments.common import Open, Several, size
from beyondkernels.papers.overparam.experiments.theorem42 import ONE, SHORT, TARGETS, Frequency
from beyondkernels.papers.overparam.experiments.two_layers import RELATIVE, loss
from beyondkernels.papers.overparam.paper import PAPER

PLAIN, SIGNED = "L1", "L2"
OBJECTIVES = (PLAIN, SIGNED)
"""The objective (13), and the objective (14) with random signs on the increments."""

GAP = f"Test loss minus training loss. {RELATIVE}"

LEARNT = 0.2  # a target is learnt when the test loss is at most this part of what the mean label leaves (ours)


@dataclass(frozen=True)
class Theorem43Settings(bk.core.Checked):
    """The paper has no experiment, so all numbers are ours."""

    dim: lab.Count = lab.setting(6, "ours", "d")
    frequency: Frequency = lab.setting(
        3.0, "ours", "c of both targets; chosen on truth and seed 100, with 101 beside it"
    )
    inner_terms: lab.Count = lab.setting(2, "ours", "p₂ of the product of sums")
    samples: lab.Count = lab.setting(300, "ours", "N, small enough for a gap that can be seen")
    widths: Several = lab.setting((16, 32, 64, 128, 256, 512, 1024), "ours", "m₁ = m₂ = m")
    rate: lab.Size = lab.setting(8.0, "ours", "η m where m is large; chosen on truths and seeds 100 and 101")
    largest_rate: Open = lab.setting(0.1, "ours", "η where m is small, chosen with rate")
    steps: lab.Count = lab.setting(8000, "ours", "T; chosen on truths and seeds 100 to 102")
    batch: lab.Count = lab.setting(50, "ours", "points in a step, which share their noise and signs; the paper has 1")
    first_radius: lab.Size = lab.setting(400.0, "ours", "τ'_w m^(3/4), which Lemma 5.3 keeps fixed; chosen with rate")
    second_radius: lab.Size = lab.setting(60.0, "ours", "τ_v, which Lemma 5.3 keeps fixed; chosen with rate")
    smoothing: Annotated[float, not_negative] = lab.setting(0.05, "ours", "σ_v √m; Lemma 5.3 has (ε')^Θ(1)")
    gradient_noise: Annotated[float, not_negative] = lab.setting(
        1.0, "ours", "σ_n m²; the paper says that this noise may not be necessary"
    )
    epsilon: Open = lab.setting(0.1, "ours", "ε of the waiting time T_w")
    wait_constant: lab.Size = lab.setting(10.0, "ours", "the constant in the Θ of T_w")
    draws: lab.Count = lab.setting(10, "ours", "noise matrices that the output is chosen from; the paper has Θ(1/ε²)")
    test_samples: lab.Count = lab.setting(10_000, "ours")
    seeds: lab.Seeds = lab.setting(10, "ours", "0, 1, 2, …: each has ground truths of its own")
    backend: lab.Backend = lab.setting(
        "eager", "ours", "compiled is faster for narrow networks, but not for the widest"
    )

    def __post_init__(self) -> None:
        bk.core.require(
            self.steps > 1, f"steps must be at least 2, because norms are read before the last, got {self.steps}"
        )

    @property
    def growth(self) -> float:
        return self.widths[-1] / self.widths[0]


class Theorem43(lab.Experiment):
    id = "overparam/theorem43"
    reference = PAPER.at("§4.2, Theorems 4.2 and 4.3, Algorithm 2")
    quantities = {
        **{name: lab.Quantity(name) for name in ("target", "objective")},
        "gap": lab.Quantity("test loss − training loss, relative", ".3f", about=GAP, heading="Gap"),
        "test": size("relative test loss", ".3f", RELATIVE, heading="Test loss", log=True, better="less"),
        "train": size("relative training loss", ".3f", RELATIVE, heading="Training loss"),
        "w_norm": size("‖W‖₂,₄", ".2f", "One step before the end."),
        "w_radius": size("τ'_w", ".3g"),
        "v_norm": size("‖V‖_F", ".2f", "One step before the end."),
        "v_radius": size("τ_v", ".3g"),
        "bound": size("bound", ".3g", "On the gap, from the measured norms, with all constants read as 1.", log=True),
        "scale": size("λ_T", ".3f"),
        "chosen": size("draw", ".1f"),
        "inside": size("norm over radius"),
    }
    seconds_per_run = {"smoke": 0.1, "laptop": 20.0, "paper": 40.0}
    settings_class = Theorem43Settings
    scales = {
        "laptop": lab.scale(widths=(8, 32, 128, 512), gradient_noise=0.0, test_samples=5000, seeds=5),
        "smoke": lab.scale(widths=(4, 16), samples=20, steps=20, batch=5, draws=2, test_samples=50, seeds=2),
    }

    def runs(self, s: Theorem43Settings) -> list[lab.Runs]:
        return [lab.Runs(spec, {"target": list(TARGETS), "objective": list(OBJECTIVES), "width": s.widths}, row)]

    def claims(self, s: Theorem43Settings) -> list[lab.Statement]:
        def at(column: str, objective: str, width: int = s.widths[-1]) -> lab.Value:
            return lab.of(column, "target", objective=objective, width=width)

        claim, ends = (
            functools.partial(self.claim, s, first=s.widths[0], last=s.widths[-1]),
            (s.widths[0], s.widths[-1]),
        )
        first, last = (at("train", SIGNED, m) - at("train", PLAIN, m) for m in ends)
        grown = at("gap", SIGNED) - at("gap", SIGNED, ends[0])
        raised = at("test", SIGNED) / at("test", SIGNED, ends[0])
        above = at("gap", SIGNED) - at("gap", PLAIN)
        same, radii = "N need not grow with m", "‖W‖₂,₄ ≤ τ'_w and ‖V‖_F ≤ τ_v"
        made = [
            claim("gap", grown, lab.AtMost(0.0), same),
            claim("test-loss", raised, lab.AtMost(1.0), same),
            claim("below-plain", above, lab.AtMost(0.0), "better sample efficiency"),
            claim("learnt", at("test", SIGNED), lab.AtMost(LEARNT), "(1 + γ)ε₀ + ε"),
            claim("signs", last / first, lab.Below(1.0), "Lemma 5.8"),
            claim("radii", lab.of("inside", "run").largest(), lab.AtMost(1.0), radii),
        ]
        for short, target in SHORT.items():
            signed, plain = (
                lab.of("bound", "width", target=target, objective=each).slope() for each in (SIGNED, PLAIN)
            )
            most, name = lab.Below(0.0), f"{short}-bound"
            made.append(claim(name, signed - plain, most, "0 against 1", "bound", target=target))
        return made

    def table(self, s: Theorem43Settings) -> lab.Table:
        chosen = lab.Shown("chosen", about=f"Number of the chosen noise matrix, 0 to {s.draws - 1}.")
        w, v = (lab.Shown(f"{each}_radius", show="first") for each in ("w", "v"))
        columns = ["gap", "test", "train", "w_norm", w, "v_norm", v, "bound", "scale", chosen]
        return lab.Table(["target", "objective", "width"], columns)

    def remarks(self, s: Theorem43Settings) -> list[str]:
        m, sizes = s.widths[-1], {"terms": (1, s.inner_terms), "samples": s.samples}
        theirs = bk.overparam.lemma53(s.epsilon, m, rate=rate_of(s, m), steps=s.steps, **sizes)
        (w, v), missed = theirs.radii, "; ".join(map(str, theirs.missed))
        return [self.sentence(s, "lemma", m=m, w=w, v=v, missed=missed)]

    def figures(self, s: Theorem43Settings) -> list[lab.Over]:
        lines = {f"{one}, {target}": {"objective": one, "target": target} for target in TARGETS for one in OBJECTIVES}
        return [lab.Over(name, x="width", y=name, line=lines) for name in ("gap", "test", "bound")]


def rate_of(s: Theorem43Settings, width: int) -> float:
    return min(s.largest_rate, s.rate / width)


def settings_of(s: Theorem43Settings, width: int) -> bk.overparam.ThreeLayerSettings:
    """The powers of m of Lemma 5.3, with our numbers in the place of its (ε')^Θ(1)."""
    wait = bk.overparam.waiting_time(rate_of(s, width), s.steps, s.epsilon, constant=s.wait_constant)
    noise, radii = {"smoothing": s.smoothing, "gradient_noise": s.gradient_noise}, (s.first_radius, s.second_radius)
    return bk.overparam.with_powers(width, radii=radii, wait=wait, draws=s.draws, **noise)


def problem_of(s: Theorem43Settings, target: str, seed: int) -> bk.overparam.ThreeLayerTruth:
    wave, terms = bk.activations.Cosine(s.frequency), 1 if target == ONE else s.inner_terms
    inputs = bk.overparam.UnitInputs(s.dim)
    return bk.overparam.ThreeLayerTruth(inputs, "identity", wave, wave, outer_terms=1, inner_terms=terms, instance=seed)


def spec(s: Theorem43Settings, at: lab.At) -> bk.store.RunSpec:
    """One run; norms are recorded before the last step, because afterwards the noise matrix is part of the weights."""
    m, settings = at.width, settings_of(s, at.width)
    rule = bk.overparam.ThreeLayerSGD(settings, s.steps, rate_of(s, m), at.objective, s.batch, loss=loss())
    kept = {"record_at": (s.steps - 1,), "record_points": 1}
    learner = bk.engine.TrainedNetwork(bk.overparam.ThreeLayerLearner(m), rule, **kept, backend=s.backend)
    return bk.store.RunSpec(problem_of(s, at.target, at.seed), learner, s.samples, s.test_samples, at.seed)


def row(s: Theorem43Settings, at: lab.At, outcome: bk.core.Outcome) -> dict[str, Any]:
    """Losses over that of the mean label, the norms at the end beside their radii, and the bound on the gap."""
    m, radii = at.width, settings_of(s, at.width).radii
    line: dict[str, Any] = {"run": f"{at.objective}, {at.target}, m = {m}", "w_radius": radii[0], "v_radius": radii[1]}
    if outcome.status != "finished":
        return line
    found, whole = outcome.scalars, bk.overparam.constant_loss(problem_of(s, at.target, at.seed), loss())
    w, v = norms = float(outcome.series["rule/w_norm"][-1]), float(outcome.series["rule/v_norm"][-1])
    signed, plain = bk.overparam.three_layer_bound, bk.overparam.spectral_bound
    bound = signed(s.samples, (m, m), norms) if at.objective == SIGNED else plain(s.samples, m, norms)
    line |= {"train": found["train_loss"] / whole, "test": found["test_loss"] / whole}
    line |= {"gap": line["test"] - line["train"], "w_norm": w, "v_norm": v, "bound": bound}
    return line | {"inside": max(w / radii[0], v / radii[1]), "scale": found["scale"], "chosen": found["chosen"]}
