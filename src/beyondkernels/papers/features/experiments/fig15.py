"""Figure 15: the neurons under hidden-representation labelling."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from beyondkernels.lab import (
    AtLeast,
    Drawn,
    Experiment,
    Figure,
    OverTime,
    Picture,
    Rows,
    Runs,
    Scale,
    Shown,
    Statement,
    Table,
    claim,
    of,
    scale,
)
from beyondkernels.papers.features.experiments.clusters import finished, neuron_map
from beyondkernels.papers.features.experiments.representation import (
    METHODS,
    MOMENTS,
    NETWORK,
    Fig15Settings,
    expected_cosine,
    problem_of,
    row,
    spec,
)
from beyondkernels.papers.features.paper import PAPER

ALONG = "“Along means” is the exact accuracy of the best threshold of the direction that joins the class means."
COSINES = "The cosines are means of |cos| over all neurons: at initialisation, after step one, after step two."
BEST = "“Best linear” is the exact accuracy of the best linear classifier; – where it is not known."
TOGETHER = 0.9
"""The mean |cosine| from which neurons are said to form two clusters."""


class Fig15(Experiment):
    """Neurons after no, one and two steps, and what the network learns then."""

    id: ClassVar[str] = "features/fig15"
    reference = PAPER.at("App. E.3.1, Figure 15")
    text_file: ClassVar[str] = "fig15.md"
    seconds_per_run: ClassVar[Mapping[str, float]] = {"smoke": 0.2, "laptop": 8.0, "paper": 8.0}
    settings_class: ClassVar[type] = Fig15Settings
    scales: ClassVar[Mapping[str, Scale]] = {
        "laptop": scale(seeds=3),
        "smoke": scale(
            dim=30,
            patterns=20,
            relevant=8,
            per_label=4,
            pairs=16,
            samples=300,
            steps=20,
            batch=100,
            seeds=2,
            test_samples=200,
        ),
    }

    def runs(self, s: Fig15Settings) -> list[Runs]:
        """Every method with every seed."""
        return [Runs(spec, {"method": METHODS}, row)]

    def claims(self, s: Fig15Settings) -> list[Statement]:
        """The words beneath Figure 15."""
        return [
            claim(
                "clusters",
                "After step two the neurons form two clusters: the mean over all neurons of |cos| with the direction "
                f"that joins the class means is at least {TOGETHER:g}",
                of("together_2", method=NETWORK),
                AtLeast(TOGETHER),
                paper="form clusters",
            ),
            claim(
                "one-step",
                "The neurons begin to gather in step one: the mean |cos| is clearly larger than at initialisation",
                of("together_1", method=NETWORK) - of("together_0", method=NETWORK),
                AtLeast(0, "clearly"),
            ),
            claim(
                "improves",
                "Step two brings the neurons closer together: the mean |cos| is clearly larger than after step one",
                of("together_2", method=NETWORK) - of("together_1", method=NETWORK),
                AtLeast(0, "clearly"),
            ),
        ]

    def table(self, s: Fig15Settings) -> Table:
        """A line for each method."""
        return Table(
            {"method": "Method"},
            [
                Shown("train_accuracy", "Train (%)", ".1f"),
                Shown("test_accuracy", "Test (%)", ".1f"),
                Shown("together_0", "|cos| at first", ".3f", about=COSINES),
                Shown("together_1", "step one", ".3f"),
                Shown("together_2", "step two", ".3f"),
                Shown("along_means", "Along means (%)", ".1f", about=ALONG),
                Shown("best_linear", "Best linear (%)", ".1f", about=BEST),
            ],
        )

    def figures(self, s: Fig15Settings) -> list[Picture]:
        """The neurons, and accuracy over steps."""
        return [
            Drawn(
                "directions",
                "Where the neurons point",
                "Each dot is a neuron, placed by classical multidimensional scaling of the cosine distance. The stars "
                "are the two directions from the mean of one class to the mean of the other. Coloured dots have a "
                f"cosine of at least {TOGETHER:g} with a star after step two. First seed.",
                "Neurons and two opposite stars in the plane at initialisation, after one step and after two steps",
                neurons,
            ),
            OverTime(
                "accuracy",
                "Test accuracy over steps",
                "The first two steps are the figure's. The later ones train all weights on batches.",
                "Test accuracy of the network against the step on a logarithmic axis",
                y="test_accuracy",
                factor=100,
                line="method",
                x_label="step",
                y_label="test accuracy (%)",
                x_scale="log",
                levels={"constant": 50.0},
            ),
        ]

    def remarks(self, s: Fig15Settings) -> list[str]:
        """How the problem stands to the theory."""
        problem = problem_of(s, 0)
        relevant = problem.moments.correlations[list(problem.relevant_set)]
        between = f"{relevant.min():.3f} and {relevant.max():.3f}"
        assumption = (
            f"(A1) fails: the correlations of the relevant patterns with the label lie between {between} in the first "
            f"seed. Theorem 26's formulas take their root mean square, {problem.moments.typical_gamma:.4f}, for γ."
        )
        sampling = (
            f"The mean of yx over {s.samples:,} points has a cosine of about {expected_cosine(s, 0):.4f} with its "
            "expectation, the direction that joins the class means (first seed)."
        )
        return [assumption, sampling]


def neurons(picture: Drawn, rows: Rows) -> list[Figure]:
    """Figure 15 for the first seed."""
    runs = finished(rows, method=NETWORK)
    if not runs or runs[0].at("directions/points", 2, None) is None:
        return []
    run = runs[0]
    means = {step: float(abs(run.at("alignment/cosines", step)).mean()) for step in MOMENTS}
    return [
        neuron_map(
            picture.words,
            run,
            "directions/points",
            MOMENTS,
            {step: f"mean |cos| {mean:.3f}" for step, mean in means.items()},
            ("from class −1 to +1", "from class +1 to −1"),
            [0 if c >= TOGETHER else 1 if c <= -TOGETHER else -1 for c in run.at("alignment/cosines", 2)],
            "neurons",
        )
    ]
