"""An experiment of one's own: does a trained network beat the best linear classifier?

bk run examples/own_experiment.py:Own --scale smoke
"""

from dataclasses import dataclass, replace

import beyondkernels as bk
from beyondkernels.experiments import Experiment, setting
from beyondkernels.reports import at_least
from beyondkernels.runs import RunSpec


@dataclass(frozen=True)
class OwnSettings:
    """The numbers, each marked as the paper's, a theorem's or our own."""

    samples: int = setting(20_000, "ours")
    steps: int = setting(2000, "ours")
    seeds: int = setting(5, "ours")


class Own(Experiment):
    """Descent on a two-layer network, against a linear classifier."""

    id = "own/first"
    title = "A network against the best linear classifier"
    summary = "Both learn the parity of three patterns among ten."

    def settings(self, scale: str) -> OwnSettings:
        """Smaller for smoke."""
        return replace(OwnSettings(), samples=1000, steps=100, seeds=2) if scale == "smoke" else OwnSettings()

    def plan(self, settings, seeds, finished):
        """Each learner with each seed."""
        descent = bk.algorithms.GradientDescent(steps=settings.steps, learning_rate=0.5, batch=100, momentum=0.9)
        learners = {
            "network": bk.engine.TrainedNetwork(bk.networks.TwoLayer(pairs=50), descent),
            "linear": bk.kernels.FixedFeatureClassifier(bk.kernels.InputFeatures()),
        }
        problem = bk.problems.DictionaryParity(dim=10, patterns=10, relevant=3)
        return {
            (name, seed): RunSpec(problem, learner, settings.samples, 2000, seed)
            for name, learner in learners.items()
            for seed in seeds
        }

    def rows(self, settings, finished):
        """The test accuracy of each run, in percent."""
        return [
            {"learner": name, "seed": seed, "test_accuracy": 100 * run.outcome.scalars["test_accuracy"]}
            for (name, seed), run in finished.items()
        ]

    def claims(self, settings, rows, scale):
        """A sentence that can fail."""
        network = [row["test_accuracy"] for row in rows if row["learner"] == "network"]
        text = "The network reaches at least 87.5 %, what the best linear classifier does"
        return [at_least("beats", text, network, 87.5, unit="%", speaks=scale != "smoke")]
