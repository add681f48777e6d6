"""An experiment of one's own: bk run examples/own_experiment.py:Own --scale smoke."""

from dataclasses import dataclass

import beyondkernels as bk
from beyondkernels.lab import SHARE, AtLeast, Experiment, Over, Quantity, Runs, Table, claim, of, scale, setting


@dataclass(frozen=True)
class OwnSettings:
    """The numbers, each marked as the paper's, a theorem's or our own."""

    samples: tuple[int, ...] = setting((2000, 5000, 20_000), "ours")
    steps: int = setting(2000, "ours")
    seeds: int = setting(5, "ours")


def spec(s, at):
    """One run: a learner on so many points, with a seed."""
    learner = bk.kernels.FixedFeatureClassifier(bk.kernels.InputFeatures())
    if at.learner == "network":
        descent = bk.algorithms.GradientDescent(steps=s.steps, learning_rate=0.5, batch=100, momentum=0.9)
        learner = bk.engine.TrainedNetwork(bk.networks.TwoLayer(pairs=50), descent)
    problem = bk.features.DictionaryParity(dim=10, patterns=10, relevant=3)
    return bk.store.RunSpec(problem, learner, at.samples, 2000, at.seed)


class Own(Experiment):
    id, title = "own/first", "A network against the best linear classifier"
    summary = "Both learn the parity of three patterns among ten."
    quantities = {"test_accuracy": Quantity("test accuracy", ".3f", SHARE, better="more")}
    settings_class, scales = OwnSettings, {"smoke": scale(samples=(500, 1000), steps=100, seeds=2)}

    def runs(self, s):
        return [Runs(spec, {"learner": ["network", "linear"], "samples": s.samples})]

    def claims(self, s):
        network = of("test_accuracy", learner="network", samples=s.samples[-1])
        return [claim("beats", "The network beats the best linear classifier (87.5 %)", network, AtLeast(0.875))]

    def table(self, s):
        return Table(["learner", "samples"], ["test_accuracy"])

    def figures(self, s):
        return [Over("n", x="samples", y="test_accuracy", line="learner")]
