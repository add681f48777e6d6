"""Views of members that no engine has trained."""

from typing import Any

import torch

from beyondkernels.algorithms import Algorithm, MemberView
from beyondkernels.core import Sample, Stream, Tensors
from beyondkernels.networks import Network


def view(
    rule: Algorithm, network: Network, params: Tensors, optimiser: Tensors, at: tuple[int, int, int], **words: Any
) -> MemberView:
    """What a rule sees of these tensors.

    Arguments:
        rule: the rule.
        network: the network.
        params: its parameters.
        optimiser: the optimiser's state.
        at: stage, steps in the stage, and steps in all.
        words: other fields of the view.
    """
    stage, steps_in_stage, step = at
    nothing = Sample(torch.empty(0, 1), torch.empty(0))
    given: dict[str, Any] = {"sample": nothing, "stream": Stream(0), "initial": Stream(0), "in_dim": 1, "out_dim": 1}
    return MemberView(
        network=network, loss=rule.loss, stage=stage, steps_in_stage=steps_in_stage, step=step, params=params,
        buffers={}, optimiser=optimiser, **given | words
    )  # fmt: skip
