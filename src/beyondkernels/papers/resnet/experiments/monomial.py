"""What Figure 4 is made of: its settings, W* in closed form and by descent, SGD on a sample, and all runs as marks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Literal

import beyondkernels as bk
from beyondkernels import lab
from beyondkernels.core.constraints import at_least, at_most, between, even, not_empty, positive
from beyondkernels.papers.resnet.experiments.composite import SearchSettings
from beyondkernels.papers.resnet.paper import PAPER

Start = Literal["1/m", "1/d"]
Evens = Annotated[lab.Counts, even]

CLOSED, DESCENT, SGD = "closed form", "W*", "SGD"

SEARCH: dict[str, Any] = {"part": SGD, "role": "search"}
CHOSEN = {"part": SGD, "role": "chosen", "choice": "validation"}
"""The rows of the search, and those of what validation points choose."""

DEGREE = 6  # q, the degree of the monomial

_NOT_STATED = "not stated in the paper"
_TRAINED = "layer1.weight"


@dataclass(frozen=True)
class Fig4Settings(SearchSettings):
    dim: Annotated[int, at_least(DEGREE)] = lab.setting(40, "paper", "d")
    samples: lab.Count = lab.setting(5000, "paper", "N")
    widths: Evens = lab.setting((200, 500, 1000, 2000, 5000, 10_000, 20_000, 50_000, 100_000), "paper", "m, each even")
    epochs: Evens = lab.setting((800, 3200), "ours", f"each with a search of its own; {_NOT_STATED}; §8.1 has 800")
    batch: lab.Count = lab.setting(50, "ours", f"that of §8.1; {_NOT_STATED}")
    momentum: Annotated[float, between(0, 1, "[)")] = lab.setting(0.9, "ours", f"that of §8.1; {_NOT_STATED}")
    start: Start = lab.setting("1/m", "ours", f"variance of the weights, that of §8.1; {_NOT_STATED}")
    learning_rates: lab.Sizes = lab.setting(
        (0.5, 1.0, 2.0, 5.0, 10.0), "ours", "to begin with; the paper names only the set {1, 2, 5}·10^k"
    )
    weight_decays: lab.Sizes = lab.setting((5e-6, 1e-5, 2e-5, 5e-5, 1e-4, 2e-4), "ours", "to begin with")
    rate_limits: lab.Sizes = lab.setting((0.05, 50.0), "ours", "the grid does not grow beyond")
    decay_limits: lab.Sizes = lab.setting((1e-7, 1e-2), "ours", "the grid does not grow beyond")
    search_seeds: lab.Seeds = lab.setting(1, "ours", f"1000, 1001, …: for the search alone; {_NOT_STATED}")
    seeds: lab.Count = lab.setting(3, "ours", f"0, 1, 2, …: for the chosen ones and W*; {_NOT_STATED}")
    construction_width: Annotated[int, at_least(64), even, at_most(100_000)] = lab.setting(200, "paper", "m of W*")
    construction_steps: lab.Count = lab.setting(
        10_000, "ours", "of gradient descent on all 64 points; the rate falls by 10 half-way"
    )
    construction_rate: lab.Size = lab.setting(10.0, "ours")
    construction_decays: Annotated[tuple[float, ...], positive, not_empty] = lab.setting(
        (1.5e-3, 1.2e-3, 1e-3, 9e-4, 8e-4, 7e-4, 5e-4, 4e-4, 3e-4, 2e-4, 1e-4, 5e-5), "ours", "the path of W*"
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        batch, samples = self.batch, self.samples
        bk.core.require(batch <= samples, f"batch must not exceed samples ({samples}), got {batch}")

    @property
    def other_start(self) -> Start:
        return "1/d" if self.start == "1/m" else "1/m"


@dataclass(frozen=True)
class Fig4bSettings(Fig4Settings):
    dim: Annotated[int, at_least(DEGREE)] = lab.setting(100, "paper", "d")
    samples: lab.Count = lab.setting(50_000, "paper", "N")
    widths: Evens = lab.setting((200, 500, 1000, 2000, 5000, 10_000, 20_000, 50_000), "paper", "m, each even")
    epochs: Evens = lab.setting((200, 800), "ours", f"each with a search of its own; {_NOT_STATED}; §8.1 has 800")
    batch: lab.Count = lab.setting(100, "paper")
    weight_decays: lab.Sizes = lab.setting(
        (1e-8, 1e-7, 1e-6, 1e-5, 5e-5, 2e-4), "ours", "to begin with; a wide network fits the sample from 10⁻⁷ down"
    )
    decay_limits: lab.Sizes = lab.setting((1e-8, 1e-2), "ours", "the grid does not grow beyond")


SMOKE = lab.scale(
    dim=8,
    samples=200,
    widths=(8, 16),
    epochs=(4, 8),
    batch=20,
    learning_rates=(0.1, 0.5),
    weight_decays=(1e-4, 1e-3),
    rate_limits=(0.1, 1.0),
    decay_limits=(1e-4, 2e-3),
    seeds=2,
    validation_samples=100,
    test_samples=200,
    construction_width=64,
    construction_steps=400,
    construction_decays=(1e-3, 3e-4),
)


def targets() -> list[tuple[float, float]]:
    """The paper's errors and norms of W*.

    >>> targets()
    [(0.12, 9.7), (0.037, 12.5), (0.011, 13.8)]
    """
    printed = PAPER.printed("figure4")
    return list(zip(printed["error"], printed["norm_over_sqrt_d"], strict=True))


def spec(s: Fig4Settings, at: lab.At) -> bk.store.RunSpec:
    """W* in closed form, W* by descent on all points of the six relevant inputs (footnote 16), or SGD on a sample."""
    problem = bk.resnet.Monomial(s.dim)
    if at.part == CLOSED:  # the seed only draws the points it is looked at
        return bk.store.RunSpec(problem, bk.resnet.ClosedForm(at.width, at.aim), 1, s.test_samples, at.seed)
    if at.part == DESCENT:
        steps = s.construction_steps
        learner = _trained(s, at, DEGREE, s.start, steps, steps // 2)
        return bk.store.RunSpec(bk.resnet.AllPoints(DEGREE), learner, 2**DEGREE, 2**DEGREE, at.seed)
    in_epoch = s.samples // s.batch
    learner = _trained(s, at, s.dim, at.start, at.epochs * in_epoch, at.epochs // 2 * in_epoch, s.batch)
    return bk.store.RunSpec(problem, learner, s.samples, s.test_samples, at.seed, (), s.validation_samples)


def _trained(
    s: Fig4Settings, at: lab.At, dim: int, start: Start, steps: int, drop: int, batch: int | None = None
) -> bk.core.Learner:
    """aᵀσ(Wx) with a of ±1/√m, half of each sign, and W, the part that is trained, from N(0, 1/m) or N(0, 1/d)."""
    variance = 1 / at.width if start == "1/m" else 1 / dim
    scales = bk.networks.Parameterisation("standard", weight_variance=variance, input_fan_in=1)
    network = bk.networks.FullyConnected(at.width, depth=2, parameterisation=scales, readout="signs")
    rule = bk.algorithms.GradientDescent(
        steps, at.learning_rate, batch, s.momentum, at.weight_decay, "hidden", bk.algorithms.Squared(), (drop,)
    )
    return bk.measure.NormedNetwork(network, rule, snapshot_at=(steps,), snapshot_names=(_TRAINED,), backend=s.backend)


def row(s: Fig4Settings, at: lab.At, outcome: bk.core.Outcome) -> dict[str, Any]:
    """Errors and norm; the risk of W*, which is the error that all points of its dimension have."""
    found = outcome.scalars
    errors = {f"{name}_error": found.get(f"{name}_loss") for name in ("train", "test")}
    if at.part == SGD:
        what = "SGD" if at.start == s.start else "SGD from the other start"
        errors["validation_error"] = found.get("validation_loss")
        return {"what": what, **errors, "norm": norm_of(outcome, s.dim)}
    if at.part == CLOSED:
        what, risk, norm = f"W* in closed form, R = {at.aim:g}", found.get("risk"), found.get("norm")
    else:
        what, risk, norm = "W* by descent", found.get("test_loss"), norm_of(outcome, DEGREE)
    return {"what": what, "role": "made", "risk": risk, **errors, "norm": norm, "start": s.start}


def norm_of(outcome: bk.core.Outcome, dim: int) -> float | None:
    """‖W‖_F/√d at the end; None if the run diverged."""
    if outcome.status != "finished":
        return None
    return outcome.at(f"norm/{_TRAINED}", int(outcome.scalars["steps"])) / dim**0.5


def fresh(rows: lab.Rows) -> lab.Series:
    """With fresh seeds, the schedule, width, rate and decay that have the least validation error in the search."""
    chosen = lab.select(rows, CHOSEN)
    if "search_error" in chosen:
        chosen = chosen.dropna(subset=["search_error"])
    if chosen.empty:
        return chosen.reindex(columns=["test_error"])["test_error"].astype(float)
    best = chosen.loc[chosen["search_error"].idxmin()]
    names = ["epochs", "width", "learning_rate", "weight_decay"]
    return lab.select(chosen, {name: best[name] for name in names}).set_index("seed")["test_error"].astype(float)


def distinct(rows: lab.Rows) -> lab.Rows:
    """Each run of SGD once: what both choices choose has two rows."""
    names = ["role", "epochs", "width", "start", "learning_rate", "weight_decay", "seed"]
    return lab.select(rows, {"part": SGD}).drop_duplicates(names)


def search_lines(rows: lab.Rows) -> list[dict[str, Any]]:
    """The search's best at each number of epochs and width."""
    search, lines = lab.select(rows, SEARCH), []
    for (epochs, width), mine in search.groupby(["epochs", "width"], sort=False) if len(search) else ():
        there = mine.dropna(subset="test_error")
        if len(there):
            best = there.loc[there["test_error"].idxmin()]
            lost = len(mine) - len(there)
            numbers = {name: best[name] for name in ("train_error", "test_error", "norm", "learning_rate")}
            place = {"what": "SGD, the search's best", "choice": "test", "epochs": str(epochs), "width": str(width)}
            remark = f"of {len(mine)} runs" + (f", {lost} diverged" if lost else "")
            lines.append({**place, "weight_decay": f"{best['weight_decay']:g}", **numbers, "remark": remark})
    return lines


def search_curve(rows: lab.Rows, epochs: int) -> lab.Line:
    """The least test error that the search met, over width."""
    found = lab.select(rows, {"role": "search", "epochs": epochs}).groupby("width", sort=False)["test_error"].min()
    return lab.Line(f"{epochs} epochs, search", list(found.index), found.to_list())


def scatter(s: Fig4Settings, error: str, words: str, picture: lab.Drawn, rows: lab.Rows) -> list[lab.Figure]:
    runs = distinct(rows).dropna(subset="norm") if len(rows) else rows
    if runs.empty:
        return []

    def marks(label: str, mine: lab.Rows, hollow: bool = False) -> lab.Marks:
        there = mine.dropna(subset="norm")
        return lab.Marks(label, there["norm"].to_list(), there[error].to_list(), hollow)

    risks, norms = zip(*targets(), strict=True)
    least_norm = bk.resnet.least_norm
    first = min(1.0, runs["norm"].min())
    # the line's norms are evenly spaced on a logarithmic axis, from the smallest one on
    curve = [(1 - (first / least_norm(0)) ** (i / 100)) ** 2 for i in range(101)]
    return [
        lab.Scatter(
            **picture.words,
            marks=[
                *(marks(f"SGD, {epochs} epochs", lab.select(runs, {"epochs": epochs})) for epochs in s.epochs),
                marks("W* by descent on all points", lab.select(rows, {"part": DESCENT}), True),
                lab.Marks("the paper's W*", norms, risks, hollow=True),
            ],
            lines=[lab.Line("lower bound on the norm", [least_norm(risk) for risk in curve], curve)],
            x_label="‖W‖_F/√d",
            y_label=words,
            x_scale="log",
        )
    ]
