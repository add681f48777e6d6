"""Where: which blocks have to learn, and which have to be corrected by those above them."""

from __future__ import annotations

from typing import Literal

import numpy as np

from beyondkernels.algorithms import Corrected
from beyondkernels.auditing.ladder import in_group
from beyondkernels.auditing.settings import AuditSettings
from beyondkernels.auditing.subject import Subject
from beyondkernels.core import Learner
from beyondkernels.engine import TrainedNetwork
from beyondkernels.networks import Prefix

Below = Literal["alone", "fixed", "longer", "released"]

BELOW: dict[Below, str] = {
    "alone": "alone",
    "fixed": "fixed",
    "longer": "longer, fixed",
    "released": "released",
}
"""What happens to the blocks up to one that were trained first, as in ``bfc`` Figure 9, and how a figure calls it.

If they are released they have twice the steps. So there is a control, ``longer``, which has these steps without the
blocks above.
"""

KEPT: dict[Below, str] = {"fixed": "keeping them fixed", "longer": "training them on without these"}
"""The ways in which nothing from above corrects lower blocks, and how a sentence calls them."""


def looked_at(subject: Subject, settings: AuditSettings) -> tuple[str, ...]:
    """The blocks that are frozen one by one: all that learn, or some of them, spread over the depth."""
    names = subject.trained_blocks
    if subject.own_rule is None or len(names) < 2:  # with the only block that learns frozen, nothing is left to train
        return ()
    if len(names) <= settings.most_blocks:
        return names
    places = np.linspace(0, len(names) - 1, settings.most_blocks).round().astype(int)
    return tuple(names[place] for place in dict.fromkeys(places.tolist()))


def corrected_blocks(subject: Subject, settings: AuditSettings) -> tuple[str, ...]:
    """The blocks up to which lower ones are trained first: those of :func:`looked_at` that have blocks above them."""
    return tuple(name for name in looked_at(subject, settings) if name != subject.blocks[-1].name)


def frozen(subject: Subject, block: str) -> Learner:
    """The model with a block frozen at its start."""
    rule = subject.own_rule
    assert rule is not None, "asked for only where there is one"
    return TrainedNetwork(subject.network, in_group(rule, f"all-{block}"))


def corrected(subject: Subject, block: str, below: Below) -> Learner:
    """The model whose blocks up to one were trained first.

    Arguments:
        subject: what is audited.
        block: the last of the blocks that are trained first.
        below: what happens to them then.

    Reference: Allen-Zhu & Li (bfc), Figure 9 and App. A.5.
    """
    rule = subject.own_rule
    assert rule is not None, "asked for only where there is one"
    if below == "alone":
        return TrainedNetwork(Prefix(subject.network, block), rule)
    fixed = None if below == "released" else block
    return TrainedNetwork(subject.network, Corrected(rule, block, fixed, 2 if below == "longer" else 1))
