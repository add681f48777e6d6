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
        made = [
            self._small(s, name, part, *target)
            for name, part in (("w-star", CLOSED), ("w-star-descent", DESCENT))
            for target in targets()
        ]
        several = len(s.epochs) > 1
        made.append(self._no_test_error(s, "", "in any schedule" if several else "in the search", s.epochs))
        made += [self._no_test_error(s, f"-{n}", f"in {n} epochs", (n,)) for n in s.epochs if several]
        fresh = lab.Value(monomial.fresh, quantity="test_error")
        made.append(self._unless_untrained(s, "sgd-fresh", fresh, s.epochs))
        return [*made, *(self._no_small_weights(s, *target) for target in targets())]

    def _small(self, s: Fig4Settings, name: str, part: str, risk: float, norm: float) -> lab.Statement:
        # the closed form has the very risk, but for the last digits
        least = lab.least("norm", per_seed=False, part=part, risk=lambda found: found <= risk * (1 + 1e-9))
        return self.claim(s, f"{name}-{risk:g}", least, lab.AtMost(norm), norm, name, risk=risk, norm=norm)

    def _no_test_error(self, s: Fig4Settings, name: str, where: str, epochs: tuple[int, ...]) -> lab.Statement:
        least = lab.least("test_error", per_seed=False, epochs=list(epochs), **monomial.SEARCH)

        def words(rows: lab.Rows) -> str:
            return f"the least of {len(lab.select(rows, {**monomial.SEARCH, 'epochs': list(epochs)}))} runs"

        return self._unless_untrained(s, f"sgd-test{name}", least, epochs, "sgd-test", where=where, interval=words)

    def _unless_untrained(
        self, s: Fig4Settings, name: str, value: lab.Value, epochs: tuple[int, ...], sentence: str = "", **more: Any
    ) -> lab.Statement:
        fitted = lab.Provided(
            lab.least("train_error", per_seed=False, epochs=list(epochs), **monomial.SEARCH),
            lab.AtMost(FITTED),
            f"no run of the search has a training error of at most {FITTED:g}; the least is {{}}",
        )
        return self.claim(s, name, value, lab.AtLeast(self.bound), self.bound, sentence, provided=fitted, **more)

    def _no_small_weights(self, s: Fig4Settings, risk: float, norm: float) -> lab.Statement:
        least = lab.least("norm", per_seed=False, part=SGD, train_error=lambda error: error <= risk)

        def words(rows: lab.Rows) -> str:
            runs = monomial.distinct(rows)
            return f"the least of the {int((runs['train_error'] <= risk).sum())} of {len(runs)} runs with such an error"

        told = {"risk": risk, "norm": norm, "interval": words, "nowhere": "no run has so small a training error"}
        return self.claim(s, f"sgd-norm-{risk:g}", least, lab.AtLeast(norm), norm, "sgd-norm", **told)

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
