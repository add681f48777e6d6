"""Networks against kernels over the dimension: bk run examples/over_dimension.py:OverDimension."""

import math
from dataclasses import dataclass

import beyondkernels as bk
from beyondkernels.lab import (
    Above,
    AtMost,
    Count,
    Counts,
    Experiment,
    Over,
    Quantity,
    Runs,
    Seeds,
    Size,
    Table,
    claim,
    of,
    scale,
    setting,
)

PROBLEMS = {
    "staircase, leap 1": lambda dim: bk.data.Staircase(dim, ((0,), (0, 1), (0, 1, 2))),
    "parity of three": lambda dim: bk.data.Staircase(dim, ((0, 1, 2),)),
    "single index, exponent 3": lambda dim: bk.data.SingleIndex(dim, bk.data.hermite_link(3)),
    "XOR mixture": lambda dim: bk.data.XorMixture(dim, separation=3.0),
}
"""Problems whose labels have mean 0; the last one has labels ±1."""

LEARNERS = ["network", "tangent kernel", "Laplace kernel"]


@dataclass(frozen=True)
class DimensionSettings:
    """All numbers are our own; the rate was chosen on seed 100."""

    dims: Counts = setting((10, 20, 40, 80), "ours", "the dimension d")
    samples: Count = setting(2000, "ours")
    width: Count = setting(512, "ours")
    epochs: Count = setting(120, "ours")
    learning_rate: Size = setting(0.01, "ours", "of Adam, for batches of 64")
    seeds: Seeds = setting(5, "ours")


def spec(s, at):
    """One run: a learner on a problem of one dimension."""
    problem = PROBLEMS[at.problem](at.dim)
    standard = bk.networks.Parameterisation("standard", bias_variance=0.01)
    network = bk.networks.FullyConnected(s.width, depth=2, parameterisation=standard)
    kernels = {
        "tangent kernel": bk.kernels.infinite_tangent,
        "Laplace kernel": lambda _: bk.kernels.Laplace(at.dim**0.5),
    }
    if at.learner in kernels:
        learner = bk.kernels.KernelRidge(kernels[at.learner](network))
    else:
        recipe = bk.algorithms.Recipe(epochs=s.epochs, learning_rate=s.learning_rate, loss="squared")
        learner = bk.engine.TrainedNetwork(network, recipe.rule(problem, s.samples))
    return bk.store.RunSpec(problem, learner, s.samples, 4000, at.seed)


def read(_, at, outcome):
    """The share of the labels' variance that is left."""
    problem = PROBLEMS[at.problem](at.dim)
    return {"left": outcome.scalars["test_loss"] / getattr(problem, "variance", 1.0)} if outcome.scalars else {}


class OverDimension(Experiment):
    id, text_file = "own/over-dimension", "over_dimension.md"
    quantities = {
        "left": Quantity("test error", ".3f", (0.0, math.inf), log=True, better="less", about="Over the variance."),
        "problem": Quantity("problem"),
        "learner": Quantity("learner"),
        "dim": Quantity("dimension", log=True),
    }
    settings_class = DimensionSettings
    scales = {"smoke": scale(dims=(4, 8), samples=200, width=32, epochs=3, seeds=2)}

    def runs(self, s):
        return [Runs(spec, {"problem": list(PROBLEMS), "learner": LEARNERS, "dim": s.dims}, read)]

    def claims(self, s):
        d = s.dims[-2]  # at the last one, 2000 points are too few for the network, too

        def left(problem, learner):
            return of("left", problem=problem, learner=learner, dim=d)

        found = [
            claim(
                f"ahead-{i}",
                f"{problem}: at d = {d} the network leaves clearly less than the tangent kernel",
                left(problem, "tangent kernel") - left(problem, "network"),
                Above(0.0),
            )
            for i, problem in enumerate(PROBLEMS)
            if problem != "XOR mixture"  # of degree two: more than d² points are enough for kernels
        ]
        learnt = left("staircase, leap 1", "network")
        return [
            *found,
            claim("staircase", f"At d = {d} the network leaves at most 5 % of the staircase", learnt, AtMost(0.05)),
        ]

    def table(self, s):
        return Table(["problem", "learner", "dim"], ["left"])

    def figures(self, s):
        return [
            Over(
                "dimension",
                title="Test error over the dimension: {}",
                x="dim",
                y="left",
                line="learner",
                panel="problem",
            )
        ]
