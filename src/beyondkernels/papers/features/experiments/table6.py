"""Table 6 and Figure 16: the neurons of a network trained as usual and the centres of a mixture of Gaussians."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

import beyondkernels as bk
from beyondkernels.lab import (
    AtLeast,
    Drawn,
    Experiment,
    Figure,
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
from beyondkernels.papers.features.experiments.clusters import finished, neuron_map, over_epochs
from beyondkernels.papers.features.experiments.gaussians import (
    METHODS,
    SMALL,
    USUAL,
    Table6Settings,
    problem_of,
    row,
    spec,
)
from beyondkernels.papers.features.paper import PAPER

if TYPE_CHECKING:
    from beyondkernels.core import Outcome

DIAGONAL = "“Linear, diagonal” is the exact accuracy of the best linear classifier along a diagonal of the cube."
BOUND = "“Linear, at most” is a bound on every linear classifier. A constant classifier scores 50 %."
CHANCE = 0.01
"""How rarely the directions of a random layer reach what is called chance."""


class Table6(Experiment):
    """Coverage of the centres over epochs, in the paper's three settings."""

    id: ClassVar[str] = "features/table6"
    reference = PAPER.at("App. E.3.2, Table 6 and Figure 16")
    text_file: ClassVar[str] = "table6.md"
    seconds_per_run: ClassVar[Mapping[str, float]] = {"smoke": 0.1, "laptop": 4.0, "paper": 4.0}
    settings_class: ClassVar[type] = Table6Settings
    scales: ClassVar[Mapping[str, Scale]] = {
        "laptop": scale(seeds=3),
        "smoke": scale(
            dims=(12, 8),
            patterns=(2, 3),
            noises=(0.5, 0.5),
            middles=(1, 1),
            epochs=(2, 3),
            neurons=20,
            samples=200,
            batch=20,
            seeds=2,
            test_samples=200,
        ),
    }

    def runs(self, s: Table6Settings) -> list[Runs]:
        """Every method in every experiment."""
        return [Runs(spec, {"experiment": s.numbered, "method": METHODS}, row)]

    def claims(self, s: Table6Settings) -> list[Statement]:
        """What Figure 16 shows."""
        return [
            *(
                claim(
                    f"covered-{i}",
                    f"Experiment {i} ({s.named(i)}): after {s.epochs[i - 1]} epochs every centre is covered. Its "
                    f"nearest neuron has a cosine of at least √(1 − 1/k) = {s.bar(i):.3f}, so it lies closer than "
                    "halfway to a neighbouring centre",
                    of("least_end", method=SMALL, experiment=i),
                    AtLeast(s.bar(i)),
                    paper="covered",
                )
                for i in s.numbered
            ),
            claim(
                "grows",
                "In every experiment the least cosine over all centres is clearly larger at the end than at the start",
                of("growth", "experiment", method=SMALL),
                AtLeast(0, "clearly"),
            ),
            claim(
                "beyond-linear",
                "In every experiment the network's test accuracy is clearly above what any linear classifier reaches",
                of("ahead", "experiment", method=SMALL),
                AtLeast(0, "clearly"),
                unit="points",
            ),
        ]

    def table(self, s: Table6Settings) -> Table:
        """A line for each method in each experiment."""
        return Table(
            {"experiment": "Experiment", "method": "Method"},
            [
                Shown("test_accuracy", "Test (%)", ".2f"),
                Shown("linear_diagonal", "Linear, diagonal (%)", ".2f", show="first", about=DIAGONAL),
                Shown("linear_bound", "Linear, at most (%)", ".2f", show="first", about=BOUND),
                Shown("bayes", "Bayes (%)", ".2f", show="first"),
                Shown("least_start", "Least cosine at the start", ".3f"),
                Shown("least_middle", "in the middle", ".3f"),
                Shown("least_end", "at the end", ".3f"),
                Shown("bar", "Asked for", ".3f", show="first"),
                Shown("covered", "Centres covered (%)", ".1f"),
                Shown("near", "Neurons near a centre (%)", ".1f"),
            ],
        )

    def figures(self, s: Table6Settings) -> list[Picture]:
        """The least cosine and the accuracy over epochs, and the neurons of each experiment."""
        bars = {f"halfway to a neighbour, k = {s.patterns[i - 1]}": s.bar(i) for i in s.numbered}
        labels = {i: f"{i}: {s.named(i)}" for i in s.numbered}

        def of_networks(rows: Rows) -> dict[str, list[Outcome]]:
            return {
                f"{label}{'' if method == SMALL else ', usual start'}": finished(rows, experiment=i, method=method)
                for method in (SMALL, USUAL)
                for i, label in labels.items()
            }

        def coverage(picture: Drawn, rows: Rows) -> list[Figure]:
            label = "least over centres of the largest cosine"
            return [*over_epochs(picture.words, of_networks(rows), "coverage/least", s.steps_per_epoch, label, bars)]

        def accuracy(picture: Drawn, rows: Rows) -> list[Figure]:
            runs, label = of_networks(rows), "test accuracy (%)"
            known = [problem_of(s, i, 0) for i in s.numbered]
            bounds: dict[float, list[int]] = {}
            for k, bound in sorted({(problem.patterns, 100 * problem.linear_bound) for problem in known}):
                bounds.setdefault(bound, []).append(k)
            levels = {f"linear, k = {', '.join(map(str, ks))}": bound for bound, ks in bounds.items()}
            return [*over_epochs(picture.words, runs, "test_accuracy", s.steps_per_epoch, label, levels, 100)]

        return [
            Drawn(
                "coverage",
                "The worst covered centre over epochs",
                "For each centre the cosine with its nearest neuron, and the least of these over all centres. Level "
                "lines lie halfway between neighbouring centres. Mean over seeds, shaded from the lowest to the "
                "highest.",
                "The least cosine between a centre and its nearest neuron against the epoch, a line for each "
                "experiment and each start",
                coverage,
            ),
            *(
                Drawn(
                    f"neurons-{i}",
                    f"Where the neurons point, {s.named(i)}",
                    "Each dot is a neuron and each star a centre, placed by classical multidimensional scaling of the "
                    "cosine distance. Coloured neurons lie closer to a centre than halfway to its neighbours at the "
                    "end. First seed.",
                    "Neurons and centres in the plane at three epochs",
                    functools.partial(neurons, s, i),
                )
                for i in s.numbered
            ),
            Drawn(
                "accuracy",
                "Test accuracy over epochs",
                "The level bounds every linear classifier. Mean over seeds, shaded from the lowest to the highest.",
                "Test accuracy against the epoch, a line for each experiment and each start",
                accuracy,
            ),
        ]

    def remarks(self, s: Table6Settings) -> list[str]:
        """What can be computed before anything is trained."""
        found = []
        for i in s.numbered:
            reached = bk.features.chance_cosine(s.neurons, s.dims[i - 1], CHANCE)
            found.append(
                f"Experiment {i} ({s.named(i)}): of {s.neurons} random directions, the nearest to a given centre has "
                f"a cosine of at least {reached:.3f} with probability {CHANCE:g}; {s.bar(i):.3f} is asked for."
            )
        return found


def neurons(s: Table6Settings, experiment: int, picture: Drawn, rows: Rows) -> list[Figure]:
    """A row of Figure 16: where the neurons of the first seed point."""
    runs = finished(rows, experiment=experiment, method=SMALL)
    last = s.epochs[experiment - 1] * s.steps_per_epoch
    if not runs or runs[0].at("centre_directions/points", last, None) is None:
        return []
    run = runs[0]
    moments = {
        epoch * s.steps_per_epoch: f"after {epoch} epochs" if epoch else "at the start" for epoch in s.shown(experiment)
    }
    labels = problem_of(s, experiment, 0).centre_labels.tolist()  # the parity of a corner, in every instance
    kinds = [0 if label > 0 else 1 for label in labels]
    close = run.at("coverage/by_neuron", last) >= s.bar(experiment)
    nearest = run.at("coverage/nearest", last)
    return [
        neuron_map(
            picture.words,
            run,
            "centre_directions/points",
            moments,
            {step: f"least cosine {run.at('coverage/least', step):.3f}" for step in moments},
            ("centres of class +1", "centres of class −1"),
            [kinds[int(place)] if near else -1 for place, near in zip(nearest, close, strict=True)],
            "neurons",
            kinds,
        )
    ]
