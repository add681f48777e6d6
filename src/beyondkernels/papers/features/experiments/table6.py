"""Table 6 and Figure 16: the neurons of a network trained as usual and the centres of a mixture of Gaussians."""

from __future__ import annotations

import functools
from dataclasses import replace
from typing import Any

import beyondkernels as bk
from beyondkernels import lab
from beyondkernels.papers.features.experiments.gaussians import METHODS, SMALL, Table6Settings, problem_of, row, spec
from beyondkernels.papers.features.experiments.pictures import DOTS, OverEpochs, first_run, neuron_map
from beyondkernels.papers.features.experiments.tables import ACCURACIES, percent
from beyondkernels.papers.features.paper import PAPER

DIAGONAL = "“Linear, diagonal” is the exact accuracy of the best linear classifier along a diagonal of the cube."
BOUND = "“Linear, at most” is a bound on every linear classifier. A constant classifier scores 50 %."
CHANCE = 0.01  # how rarely the directions of a random layer reach what is called chance
SMALL_EXPERIMENTS = {"dims": (12, 8), "patterns": (2, 3), "noises": (0.5, 0.5), "middles": (1, 1), "epochs": (2, 3)}
COSINE = functools.partial(lab.Quantity, format=".3f", within=(-1.0, 1.0))


class Table6(lab.Experiment):
    id = "features/table6"
    reference = PAPER.at("App. E.3.2, Table 6 and Figure 16")
    quantities = {
        "test_accuracy": replace(ACCURACIES["test_accuracy"], format=".2f"),
        "linear_diagonal": percent("Linear, diagonal", ".2f", DIAGONAL),
        "linear_bound": percent("Linear, at most", ".2f", BOUND),
        "bayes": percent("Bayes", ".2f"),
        "least_start": COSINE("least cosine at the start"),
        "least_middle": COSINE("least cosine in the middle", heading="in the middle"),
        "least_end": COSINE("least cosine at the end", heading="at the end"),
        "coverage/least": COSINE("least over centres of the largest cosine"),
        "bar": COSINE("asked for"),
        "covered": percent("centres covered"),
        "near": percent("neurons near a centre"),
    }
    seconds_per_run = {"smoke": 0.1, "laptop": 4.0, "paper": 4.0}
    settings_class = Table6Settings
    seed_sets = {"laptop": (0, 500, 1000)}
    scales = {
        "laptop": lab.scale(seeds=3),
        "smoke": lab.scale(**SMALL_EXPERIMENTS, neurons=20, samples=200, batch=20, seeds=2, test_samples=200),
    }

    def runs(self, s: Table6Settings) -> list[lab.Runs]:
        return [lab.Runs(spec, {"experiment": s.numbered, "method": METHODS}, row)]

    def claims(self, s: Table6Settings) -> list[lab.Statement]:
        found = ("least_start", "least_end", "test_accuracy", "linear_bound")
        start, end, accuracy, linear = (lab.of(column, "experiment", method=SMALL) for column in found)
        made, above = [], lab.Above(0)
        for i in s.numbered:
            least, told = lab.of("least_end", method=SMALL, experiment=i), {"name": s.named(i), "bar": s.bar(i)}
            told |= {"i": i, "epochs": s.epochs[i - 1]}
            made.append(self.claim(s, f"covered-{i}", least, lab.AtLeast(s.bar(i)), "covered", "covered", **told))
        return [
            *made,
            self.claim(s, "grows", end - start, above),
            self.claim(s, "beyond-linear", accuracy - linear, above),
        ]

    def table(self, s: Table6Settings) -> lab.Table:
        given = (lab.Shown(name, show="first") for name in ("linear_diagonal", "linear_bound", "bayes"))
        cosines = ("least_start", "least_middle", "least_end", lab.Shown("bar", show="first"))
        return lab.Table(["experiment", "method"], ["test_accuracy", *given, *cosines, "covered", "near"])

    def figures(self, s: Table6Settings) -> list[lab.Picture]:
        networks = {
            f"{i}: {s.named(i)}{'' if method == SMALL else ', usual start'}": {"experiment": i, "method": method}
            for method in METHODS
            for i in s.numbered
        }
        bounds: dict[float, set[int]] = {}
        for problem in (problem_of(s, i, 0) for i in s.numbered):
            bounds.setdefault(100 * problem.linear_bound, set()).add(problem.patterns)
        over: dict[str, Any] = {"line": networks, "steps_per_epoch": s.steps_per_epoch}
        return [
            OverEpochs(
                "coverage",
                y="coverage/least",
                levels={f"halfway to a neighbour, k = {s.patterns[i - 1]}": s.bar(i) for i in s.numbered},
                **over,
            ),
            *(
                lab.Drawn(
                    f"neurons-{i}",
                    f"Where the neurons point, {s.named(i)}",
                    f"{DOTS} Each star is a centre. Coloured neurons lie closer to a centre than halfway to its "
                    "neighbours at the end. First seed.",
                    "Neurons and centres in the plane at three epochs",
                    functools.partial(neurons, s, i),
                )
                for i in s.numbered
            ),
            OverEpochs(
                "accuracy",
                y="test_accuracy",
                factor=100,
                levels={f"linear, k = {', '.join(map(str, sorted(ks)))}": most for most, ks in bounds.items()},
                **over,
            ),
        ]

    def remarks(self, s: Table6Settings) -> list[str]:
        return [
            f"Experiment {i} ({s.named(i)}): of {s.neurons} random directions, the nearest to a given centre has a "
            f"cosine of at least {bk.features.chance_cosine(s.neurons, s.dims[i - 1], CHANCE):.3f} with probability "
            f"{CHANCE:g}; {s.bar(i):.3f} is asked for."
            for i in s.numbered
        ]


def neurons(s: Table6Settings, experiment: int, picture: lab.Drawn, rows: lab.Rows) -> list[lab.Figure]:
    """A row of Figure 16: where the neurons of the first seed point."""
    points, last = "centre_directions/points", s.epochs[experiment - 1] * s.steps_per_epoch
    run = first_run(rows, points, last, experiment=experiment, method=SMALL)
    if run is None:
        return []
    steps = {epoch: epoch * s.steps_per_epoch for epoch in dict.fromkeys(s.shown(experiment))}
    titles = [
        (f"after {epoch} epochs" if epoch else "at the start", f"least cosine {run.at('coverage/least', step):.3f}")
        for epoch, step in steps.items()
    ]
    labels = problem_of(s, experiment, 0).centre_labels.tolist()  # the parity of a corner, in every instance
    kinds = [0 if label > 0 else 1 for label in labels]
    close = run.at("coverage/by_neuron", last) >= s.bar(experiment)
    near = [kinds[int(i)] if found else -1 for i, found in zip(run.at("coverage/nearest", last), close, strict=True)]
    stars = ("centres of class +1", "centres of class −1")
    places = [run.at(points, step) for step in steps.values()]
    return neuron_map(picture, places, titles, stars, near, star_kinds=kinds)
