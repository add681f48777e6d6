"""Lemma 5 of the feature-learning paper: a network of 3(k + 1) neurons that gives every label, and its weights."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from beyondkernels.core import Case, Learner, Outcome, Progress, Sample, Tensors, accuracy, require
from beyondkernels.networks import TwoLayer
from beyondkernels.papers.features.problems import DictionaryProblem, Orthonormal

EXACT = 1e-9
"""How far g*(x) may be from y and still count as equal: what float64 leaves of 3(k + 1) terms of size 32k."""


def good_network(problem: DictionaryProblem) -> Tensors:
    r"""The parameters of the network g* of Lemma 5, float64, named as those of :class:`TwoLayer`.

    .. math::
        g^*(x) = \sum_{p=0}^k y_p\, \delta_p(\langle w, x\rangle), \qquad
        \delta_p(z) = a\,(\sigma_r(z - s_p + \tfrac12) - 2\sigma_r(z - s_p) + \sigma_r(z - s_p - \tfrac12)), \qquad
        w = \tilde\sigma \textstyle\sum_{j \in A} M_j

    :math:`\langle w, x\rangle` is the count of relevant patterns less its mean µ, and :math:`y_p` the label of the
    count p. A tent :math:`\delta_p` is 1 at the count p and 0 at all others. It stands either at :math:`s_p = p - \mu`
    with a = 2, or at :math:`s_p = p - \mu + 1/4` with a = 4: one of the two keeps all biases away from zero. In the
    end everything inside is divided by 4k and everything outside multiplied by it, so that the truncated ReLU is never
    cut off.

    Arguments:
        problem: with orthonormal patterns and without noise, as the lemma asks.

    >>> from beyondkernels.papers.features.problems import DictionaryParity
    >>> {name: tuple(value.shape) for name, value in good_network(DictionaryParity(8, 6, relevant=3)).items()}
    {'hidden.weight': (12, 8), 'hidden.bias': (12,), 'output.weight': (1, 12)}

    Reference: Shi, Wei & Liang (features), Lemma 5, with the proof of Lemma 8.
    """
    require(
        isinstance(problem.dictionary, Orthonormal) and problem.noise_std == 0,
        f"problem must have an Orthonormal dictionary and no noise for Lemma 5, got {problem.dictionary} and "
        f"noise_std {problem.noise_std}",
    )
    k, A, exact = problem.relevant, list(problem.relevant_set), problem.moments
    counts = torch.arange(k + 1, dtype=torch.float64)
    candidates = [
        (height, (torch.tensor([0.5, 0.0, -0.5], dtype=torch.float64) - s[:, None]).flatten())
        for height, s in ((2.0, counts - exact.means[A].sum()), (4.0, counts - exact.means[A].sum() + 0.25))
    ]
    height, biases = max(candidates, key=lambda candidate: float(candidate[1].abs().min()))
    outputs = height * torch.outer(exact.signs, torch.tensor([1.0, -2.0, 1.0], dtype=torch.float64)).flatten()
    w = exact.scale * problem.matrix[:, A].sum(1) / (4 * k)
    return {
        "hidden.weight": w.repeat(3 * (k + 1), 1),
        "hidden.bias": biases / (4 * k),
        "output.weight": 4 * k * outputs[None],
    }


@dataclass(frozen=True)
class GoodNetwork(Learner):
    """The network of Lemma 5, made from what is known of the problem. It learns nothing from the sample.

    Its outcome has accuracies; ``exact``, the share of test points and of counts 0, …, k at which g* equals the label
    up to rounding; and how the weights stand to the lemma's bounds: ``neurons``, ``largest_output`` (of the sizes of
    a), ``least_bias`` and ``largest_bias`` (of b) and ``largest_inside`` (of ⟨w, x⟩ + b). Array ``profile`` has g* over
    the count.

    >>> import beyondkernels as bk
    >>> run = bk.fit(GoodNetwork(), bk.features.DictionaryParity(8, 6, relevant=3), n=1, test=100, progress=False)
    >>> run.test_accuracy, run.exact, run.neurons
    (1.0, 1.0, 12.0)

    Reference: Shi, Wei & Liang (features), Lemma 5.
    """

    def fit(self, case: Case, progress: Progress) -> Outcome:
        problem = case.problem
        require(
            isinstance(problem, DictionaryProblem), f"problem must be a DictionaryProblem, got {type(problem).__name__}"
        )
        assert isinstance(problem, DictionaryProblem)
        params = good_network(problem)
        network = TwoLayer(pairs=1)  # its parameters say how many neurons there are

        def output(x: torch.Tensor) -> torch.Tensor:
            return network.apply(params, {}, x.double())[0]

        counted = _each_count(problem)
        points = torch.cat([_inputs(problem, case.test.hidden["patterns"]), _inputs(problem, counted)])
        labels = torch.cat([case.test.y.double(), problem.label_of({"patterns": counted}).double()])
        inside = points @ params["hidden.weight"].T + params["hidden.bias"]
        at = torch.linspace(0, problem.relevant, 40 * problem.relevant + 1, dtype=torch.float64)

        def right(sample: Sample) -> float:
            return accuracy(output(_inputs(problem, sample.hidden["patterns"])), sample.y)

        biases = params["hidden.bias"].abs()
        scalars = {
            "train_accuracy": right(case.train),
            "test_accuracy": right(case.test),
            "exact": float(((output(points)[:, 0] - labels).abs() <= EXACT).double().mean()),
            "neurons": float(len(biases)),
            "largest_output": float(params["output.weight"].abs().max()),
            "least_bias": float(biases.min()),
            "largest_bias": float(biases.max()),
            "largest_inside": float(inside.abs().max()),
        }
        profile = torch.stack([at, output(_along(problem, at))[:, 0]])
        progress(1.0)
        return Outcome("finished", scalars, arrays={"profile": profile.numpy()}, predictor=output)


def _inputs(problem: DictionaryProblem, patterns: torch.Tensor) -> torch.Tensor:
    """Inputs x = Mφ in float64; a sample's own x is rounded to float32."""
    exact = problem.moments
    return (patterns.double() - exact.means) / exact.scale @ problem.matrix.T


def _each_count(problem: DictionaryProblem) -> torch.Tensor:
    """For each count a vector of patterns that has it, without background."""
    rows = torch.zeros(problem.relevant + 1, problem.patterns, dtype=torch.int8)
    for s in range(problem.relevant + 1):
        rows[s, list(problem.relevant_set[:s])] = 1
    return rows


def _along(problem: DictionaryProblem, counts: torch.Tensor) -> torch.Tensor:
    """Inputs between the patterns: the count is spread evenly over the relevant ones, so it need not be whole."""
    rows = torch.zeros(len(counts), problem.patterns, dtype=torch.float64)
    rows[:, list(problem.relevant_set)] = counts[:, None] / problem.relevant
    return _inputs(problem, rows)
