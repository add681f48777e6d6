"""Figure 4 (and 1): SGD against the least weights that compute a monomial."""

from __future__ import annotations

import functools
import math
from types import SimpleNamespace
from typing import Any

import beyondkernels as bk
from beyondkernels import lab
from beyondkernels.papers.resnet.experiments import monomial
from beyondkernels.papers.resnet.experiments.composite import CRITERIA, SEARCHED
from beyondkernels.papers.resnet.experiments.monomial import CLOSED, DESCENT, SGD, Fig4bSettings, Fig4Settings, targets
from beyondkernels.papers.resnet.paper import PAPER

FITTED = 0.12
"""How small a training error a search must meet before it can say that SGD finds nothing: the paper's largest of W*."""


class Fig4a(lab.Experiment):
    id = "resnet/fig4a"
    reference = PAPER.at("§8.2, Figures 1 and 4(a)")
    quantities = {
        **SEARCHED,
        "what": lab.Quantity("weights"),
        "choice": lab.Quantity("chosen on"),
        "epochs": lab.Quantity("epochs", within=lab.NON_NEGATIVE),
        "train_error": lab.Quantity("training error", ".3f", lab.NON_NEGATIVE, better="less"),
        "test_error": lab.Quantity("test error", ".3f", lab.NON_NEGATIVE, better="less"),
        "norm": lab.Quantity("‖W‖_F/√d", ".2f", lab.NON_NEGATIVE, log=True, heading="‖W‖/√d"),
    }
    seconds_per_run = {"smoke": 0.1, "laptop": 5.0, "paper": 500.0}
    settings_class = Fig4Settings
    scales = {
        "laptop": lab.scale(
            widths=(200, 500),
            learning_rates=(2.0, 5.0, 10.0),
            weight_decays=(1e-5, 5e-5, 2e-4),
            rate_limits=(0.5, 20.0),
            decay_limits=(2e-6, 1e-3),
            test_samples=5000,
        ),
        "smoke": monomial.SMOKE,
    }
    printed = "d40_n5000"

    @property
    def bound(self) -> float:
        """The best test error of the paper's search."""
        return PAPER.printed("figure4")["sgd_best_test"][self.printed]

    def runs(self, s: Fig4Settings) -> list[lab.Runs]:
        """W* in closed form and by descent; SGD, searched at every width and number of epochs, from both starts."""
        made = {"width": [s.construction_width]}
        path = {"learning_rate": [s.construction_rate], "weight_decay": s.construction_decays}
        aims = {"aim": [risk for risk, _ in targets()]}
        return [
            lab.Runs(monomial.spec, {"part": [CLOSED], **aims, **made}, monomial.row, seeds=1),
            lab.Runs(monomial.spec, {"part": [DESCENT], **made, **path}, monomial.row),
            lab.Searched(
                monomial.spec,
                {"part": [SGD], "epochs": s.epochs, "width": s.widths, "start": [s.start]},
                monomial.row,
                axes=lambda _: s.axes,
                criteria=CRITERIA,
                search_seeds=s.search_seeds,
                again=[lab.Again("validation", {"start": s.other_start})],
                show_search=True,
            ),
        ]

    def claims(self, s: Fig4Settings) -> list[lab.Statement]:
        return [*_existence(), *_no_test_error(s, self.bound), *_no_small_weights()]

    def table(self, s: Fig4Settings) -> lab.Table:
        return lab.Table(
            ["what", "choice", "epochs", "width", "weight_decay"],
            ["train_error", "test_error", "norm", lab.Shown("learning_rate", show="first")],
            where={"role": lambda role: role != "search"},
            more=monomial.search_lines,
        )

    def figures(self, s: Fig4Settings) -> list[lab.Picture]:
        fresh = {f"{epochs} epochs, fresh seeds": {"epochs": epochs} for epochs in s.epochs}
        return [
            lab.Drawn("norm-train", by=functools.partial(monomial.scatter, s, "train_error", "training error")),
            lab.Drawn("norm-test", by=functools.partial(monomial.scatter, s, "test_error", "test error")),
            lab.Over(
                "width",
                x="width",
                y="test_error",
                line=fresh if len(s.widths) > 1 else {},
                where=monomial.CHOSEN,
                levels={"predicting zero": 1.0, "the paper's best": self.bound},
                more=lambda rows: [monomial.search_curve(rows, epochs) for epochs in s.epochs],
            ),
        ]

    def facts(self, settings: Fig4Settings) -> Any:
        s, (error, norm) = settings, targets()[0]
        *first, last = map(str, s.epochs)
        enough = (2 * norm / 0.3) ** 2
        return SimpleNamespace(
            s=s,
            bound=self.bound,
            schedules=f"{', '.join(first)} and {last} epochs side by side" if first else f"{last} epochs",
            fitted=FITTED,
            error=error,
            norm=norm,
            gap=2 * norm * math.sqrt(s.dim) / math.sqrt(s.samples),
            enough=enough,
            enough_points=enough * s.dim,
        )

    def remarks(self, s: Fig4Settings) -> list[str]:
        least_norm, width, q = bk.resnet.least_norm, s.construction_width, monomial.DEGREE
        ours = ", ".join(f"{least_norm(risk):.2f} for R = {risk:g}" for risk, _ in targets())
        theirs = ", ".join(f"{norm:g}" for _, norm in targets())
        excess = float(bk.resnet.closed_form(width, 0.0)[0].norm()) / math.sqrt(q) / least_norm(0)
        told = {"ours": ours, "theirs": theirs, "multiple": 2**q, "width": width, "excess": excess}
        return [self.sentence(s, "least-norm", least=least_norm(0), **told)]


class Fig4b(Fig4a):
    id = "resnet/fig4b"
    title = "SGD and the least weights of a monomial: Figure 4(b)"
    reference = PAPER.at("§8.2, Figure 4(b)")
    seconds_per_run = {"smoke": 0.1, "laptop": 25.0, "paper": 1600.0}
    settings_class = Fig4bSettings
    scales = {
        "laptop": lab.scale(
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
    printed = "d100_n50000"


def _existence() -> list[lab.Statement]:
    """By seed the least norm among weights with a risk or less."""
    made = (
        ("w-star", "There are weights with {}: in closed form", CLOSED, "exact"),
        ("w-star-descent", "Gradient descent on all points of the six inputs finds weights with {}", DESCENT, ""),
    )
    return [
        lab.claim(
            f"{name}-{risk:g}",
            text.format(f"risk at most {risk:g} and ‖W‖_F/√d at most {norm:g}"),
            # the closed form has the very risk, but for the last digits
            lab.least("norm", among={"risk": lambda found, most=risk * (1 + 1e-9): found <= most}, part=part),
            lab.AtMost(norm),
            norm,
            interval=interval,
        )
        for name, text, part, interval in made
        for risk, norm in targets()
    ]


def _no_test_error(s: Fig4Settings, bound: float) -> list[lab.Statement]:
    """That no test error is below the paper's, in any schedule, in each, and with fresh seeds."""
    several = len(s.epochs) > 1
    schedules = {"": ("in any schedule" if several else "in the search", list(s.epochs))}
    schedules |= {f"-{epochs}": (f"in {epochs} epochs", [epochs]) for epochs in s.epochs if several}

    def claim(name: str, text: str, value: lab.Value, epochs: list[int], **more: Any) -> lab.Statement:
        fitted = lab.Provided(
            lab.least("train_error", per_seed=False, epochs=epochs, **monomial.SEARCH),
            lab.AtMost(FITTED),
            f"no run of the search has a training error of at most {FITTED:g}; the least is {{}}",
        )
        return lab.claim(name, text, value, lab.AtLeast(bound), paper=bound, provided=fitted, **more)

    return [
        *(
            claim(
                f"sgd-test{name}",
                f"SGD meets no test error below {bound:g} {where}",
                lab.least("test_error", per_seed=False, epochs=epochs, **monomial.SEARCH),
                epochs,
                interval=lambda rows, epochs=epochs: (
                    f"the least of {len(lab.select(rows, {**monomial.SEARCH, 'epochs': epochs}))} runs"
                ),
            )
            for name, (where, epochs) in schedules.items()
        ),
        claim(
            "sgd-fresh",
            "Trained with fresh seeds, the schedule, width and setting that validation points choose have a test "
            f"error of at least {bound:g}",
            lab.Value(monomial.fresh, quantity="test_error"),
            list(s.epochs),
        ),
    ]


def _no_small_weights() -> list[lab.Statement]:
    def words(rows: lab.Rows, risk: float) -> str:
        runs = monomial.distinct(rows)
        return f"the least of the {int((runs['train_error'] <= risk).sum())} of {len(runs)} runs with such an error"

    return [
        lab.claim(
            f"sgd-norm-{risk:g}",
            f"Every run of SGD with training error at most {risk:g} has ‖W‖_F/√d of at least {norm:g}",
            lab.least("norm", per_seed=False, part=SGD, train_error=lambda error, risk=risk: error <= risk),
            lab.AtLeast(norm),
            paper=norm,
            interval=lambda rows, risk=risk: words(rows, risk),
            nowhere="no run has so small a training error",
        )
        for risk, norm in targets()
    ]
