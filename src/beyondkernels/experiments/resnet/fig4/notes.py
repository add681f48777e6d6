"""The words around Figure 4: what was chosen, and what the numbers mean."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from beyondkernels.experiments.resnet.fig4.construction import closed_form, least, targets
from beyondkernels.experiments.resnet.fig4.specs import DEGREE
from beyondkernels.experiments.resnet.fig4.tables import FITTED

if TYPE_CHECKING:
    from beyondkernels.experiments.resnet.fig4.experiment import Fig4Settings

_TRAINING = (
    "The network is aᵀσ(Wx) without biases, a fixed at ±1/√m with exactly half of each sign; only W is trained. The "
    "loss of a batch is the mean of the squared errors, without ½; another factor only moves rates and decays. Weight "
    "decay λ adds λW to the gradient. Errors are E|F(W; x) − y|², so that predicting zero has error 1."
)
_CHOICES = (
    "Not stated for §8.2, and chosen here: the epochs; momentum 0.9 and the start N(0, 1/m), as in §8.1; and in (a) "
    "the batch of 50. The learning rate falls by 10 after half of the epochs. The chosen settings are also trained "
    "from N(0, 1/d), another common start. The grid begins where trials at d = 40 with seeds 100 to 103, reported "
    "nowhere, learnt something beyond the sample: rates of 5 and 10 did, at decays up to 5·10⁻⁵; rates up to 2, and "
    "decays from 10⁻⁴ on, did not."
)
_SEARCH = (
    "The search trains every learning rate and weight decay of a grid with seeds of its own (1000, …), counts a "
    "diverged run as infinitely bad, and grows the grid by whole rows and columns until the best is not on its edge, "
    "or the limits are reached (marked). The paper takes the best test error that its search met; that number is given "
    "as the search's best. Beside it the settings chosen on test points, and on validation points that lie in neither "
    "sample, are trained anew with the reported seeds."
)
_CONSTRUCTION = (
    "W* is made twice. In closed form: rows ±c in all arrangements of signs, the readout positive where their product "
    "is, repeated up to the width; c sets the risk. And as in footnote 16: gradient descent with weight decay on all "
    "64 points of the six relevant inputs, a path over decays. Padding with zero columns and a factor √(d/6) changes "
    "neither the function nor ‖W‖_F/√d, so that risk and norm hold for every d; risks are means over all 64 points."
)
_FITTED = (
    "That a search meets no test error below the paper's counts only if the search trains: where none of its runs has "
    f"a training error of at most {FITTED:g}, the largest error that the paper gives for W*, the claim is undecided, "
    "since predicting about zero would meet it. A test error below the paper's refutes the claim in any case. That "
    "level was chosen after the runs at laptop scale were seen."
)
SMALL_NOTE = (
    "At laptop scale 3200 epochs suffice at a few points of the grid to learn the monomial itself from 5000 points: "
    "the test error is below 0.5, with weights 1.1 to 2.2 times as large as the least that compute it exactly. At "
    "others of width 500 a smaller training error comes with a test error above 1."
)
LARGE_NOTE = (
    "At laptop scale the sample is the paper's, but the search is small: widths 200 and 1000, and 200 epochs. Its grid "
    "reaches decays as small as 10⁻⁸ because in trials with seed 100, reported nowhere, width 1000 fitted the sample "
    "from 10⁻⁷ down and not at 2·10⁻⁶; width 200 has fewer weights than there are points. What fits the sample learns "
    "nothing beyond it here, so the best setting is the one nearest to predicting zero, and the grid grows that way. "
    "In Figure 4(a) it took 3200 epochs for SGD to learn the monomial itself; whether a schedule much longer than this "
    "one would do so here is not known."
)
NOTES = (_TRAINING, _CHOICES, _SEARCH, _FITTED, _CONSTRUCTION)


def remarks(settings: Fig4Settings) -> list[str]:
    """The lower bound on norms, what the paper's bound on the generalisation gap comes to, and the schedules."""
    d, n, m = settings.dim, settings.samples, settings.construction_width
    error, norm = targets()[0]
    gap = 2 * norm * math.sqrt(d) / math.sqrt(n)
    enough = (2 * norm / 0.3) ** 2
    ours = ", ".join(f"{least(risk):.2f} for R = {risk:g}" for risk, _ in targets())
    theirs = ", ".join(f"{norm:g}" for _, norm in targets())
    norms = (
        f"No network of this kind with risk R has ‖W‖_F/√d below {least(0):.2f}·(1 − √R), at any width and dimension "
        f"(the proof stands in beyondkernels.theory.minimal_norm): that is {ours}, where the paper's W* have {theirs}. "
        f"The closed form reaches it at widths that are multiples of {2**DEGREE}; at width {m} it needs "
        f"{float(closed_form(m, 0.0)[0].norm()) / math.sqrt(DEGREE) / least(0):.4f} times as much."
    )
    bound = (
        f"The paper's bound on the Rademacher complexity of all W with ‖W‖_F ≤ {norm:g}√d is 2‖W‖_F/√N = {gap:.3g} at "
        f"d = {d}, N = {n:,}, before the slope of the squared loss comes in. That does not force a test error below "
        f"0.3 on a solution with training error {error:g}: the bound alone falls to 0.3 at N = {enough:,.0f}·d = "
        f"{enough * d:,.0f}. “N = O(d)” is meant with such a constant."
    )
    return [norms, bound, _schedules(settings.epochs)]


def _schedules(epochs: tuple[int, ...]) -> str:
    theirs = "That SGD finds no better test error, the paper says of its own search, whose epochs it does not state."
    if len(epochs) == 1:
        return f"{theirs} Here one schedule is searched, of {epochs[0]} epochs; how far SGD gets may depend on it."
    named = f"{', '.join(map(str, epochs[:-1]))} and {epochs[-1]}"
    return f"{theirs} How far SGD gets may depend on them, so {named} epochs stand side by side."
