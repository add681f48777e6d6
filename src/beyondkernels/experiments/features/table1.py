"""Table 1 and Figures 1, 2, 5, 6: the network learns the parity, fixed features do not."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from beyondkernels.core import Reference
from beyondkernels.experiments.features import pictures
from beyondkernels.experiments.features.tables import METHODS, TableSettings, problem_of, process_of, row, spec
from beyondkernels.experiments.published import by_method
from beyondkernels.frame import (
    Dotted,
    Drawn,
    Experiment,
    OverTime,
    Picture,
    Runs,
    Scale,
    Scope,
    Shown,
    Statement,
    Table,
    claim,
    of,
    scale,
)
from beyondkernels.reports import AtLeast, AtMost, Between

ACCURACY = Scope("test accuracy (%)", (45.0, 102.0), chance=50.0)
SMOKE = scale(dim=30, patterns=20, relevant=3, pairs=16, samples=2000, steps=40, batch=200, seeds=2, test_samples=1000)
ROUNDING = (
    "Here the weight decay cancels the initial weights exactly. In single precision its rounding error is larger than "
    "the step. How the printed value came about is not known."
)


class Table1(Experiment):
    """Parity labelling with six methods and their counterparts without structure."""

    id: ClassVar[str] = "features/table1"
    title: ClassVar[str] = "Parity labels: a network learns the features, fixed features do not"
    summary: ClassVar[str] = (
        "Inputs are sums of hidden patterns. The label is the parity of {{relevant}} relevant ones among {{patterns}}. "
        "A two-layer network trained by the learning process (4) finds their common direction in two gradient steps "
        "and then the parity. The same network with its first layer frozen at random (RF), linearised (NTK) or frozen "
        "after one step does not. With the input structure removed nothing learns."
    )
    reference: ClassVar[Reference] = Reference("features", "App. E.1.1, Table 1, Figures 1, 2, 5 and 6")
    notes_file: ClassVar[str] = "table1.md"
    seconds_per_run: ClassVar[Mapping[str, float]] = {"smoke": 0.3, "laptop": 15.0, "paper": 15.0}
    numbers: ClassVar[type] = TableSettings
    scales: ClassVar[Mapping[str, Scale]] = {"smoke": SMOKE}

    def runs(self, s: TableSettings) -> list[Runs]:
        """Every method with every seed."""
        return [Runs(spec, {"method": list(METHODS)}, row)]

    def claims(self, s: TableSettings) -> list[Statement]:
        """The table's sentences."""
        printed = by_method("features", "table1", "test_accuracy")

        def accuracy(name: str, text: str, method: str, test: AtLeast | AtMost | Between) -> Statement:
            return claim(name, text, of("test_accuracy", method=method), test, paper=printed.get(method), unit="%")

        return [
            accuracy("network", "The Network's test accuracy is at least 99.5 %", "Network", AtLeast(99.5)),
            accuracy("two-step", "Two Step's test accuracy is at least 99.5 %", "Two Step", AtLeast(99.5)),
            accuracy(
                "one-step",
                "One Step, its readout trained by the Network's own schedule, stays at or below 60 %",
                "One Step",
                AtMost(60),
            ),
            accuracy("rf", "RF as trained lies between 66 and 86 %", "RF", Between(66, 86)),
            accuracy("ntk", "NTK as trained lies between 70 and 95 %", "NTK", Between(70, 95)),
            claim(
                "cosine",
                "After step two the best aligned neuron has a cosine of at least 0.99 with ±Σ Mⱼ",
                of("cosine_either_step2", method="Network"),
                AtLeast(0.99),
                paper=by_method("features", "table1", "cosine").get("Network"),
            ),
            *(
                accuracy(
                    f"{name.lower()}-unstructured",
                    f"Without input structure {name} stays at or below 56 %",
                    f"{name} w/o structure",
                    AtMost(56),
                )
                for name in ("Network", "NTK", "RF")
            ),
        ]

    def table(self, s: TableSettings) -> Table:
        """A line for each method beside the printed values."""
        memorise = f"At these rates {s.steps} steps do not suffice to memorise {s.samples:,} points."
        return Table(
            {"method": "Method"},
            [
                Shown(quantity, heading, form, paper=by_method("features", "table1", quantity), tolerance=near, why=why)
                for quantity, heading, form, near, why in (
                    ("train_accuracy", "Train (%)", ".1f", 2.0, {"Network w/o structure": memorise}),
                    ("test_accuracy", "Test (%)", ".1f", 2.0, {}),
                    ("cosine", "Cosine", ".3f", 0.01, {"One Step": ROUNDING}),
                )
            ],
        )

    def figures(self, s: TableSettings) -> list[Picture]:
        """Accuracy over steps, neuron directions, cosines, and the table as a picture."""
        linear = problem_of(s, 0).linear_accuracy
        return [
            OverTime(
                "accuracy",
                "Test accuracy over steps",
                "The readout's steps are large at first and fade, so Network and Two Step swing before they settle. "
                "The fixed features settle lower, and without input structure nothing leaves chance.",
                "Test accuracy of eight methods against the step on a logarithmic axis",
                y="test_accuracy",
                factor=100,
                line="method",
                where={"method": lambda name: name != "Network, one rate"},
                x_label="step",
                y_label="test accuracy (%)",
                x_scale="log",
                y_limits=(45, 102),
                levels={} if linear is None else {"best linear classifier": 100 * linear},
            ),
            Drawn(
                "directions",
                "Where the neurons point",
                "Each dot is a neuron, placed by classical multidimensional scaling of the cosine distance. The stars "
                "are the ground truth ±Σ Mⱼ. Coloured dots are the neurons nearest to a star after step two. First "
                "seed.",
                "Neurons scattered at initialisation gather at the two ground-truth directions after one and two steps",
                pictures.neuron_directions,
            ),
            Drawn(
                "cosines",
                "Alignment of all neurons with the ground truth",
                "Distribution of |cos(wᵢ, Σ Mⱼ)| over the neurons of the first seed. Step one aligns all of them; what "
                "step two improves are the neurons that lag behind.",
                "Cosines close to zero at initialisation, close to one after step one and closer after step two",
                pictures.cosine_distribution,
            ),
            Dotted(
                "table",
                "Accuracy and cosine of each method",
                "Dots are means over seeds, bars reach from the lowest to the highest seed.",
                "Test accuracy and cosine of each method",
                self.table(s),
                {"test_accuracy": ACCURACY, "cosine": Scope("largest cosine", (0.0, 1.02))},
            ),
        ]

    def remarks(self, s: TableSettings) -> list[str]:
        """How the problem stands to the paper's assumptions, and the case to Theorem 26's hypotheses."""
        assumptions = [str(found) for found in problem_of(s, 0).assumptions() if found.name in ("A0", "A1", "A2")]
        hypotheses = [str(found) for found in process_of(s, 0).hypotheses]
        return [
            f"The data against the paper's assumptions: {'; '.join(assumptions)}.",
            f"Theorem 26 at these numbers, its hidden constants taken as one, δ = ε = 0.1: {'; '.join(hypotheses)}.",
        ]
