"""Lemmas 5.3, 5.6 and 5.7 along a run of Algorithm 2: is there a way down on the smoothed objective?"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np
import torch

from beyondkernels.algorithms.losses import Loss
from beyondkernels.core import Ended, InputError, Measured, Stream, Tensors, require
from beyondkernels.core.constraints import any_number, at_least, between, not_empty, positive
from beyondkernels.engine import TrainedNetwork
from beyondkernels.engine.learner import BUFFERS
from beyondkernels.measure.base import Measurement, over_steps
from beyondkernels.measure.snapshots import snapshots
from beyondkernels.papers.overparam.algorithms import ThreeLayerSGD
from beyondkernels.papers.overparam.measurements.course import course
from beyondkernels.papers.overparam.problems import ThreeLayerTruth
from beyondkernels.papers.overparam.theory import (
    ThreeLayerSettings,
    crossing_terms,
    penalty,
    penalty_growth,
    pseudo_three_layer,
    three_layer_gates,
    truth_direction,
)

_NAMES = ("W", "V")
_FACTORS = (1.0, 2**0.5, 2.0, 2**1.5, 4.0)  # smaller W* change fewer gates
_PILOTS = 4


@dataclass(frozen=True)
class SmoothedLandscape(Measurement):
    r"""Two ways down at every snapshot of Algorithm 2: a step with random signs, and a smaller λ.

    Lemma 5.3 compares, for :math:`L'` the smoothed objective with its penalties,

    .. math:: c_1 = E_\Sigma L'(\lambda_t, W_t + \sqrt\eta\,\Sigma W^*, V_t + \sqrt\eta\,V^*\Sigma), \qquad
              c_2 = L'((1 - \eta)\lambda_t, W_t, V_t), \qquad c_3 = L'(\lambda_t, W_t, V_t)

    and promises :math:`\min(c_1, c_2) \le (1 - \eta\gamma/4)\,c_3`. Expectations over the noise and over Σ are means
    over draws; each Σ comes with −Σ, and the three objectives share the noise. W* and V* are those of
    :func:`bk.overparam.truth_direction` for the gates of now and the readout :math:`\lambda_t a`
    (ours: the proof takes the gates of the start, and leaves out :math:`\lambda_t`). V* is multiplied, and W* divided,
    by the factor with which a step is best among candidates, on draws of its own (ours: the proof has powers of ε).

    Series over the snapshots, all beginning with ``landscape/``:

    - ``objective``, ``loss`` and ``penalty``: :math:`c_3` and its two parts; ``scale``: :math:`\lambda_t`.
    - For each η: ``move``, :math:`(c_3 - c_1)/(\eta c_3)`; ``shrink``, :math:`(c_3 - c_2)/(\eta c_3)`; ``decrease``,
      the larger one; ``decrease_error``, its standard error over the draws.
    - ``expected``: what ``move`` is to first order if gates do not change, the mean over Σ exact.
    - ``promised``, for each η: what the proof leaves of ½. With :math:`\ell_3` the loss in :math:`c_3`, it is
      :math:`(\ell_3 - \varepsilon_0 - e)/(2c_3)`, where e is the sum of the four errors that the proof calls O(ε), over
      η: ``missing``, of Lemma 5.6; ``crossing``, of the terms that are linear in Σ; ``growth``, of the penalties; and
      for each η ``gates``, of Lemma 5.7, the gates that change. The first and the last are differences of outputs times
      the slope of the loss there, which the proof bounds by 1. ``errors``: their sum over the loss, for each η.

    - ``control``: ``move`` for the largest η after the neurons of W* and of V* were shuffled, which keeps all norms.

    The proof has :math:`c_3` in the place of :math:`\ell_3`: it leaves out that neither way lowers the penalty.

    Arguments:
        points: how many points of the training sample.
        rates: η, each below 1.
        draws: of the noise and of Σ.
        fit_points: fresh points from which W* and V* are made.
        ridge: of their regression.
        seed: where points and draws come from.

    Reference: Allen-Zhu, Li & Liang (overparam), Lemma 5.3, App. D.1.
    """

    points: Annotated[int, positive] = 200
    rates: Annotated[tuple[float, ...], between(0, 1, "()"), not_empty] = (1e-4, 1e-3, 1e-2)
    draws: Annotated[int, at_least(2)] = 20
    fit_points: Annotated[int, positive] = 3000
    ridge: Annotated[float, positive] = 1e-3
    seed: Annotated[int, any_number] = 0

    def measure(self, run: Ended) -> Measured:
        rule, truth = _rule(run), run.problem
        if not isinstance(truth, ThreeLayerTruth):
            raise InputError(f"problem must be a ThreeLayerTruth, got {type(truth).__name__}")
        stream = Stream(self.seed).child("landscape")
        weights, buffers = course(run.outcome, _NAMES, ("b1", "b2", "a"))
        require(
            max(weights) < rule.steps,
            f"snapshot_at must end before the last step, {rule.steps}, where noise is added to the weights",
        )
        fit = truth.sample(self.fit_points, stream.child("fit")).x.double()
        train, readouts = run.case.train, snapshots(run.outcome, BUFFERS + "a")
        x, y = train.x[: self.points].double(), train.y[: self.points].double()
        here = Place(x, y, truth.target(x), buffers, rule.settings, rule.loss)
        rows = []
        for step, now in weights.items():
            a = torch.from_numpy(readouts[step]).double()
            gates = three_layer_gates(fit, now["W"], now["V"], buffers)
            star = truth_direction(truth, fit, gates, a, self.ridge, stream.child("signs"))
            moved = {name: now[name] - weights[0][name] for name in _NAMES}
            scale = float(a.norm() / buffers["a"].norm())
            mine = replace(here, buffers=buffers | {"a": a})
            rows.append({"scale": scale} | self._row(mine, now, moved, star, stream))
        return Measured(series=over_steps("landscape", weights, rows))

    def _row(self, here: Place, now: Tensors, moved: Tensors, star: Tensors, stream: Stream) -> dict[str, object]:
        star = here.balanced(now, moved, star, max(self.rates), stream.child("balance"))
        growth, control = sum(penalty_growth(moved, star, here.settings.penalties)), _shuffled(star, stream)
        fixed = penalty(moved, here.settings.penalties)
        higher = penalty({"W": star["W"], "V": 0 * star["V"]}, here.settings.penalties)  # of second order in η
        streams, most = [stream.child("draw", str(i)) for i in range(self.draws)], max(self.rates)
        found = [here.drawn(now, star, self.rates, each) for each in streams]
        other = np.mean([here.drawn(now, control, (most,), each)["move"][0] for each in streams])
        other -= sum(penalty_growth(moved, control, here.settings.penalties)) + most * higher
        mean = {name: np.mean([one[name] for one in found], 0) for name in found[0]}
        error = {name: np.std([one[name] for one in found], 0, ddof=1) / math.sqrt(self.draws) for name in found[0]}
        objective = mean["loss"] + fixed
        move = (mean["move"] - growth - np.array(self.rates) * higher) / objective
        shrink = mean["shrink"] / objective
        errors = mean["missing"] + mean["crossing"] + growth + mean["gates"]
        return {
            "objective": objective,
            "loss": mean["loss"],
            "penalty": fixed,
            "move": move,
            "shrink": shrink,
            "decrease": np.maximum(move, shrink),
            "decrease_error": np.where(move >= shrink, error["move"], error["shrink"]) / objective,
            "expected": -(mean["slope"] + mean["crossing"] + growth) / objective,
            "promised": (mean["loss"] - here.irreducible - errors) / (2 * objective),
            "errors": errors / mean["loss"],
            "control": other / objective,
            "growth": growth,
            **{name: mean[name] for name in ("missing", "crossing", "gates")},
        }


@dataclass(frozen=True)
class Place:
    """The smoothed objective at one snapshot: points, labels, F*, buffers with λ in a, settings and loss."""

    x: torch.Tensor
    y: torch.Tensor
    target: torch.Tensor
    buffers: Tensors
    settings: ThreeLayerSettings
    loss: Loss

    @property
    def irreducible(self) -> float:
        """ε₀."""
        return float(self.loss.each(self.target, self.y).mean())

    def drawn(self, now: Tensors, star: Tensors, rates: tuple[float, ...], stream: Stream) -> dict[str, np.ndarray]:
        """One draw of the noise and of ±Σ: losses, what they fall by over η, and the errors of the proof."""
        at = self._noisy(now, stream)
        gates = three_layer_gates(self.x, at["W"], at["V"], self.buffers)
        out = pseudo_three_layer(self.x, at["W"], at["V"], gates, self.buffers)
        slope, curvature = self._derivatives(out)
        ahead = pseudo_three_layer(self.x, star["W"], star["V"], gates, self.buffers, (False, False))
        linear = sum(crossing_terms(self.x, at, star, gates, self.buffers))
        assert isinstance(linear, torch.Tensor)
        signs = 2 * stream.child("signs").bernoulli(0.5, len(now["W"])).double() - 1
        before, missing = self.loss.each(out, self.y), self.target - ahead
        steep = slope.norm(dim=1)
        rows = []
        for eta in rates:
            after, gaps = [], []
            for sign in (signs, -signs):
                W, V = at["W"] + eta**0.5 * sign[:, None] * star["W"], at["V"] + eta**0.5 * star["V"] * sign
                own = three_layer_gates(self.x, W, V, self.buffers)
                real = pseudo_three_layer(self.x, W, V, own, self.buffers)
                after.append(self.loss.each(real, self.y))
                gaps.append(real - (out + eta**0.5 * linear @ sign + eta * ahead))
            change = (before - (after[0] + after[1]) / 2).mean() / eta
            shrunk = (before - self.loss.each((1 - eta) * out, self.y)).mean() / eta
            cost = torch.stack([(steep * gap.norm(dim=1)).mean() for gap in gaps]).mean() / eta
            rows.append([float(value) for value in (change, shrunk, cost)])
        return dict(zip(("move", "shrink", "gates"), np.array(rows).T, strict=True)) | {
            "loss": np.array(float(before.mean())),
            "slope": np.array(float((slope * ahead).sum(1).mean())),
            "crossing": np.array(_curved(curvature, linear)),
            "missing": np.array(float((steep * missing.norm(dim=1)).mean())),
        }

    def balanced(self, now: Tensors, moved: Tensors, star: Tensors, eta: float, stream: Stream) -> Tensors:
        """W*/c and cV* with the c among candidates at which a step is best, on draws of the noise of its own."""
        at = self._noisy(now, stream)
        gates = three_layer_gates(self.x, at["W"], at["V"], self.buffers)
        _, curvature = self._derivatives(pseudo_three_layer(self.x, at["W"], at["V"], gates, self.buffers))
        of_v, of_w = (_curved(curvature, part) for part in crossing_terms(self.x, at, star, gates, self.buffers))
        more_w, more_v = penalty_growth(moved, star, self.settings.penalties)
        best = ((of_w + more_w) / (of_v + more_v)) ** 0.25  # if gates did not change

        def fall(c: float) -> float:
            tried = {"W": star["W"] / c, "V": c * star["V"]}
            draws = [self.drawn(now, tried, (eta,), stream.child(str(i)))["move"][0] for i in range(_PILOTS)]
            return float(np.mean(draws)) - sum(penalty_growth(moved, tried, self.settings.penalties))

        c = max((best * factor for factor in _FACTORS), key=fall)
        return {"W": star["W"] / c, "V": c * star["V"]}

    def _noisy(self, now: Tensors, stream: Stream) -> Tensors:
        stds = dict(zip(_NAMES, self.settings.smoothing, strict=True))
        return {n: now[n] + stds[n] * stream.child(n).normal(*now[n].shape, dtype=torch.float64) for n in _NAMES}

    def _derivatives(self, out: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Slope (n, k) and curvature (n, k, k) of the loss at predictions."""
        out = out.detach().requires_grad_()
        (slope,) = torch.autograd.grad(self.loss.each(out, self.y).sum(), out, create_graph=True)
        rows = [torch.autograd.grad(column.sum(), out, retain_graph=True)[0] for column in slope.unbind(1)]
        return slope.detach(), torch.stack(rows, 1)  # points do not depend on each other


def _curved(curvature: torch.Tensor, linear: torch.Tensor) -> float:
    """Half the mean over Σ and points of the curvature along what is linear in Σ."""
    return float((curvature * (linear @ linear.mT)).sum((1, 2)).mean() / 2)


def _shuffled(star: Tensors, stream: Stream) -> Tensors:
    """The rows of both matrices in another order."""
    orders = {name: stream.child("control", name).generator().permutation(len(star[name])) for name in _NAMES}
    return {name: star[name][torch.from_numpy(orders[name])] for name in _NAMES}


def _rule(run: Ended) -> ThreeLayerSGD:
    learner = run.learner
    if not isinstance(learner, TrainedNetwork) or not isinstance(learner.algorithm, ThreeLayerSGD):
        raise InputError(f"learner must be a network trained by ThreeLayerSGD, got {type(learner).__name__}")
    rule = learner.algorithm
    require(rule.variant == "L1", f"variant must be L1, the objective of Lemma 5.3, got {rule.variant}")
    return rule
