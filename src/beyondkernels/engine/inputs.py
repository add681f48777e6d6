"""The inputs of an ensemble's steps, besides its state: batches, noise and hyper-parameters."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from beyondkernels.core import Tensors
from beyondkernels.engine.member import Member

Named = dict[tuple[str, str], torch.Tensor]
"""Tensors by the argument of a step they belong to (``params``, ``batch``, ``hyper``, …) and their name in it."""


class Inputs:
    """Inputs of some steps of all members.

    They are prepared together for many steps. One by one, that would take longer than the steps of small networks.

    Arguments:
        members: of one group.
        ahead: how many steps come before the first of these.
        steps: how many.
        alone: whether there is only one member. Its tensors then have no dimension for members.
    """

    def __init__(self, members: Sequence[Member], ahead: int, steps: int, alone: bool = False) -> None:
        self.steps, self._members, self._ahead, self._alone = steps, members, ahead, alone
        self._samples = [member.sample for member in members]
        # Replicates of one case hold the very same object, and then one gather serves all of them.
        self._shared = all(sample is self._samples[0] for sample in self._samples)
        self._noisy = bool(members[0].noise(ahead))  # a stage draws something in every step, or never
        rows = [rows for member in members if (rows := member.rows(ahead, steps)) is not None]
        self._points = torch.stack(rows, 1) if rows else None  # (steps, members, points)
        # A sample may be kept in a narrower type than the network computes in. Token ids are whole numbers and stay so.
        dtype = next(iter(members[0].params.values())).dtype
        given = self._samples[0].x.dtype
        self._cast = dtype if given.is_floating_point and given != dtype else None
        hyper = [member.algorithm.hyper_of(member.stage, member.steps_ahead(ahead, steps)) for member in members]
        # One row a step, contiguous: what a step reads is then a plain slice, without a gather.
        self._hyper = {
            name: torch.tensor([each[name] for each in hyper], dtype=dtype, device=members[0].device).mT.contiguous()
            for name in hyper[0]
        }

    def at(self, i: int) -> Named:
        """The inputs of the i-th of these steps."""
        batch = {("batch", part): self._rows(part, i) for part in ("x", "y")}
        return batch | self._numbers(i)

    def write(self, i: int, targets: Named) -> None:
        """Write the inputs of the i-th of these steps into the memory of a replay.

        Arguments:
            i: which step. The first must come first, because inputs that do not change are written once.
            targets: where to write, for all members together.
        """
        for part in ("x", "y"):
            if self._points is None:
                # Steps only read their batch, so a full batch written for the first step is still there in the later
                # ones.
                if i == 0:
                    targets["batch", part].copy_(self._rows(part, i))
            else:
                self._gather(part, self._points[i], targets["batch", part])
        for name, value in self._numbers(i).items():
            targets[name].copy_(value)

    def _numbers(self, i: int) -> Named:
        noise = stacked([member.noise(self._ahead + i) for member in self._members], self._alone) if self._noisy else {}
        hyper = {name: values[i, 0] if self._alone else values[i] for name, values in self._hyper.items()}
        return {("noise", name): value for name, value in noise.items()} | {
            ("hyper", name): value for name, value in hyper.items()
        }

    def _rows(self, part: str, i: int) -> torch.Tensor:
        rows = self._uncast_rows(part, i)
        return rows if self._cast is None else rows.to(self._cast)

    def _uncast_rows(self, part: str, i: int) -> torch.Tensor:
        values = [getattr(sample, part) for sample in self._samples]
        if self._points is None:
            return _together(values, self._alone)
        if self._alone:
            return values[0].index_select(0, self._points[i, 0])
        if self._shared:
            return values[0][self._points[i]]
        return torch.stack([one[rows] for one, rows in zip(values, self._points[i], strict=True)])

    def _gather(self, part: str, points: torch.Tensor, target: torch.Tensor) -> None:
        """Copy rows of the samples to a place, at once if all members share one sample."""
        if self._cast is not None:  # batch by batch, so that a sample is not kept twice
            for sample, rows, place in zip(self._samples, points, target, strict=True):
                place.copy_(getattr(sample, part)[rows])
            return
        # Where no margin separates the members' batches, they are one long batch, and a single call fills it.
        if self._shared and target.stride(0) == target.shape[1] * target.stride(1):
            target = target.view(-1, *target.shape[2:])
            torch.index_select(getattr(self._samples[0], part), 0, points.reshape(-1), out=target)
            return
        for sample, rows, place in zip(self._samples, points, target, strict=True):
            # Straight into the replay's memory: indexing would make a temporary copy of every batch first.
            torch.index_select(getattr(sample, part), 0, rows, out=place)


def stacked(states: Sequence[Tensors], alone: bool = False) -> Tensors:
    """The tensors of all members, stacked by name."""
    assert all(state.keys() == states[0].keys() for state in states), "members of one group hold the same names"
    return {name: _together([state[name] for state in states], alone) for name in states[0]}


def _together(tensors: Sequence[torch.Tensor], alone: bool) -> torch.Tensor:
    if alone:
        return tensors[0]
    # A single member needs no copy, because steps under vmap are pure: they return new tensors.
    return tensors[0].unsqueeze(0) if len(tensors) == 1 else torch.stack(list(tensors))
