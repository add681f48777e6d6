"""Figure 4 (and 1): SGD against the least weights that compute a monomial."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, ClassVar

import beyondkernels as bk
from beyondkernels.lab import (
    Again,
    AtLeast,
    AtMost,
    Drawn,
    Experiment,
    Figure,
    Line,
    Marks,
    Over,
    Picture,
    Provided,
    Rows,
    Runs,
    Scale,
    Scatter,
    Searched,
    Series,
    Shown,
    Statement,
    Table,
    Value,
    claim,
    least,
    scale,
    select,
)
from beyondkernels.papers.resnet.experiments import monomial
from beyondkernels.papers.resnet.experiments.monomial import Fig4bSettings, Fig4Settings, targets
from beyondkernels.papers.resnet.experiments.searching import CRITERIA
from beyondkernels.papers.resnet.paper import PAPER

FITTED = 0.12
"""How small a training error a search must meet before it can say that SGD finds nothing: the paper's largest of W*."""

CLOSED, DESCENT, SGD = "closed form", "W*", "SGD"


class Fig4a(Experiment):
    """d = 40, N = 5000."""

    id: ClassVar[str] = "resnet/fig4a"
    reference = PAPER.at("§8.2, Figures 1 and 4(a)")
    text_file: ClassVar[str] = "fig4.md"
    symbols: ClassVar[Mapping[str, str]] = {"width": "width"}
    seconds_per_run: ClassVar[Mapping[str, float]] = {"smoke": 0.1, "laptop": 5.0, "paper": 500.0}
    settings_class: ClassVar[type] = Fig4Settings
    scales: ClassVar[Mapping[str, Scale]] = {
        "laptop": scale(
            widths=(200, 500),
            learning_rates=(2.0, 5.0, 10.0),
            weight_decays=(1e-5, 5e-5, 2e-4),
            rate_limits=(0.5, 20.0),
            decay_limits=(2e-6, 1e-3),
            test_samples=5000,
        ),
        "smoke": monomial.SMOKE,
    }
    printed: ClassVar[str] = "d40_n5000"

    @property
    def bound(self) -> float:
        """The best test error of the paper's search."""
        return PAPER.printed("figure4")["sgd_best_test"][self.printed]

    def runs(self, s: Fig4Settings) -> list[Runs]:
        """W* in closed form and by descent; SGD, searched at every width and number of epochs, from both starts."""
        width = [s.construction_width]
        risks, rate = [risk for risk, _ in targets()], [s.construction_rate]
        return [
            Runs(
                monomial.closed_form_spec,
                {"part": [CLOSED], "aim": risks, "width": width},
                monomial.closed_form_row,
                seeds=1,
            ),
            Runs(
                monomial.descent_spec,
                {"part": [DESCENT], "width": width, "learning_rate": rate, "weight_decay": s.construction_decays},
                monomial.descent_row,
            ),
            Searched(
                monomial.sgd_spec,
                {"part": [SGD], "epochs": s.epochs, "width": s.widths, "start": [s.start]},
                monomial.sgd_row,
                axes=lambda _: s.axes,
                criteria=CRITERIA,
                search_seeds=s.search_seeds,
                again=[Again("validation", {"start": s.other_start})],
                show_search=True,
            ),
        ]

    def claims(self, s: Fig4Settings) -> list[Statement]:
        """W* exists, in closed form and by descent; SGD finds no such weights, and none that generalises."""
        bound, several = self.bound, len(s.epochs) > 1
        fitted = Provided(
            least("train_error", per_seed=False, part=SGD, role="search"),
            AtMost(FITTED),
            f"no run of the search has a training error of at most {FITTED:g}; the least is {{}}",
        )
        in_closed_form = "There are weights with risk at most {:g} and ‖W‖_F/√d at most {:g}: in closed form"
        by_descent = (
            "Gradient descent on all points of the six inputs finds weights with risk at most {:g} and ‖W‖_F/√d at "
            "most {:g}"
        )
        made = [
            claim(
                f"{name}-{risk:g}", text.format(risk, norm), _least_norm(risk, part), AtMost(norm), norm, interval=exact
            )
            for name, text, part, exact in (
                ("w-star", in_closed_form, CLOSED, "exact"),
                ("w-star-descent", by_descent, DESCENT, ""),
            )
            for risk, norm in targets()
        ]
        schedules = {"": ("in any schedule" if several else "in the search", list(s.epochs))}
        schedules |= {f"-{epochs}": (f"in {epochs} epochs", [epochs]) for epochs in s.epochs if several}
        for name, (where, epochs) in schedules.items():
            search = {"part": SGD, "role": "search", "epochs": epochs}
            made.append(
                claim(
                    f"sgd-test{name}",
                    f"SGD meets no test error below {bound:g} {where}",
                    least("test_error", per_seed=False, **search),
                    AtLeast(bound),
                    paper=bound,
                    interval=lambda rows, search=search: f"the least of {len(select(rows, search))} runs",
                    provided=replace(fitted, value=least("train_error", per_seed=False, **search)),
                )
            )
        made.append(
            claim(
                "sgd-fresh",
                "Trained with fresh seeds, the schedule, width and setting that validation points choose have a test "
                f"error of at least {bound:g}",
                Value(_fresh, None, (0.0, math.inf)),
                AtLeast(bound),
                paper=bound,
                provided=fitted,
            )
        )
        made += [
            claim(
                f"sgd-norm-{risk:g}",
                f"Every run of SGD with training error at most {risk:g} has ‖W‖_F/√d of at least {norm:g}",
                least("norm", per_seed=False, part=SGD, train_error=lambda error, risk=risk: error <= risk),
                AtLeast(norm),
                paper=norm,
                interval=lambda rows, risk=risk: _with_error(rows, risk),
                nowhere="no run has so small a training error",
            )
            for risk, norm in targets()
        ]
        return made

    def table(self, s: Fig4Settings) -> Table:
        """W*, what the search met, and the chosen ones."""
        return Table(
            {"what": "Weights", "choice": "Chosen on", "epochs": "Epochs", "width": "Width", "weight_decay": "Decay"},
            [
                Shown("train_error", "Training error", ".3f"),
                Shown("test_error", "Test error", ".3f"),
                Shown("norm", "‖W‖/√d", ".2f"),
                Shown("learning_rate", "Rate", "g", show="first"),
            ],
            where={"role": lambda role: role != "search"},
            more=_search_lines,
        )

    def figures(self, s: Fig4Settings) -> list[Picture]:
        """Norm against training error and against test error, and test error over width."""
        zero = {"predicting zero": 1.0, "the paper's best": self.bound}
        also = {
            "train": "a training error may lie left of it",
            "test": "a test error, being over finitely many points, may lie slightly left of it by chance",
        }
        words = {"train": "training error", "test": "test error"}
        fresh = {f"{epochs} epochs, fresh seeds": {"epochs": epochs} for epochs in s.epochs}
        return [
            *(
                Drawn(
                    f"norm-{which}",
                    f"Norm and {words[which]}",
                    "A mark for each run that did not diverge: those of the search, and the chosen settings with fresh "
                    "seeds from both starts. The line is a lower bound on the norm of weights with that risk, the mean "
                    f"error over all points; {also[which]}. What W* does on six inputs it does on any number.",
                    f"{words[which].capitalize()} against the norm of the weights on a logarithmic scale: a mark for "
                    "each run of SGD, hollow marks for W*, and a line for the lower bound on the norm",
                    lambda picture, rows, which=which: _scatter(picture, rows, s, f"{which}_error"),
                )
                for which in ("train", "test")
            ),
            Over(
                "width",
                "Test error over width",
                "The least error that the search met, and the error of the setting chosen on validation points with "
                "fresh seeds.",
                "Test error over width for each number of epochs, in the search and with fresh seeds",
                x="width",
                y="test_error",
                line=fresh if len(s.widths) > 1 else {},
                where={"part": SGD, "role": "chosen", "choice": "validation"},
                x_label="width m",
                y_label="test error",
                x_scale="log",
                levels=zero,
                more=lambda rows: [_search_curve(rows, epochs) for epochs in s.epochs],
            ),
        ]

    def facts(self, settings: Fig4Settings) -> Any:
        """The settings, the paper's numbers, and what its bound on the generalisation gap comes to."""
        s, (error, norm) = settings, targets()[0]
        *first, last = map(str, s.epochs)
        schedules = f"{', '.join(first)} and {last} epochs side by side" if first else f"{last} epochs"
        enough = (2 * norm / 0.3) ** 2
        return SimpleNamespace(
            s=s,
            bound=self.bound,
            schedules=schedules,
            fitted=FITTED,
            error=error,
            norm=norm,
            gap=2 * norm * math.sqrt(s.dim) / math.sqrt(s.samples),
            enough=enough,
            enough_points=enough * s.dim,
        )

    def remarks(self, s: Fig4Settings) -> list[str]:
        """The lower bound on norms."""
        least_norm = bk.resnet.least_norm
        ours = ", ".join(f"{least_norm(risk):.2f} for R = {risk:g}" for risk, _ in targets())
        theirs = ", ".join(f"{norm:g}" for _, norm in targets())
        width, q = s.construction_width, monomial.DEGREE
        excess = float(bk.resnet.closed_form(width, 0.0)[0].norm()) / math.sqrt(q) / least_norm(0)
        return [
            (
                f"No network of this kind with risk R has ‖W‖_F/√d below {least_norm(0):.2f}·(1 − √R), at any width "
                f"and dimension (the proof stands in papers/resnet/theory/minimal_norm.py): that is {ours}, where the "
                f"paper's W* have {theirs}. The closed form reaches it at widths that are multiples of {2**q}; "
                f"at width {width} it needs {excess:.4f} times as much."
            )
        ]


class Fig4b(Fig4a):
    """d = 100, N = 50,000."""

    id: ClassVar[str] = "resnet/fig4b"
    title: ClassVar[str] = "SGD and the least weights of a monomial: Figure 4(b)"
    reference = PAPER.at("§8.2, Figure 4(b)")
    seconds_per_run: ClassVar[Mapping[str, float]] = {"smoke": 0.1, "laptop": 25.0, "paper": 1600.0}
    settings_class: ClassVar[type] = Fig4bSettings
    scales: ClassVar[Mapping[str, Scale]] = {
        "laptop": scale(
            widths=(200, 1000),
            epochs=(200,),
            learning_rates=(2.0, 10.0),
            weight_decays=(1e-8, 1e-7, 1e-6, 1e-5, 1e-4),
            rate_limits=(0.5, 20.0),
            decay_limits=(1e-8, 1e-3),
            test_samples=5000,
        ),
        "smoke": monomial.SMOKE,
    }
    printed: ClassVar[str] = "d100_n50000"


def _least_norm(risk: float, part: str) -> Value:
    """For each seed the least norm among weights with that risk or less."""
    most = risk * (1 + 1e-9)  # the closed form has the very risk, but for the last digits
    return least("norm", among={"risk": lambda found: found <= most}, part=part)


def _fresh(rows: Rows) -> Series:
    """With fresh seeds, the schedule, width, rate and decay that have the least validation error in the search."""
    chosen = select(rows, {"part": SGD, "role": "chosen", "choice": "validation"})
    if chosen.empty:
        return chosen.reindex(columns=["test_error"])["test_error"].astype(float)
    best = chosen.loc[chosen["search_error"].idxmin()]
    names = ["epochs", "width", "learning_rate", "weight_decay"]
    return select(chosen, {name: best[name] for name in names}).set_index("seed")["test_error"].astype(float)


def _distinct(rows: Rows) -> Rows:
    """Each run of SGD once: what both choices choose has two rows."""
    names = ["role", "epochs", "width", "start", "learning_rate", "weight_decay", "seed"]
    return select(rows, {"part": SGD}).drop_duplicates(names)


def _with_error(rows: Rows, risk: float) -> str:
    runs = _distinct(rows)
    return f"the least of the {int((runs['train_error'] <= risk).sum())} of {len(runs)} runs with such an error"


def _search_lines(rows: Rows) -> list[dict[str, Any]]:
    """The search's best at each number of epochs and width."""
    search, lines = select(rows, {"part": SGD, "role": "search"}), []
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


def _search_curve(rows: Rows, epochs: int) -> Line:
    """The least test error that the search met, over width."""
    found = select(rows, {"role": "search", "epochs": epochs}).groupby("width", sort=False)["test_error"].min()
    return Line(f"{epochs} epochs, search", list(found.index), found.to_list())


def _scatter(picture: Drawn, rows: Rows, s: Fig4Settings, error: str) -> list[Figure]:
    """Figure 4: every run of SGD as a mark, and the weights that exist."""
    runs = _distinct(rows).dropna(subset="norm") if len(rows) else rows
    if runs.empty:
        return []

    def marks(label: str, mine: Rows, hollow: bool = False) -> Marks:
        there = mine.dropna(subset="norm")
        return Marks(label, there["norm"].to_list(), there[error].to_list(), hollow)

    risks, norms = zip(*targets(), strict=True)
    least_norm = bk.resnet.least_norm
    most, first = least_norm(0), min(1.0, runs["norm"].min())
    # the line's norms are evenly spaced on a logarithmic axis, from the smallest one on
    curve = [(1 - (first / most) ** (i / 100)) ** 2 for i in range(101)]
    return [
        Scatter(
            **picture.words,
            marks=[
                *(marks(f"SGD, {epochs} epochs", select(runs, {"epochs": epochs})) for epochs in s.epochs),
                marks("W* by descent on all points", select(rows, {"part": DESCENT}), True),
                Marks("the paper's W*", norms, risks, hollow=True),
            ],
            lines=[Line("lower bound on the norm", [least_norm(risk) for risk in curve], curve)],
            x_label="‖W‖_F/√d",
            y_label=error.replace("train_error", "training error").replace("_", " "),
            x_scale="log",
        )
    ]
