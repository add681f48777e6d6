"""Table 1 with the strongest fixed features: converged classifiers instead of 600 steps."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import beyondkernels as bk
from beyondkernels.core import Reference
from beyondkernels.core.constraints import between
from beyondkernels.experiments.features import tables
from beyondkernels.experiments.features.table1 import ACCURACY, Table1
from beyondkernels.experiments.features.tables import TableSettings, accuracies, process_of
from beyondkernels.frame import (
    At,
    Dotted,
    Experiment,
    Picture,
    Runs,
    Scale,
    Shown,
    Size,
    Statement,
    Table,
    claim,
    of,
    setting,
)
from beyondkernels.reports import AtLeast
from beyondkernels.runs import RunSpec

if TYPE_CHECKING:
    from beyondkernels.core import Outcome

CONVERGED: dict[str, tuple[int, Literal["neurons", "tangent"]]] = {
    "Converged NTK": (0, "tangent"),
    "Converged RF": (0, "neurons"),
    "Converged One Step": (1, "neurons"),
}
"""After how many steps which features are taken."""


@dataclass(frozen=True)
class StrongSettings(TableSettings):
    """Table 1's numbers, and how far the classifiers converge."""

    tolerance: Size = setting(
        1e-4, "ours", "relative duality gap of every fit; at 1e-3 a half-solved fit can win the choice"
    )
    validation: Annotated[float, between(0, 1, "()")] = setting(
        0.2, "ours", "share of the training sample on which the ridge is chosen"
    )

    @property
    def of_table1(self) -> TableSettings:
        """The numbers that Table 1 has too: its runs are shared."""
        return TableSettings(**{field.name: getattr(self, field.name) for field in fields(TableSettings)})


class Table1Strong(Experiment):
    """The Network of Table 1 against converged classifiers on fixed features."""

    id: ClassVar[str] = "features/table1-strong"
    title: ClassVar[str] = "Parity labels: the network against converged classifiers on fixed features"
    summary: ClassVar[str] = (
        "Table 1 trains its fixed-feature methods for a set number of steps, which says as much about the schedule as "
        "about the features. Here each feature map gets the strongest linear classifier that hinge loss and a ridge "
        "can give. Its ridge is chosen on a part of the training sample, and its optimum is reached up to a stated "
        "duality gap. The Network's runs are those of features/table1."
    )
    reference: ClassVar[Reference] = Reference("features", "App. E.1.1, Table 1; Theorem 2")
    notes_file: ClassVar[str] = "table1_strong.md"
    seconds_per_run: ClassVar[Mapping[str, float]] = {"smoke": 1.0, "laptop": 150.0, "paper": 150.0}
    numbers: ClassVar[type] = StrongSettings
    scales: ClassVar[Mapping[str, Scale]] = Table1.scales

    def runs(self, s: StrongSettings) -> list[Runs]:
        """The Network and the constant as in Table 1, and a converged classifier on each feature map."""
        return [
            Runs(lambda s, at: tables.spec(s.of_table1, at), {"method": ["Network"]}, row),
            Runs(converged_spec, {"method": [*CONVERGED, "Linear"]}, row),
            Runs(lambda s, at: tables.spec(s.of_table1, at), {"method": ["Constant"]}, row),
        ]

    def claims(self, s: StrongSettings) -> list[Statement]:
        """The Network is ahead of each by at least three points."""
        network = of("test_accuracy", method="Network")
        return [
            claim(
                name.lower().replace(" ", "-"),
                f"The Network's test accuracy is ahead of the {name[0].lower() + name[1:]} by at least 3 points",
                network - of("test_accuracy", method=name),
                AtLeast(3),
                unit="points",
            )
            for name in CONVERGED
        ]

    def table(self, s: StrongSettings) -> Table:
        """A line for each method."""
        return Table(
            {"method": "Method"},
            [
                Shown("train_accuracy", "Train (%)", ".1f"),
                Shown("test_accuracy", "Test (%)", ".1f"),
                Shown("duality_gap", "Largest relative gap", ".1e", show="largest"),
            ],
        )

    def figures(self, s: StrongSettings) -> list[Picture]:
        """The table as a picture."""
        return [
            Dotted(
                "table",
                "The network and converged classifiers on fixed features",
                "Test accuracy over seeds; the vertical line is chance.",
                "The network near 100 per cent, every fixed feature map well below",
                self.table(s),
                {"test_accuracy": ACCURACY},
            )
        ]


def row(s: StrongSettings, at: At, outcome: Outcome) -> dict[str, Any]:
    """Accuracies in percent, and how far a classifier converged."""
    return {**accuracies(outcome), **{n: outcome.scalars.get(n) for n in ("ridge", "duality_gap", "converged")}}


def converged_spec(s: StrongSettings, at: At) -> RunSpec:
    """The strongest classifier on a feature map."""
    base = s.of_table1
    features: Any = bk.kernels.InputFeatures()
    if at.method in CONVERGED:
        # the features are taken before our own rate would matter, so they do not depend on it
        rule = bk.algorithms.FeatureLearning(process_of(base, at.seed, own_schedule=False))
        features = bk.engine.NetworkFeatures(bk.networks.TwoLayer(s.pairs), rule, *CONVERGED[at.method])
    learner = bk.kernels.FixedFeatureClassifier(features, tolerance=s.tolerance, validation=s.validation)
    return replace(tables.spec(base, at.with_(method="Network")), learner=learner, measurements=())
