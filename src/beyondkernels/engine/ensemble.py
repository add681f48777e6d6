"""Members that take their steps together: the first by vmap, later ones by repeating the recorded operations."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence

import torch

from beyondkernels.algorithms import Batch, StepResult
from beyondkernels.core import Tensors
from beyondkernels.engine.inputs import Inputs, Named, stacked
from beyondkernels.engine.member import Member
from beyondkernels.engine.replay import Replay
from beyondkernels.engine.tape import record

_WORTH = 20
"""With fewer remaining steps, recording a step costs more time than it saves."""

_STATE = ("params", "buffers", "optimiser")
_LOSS = ("loss", "")


class Ensemble:
    """A group of members, and the fastest known way to take their steps.

    For small networks, calling vmap and torch.func.grad takes longer than the arithmetic. So the first step is recorded
    (:mod:`.tape`), and later steps repeat its plain operations (:mod:`.replay`). These are the same operations on the
    same numbers, so no bit changes. If a step cannot be recorded, or gives another result when it is repeated, every
    step is taken by vmap.

    Arguments:
        members: of one group. Only what they have in common matters here.
    """

    def __init__(self, members: Sequence[Member]) -> None:
        first = members[0]
        self._alone = first.network.batching == "sequential"
        step = functools.partial(first.algorithm.step, first.stage, first.network)
        # The first member's network and algorithm serve all: members of one group differ only in numbers, which are
        # inputs.
        self._step: Callable[..., StepResult] = step if self._alone else torch.func.vmap(step)
        self._replay: Replay | None = None
        self._untried = not self._alone  # a user's module may depend on values or keep state
        self._state: Named = {}

    @property
    def replays(self) -> bool:
        """Whether steps are repeated from a recording."""
        return self._replay is not None

    def load(self, members: Sequence[Member]) -> None:
        """Start from the members' state."""
        parts = {part: stacked([getattr(member, part) for member in members], self._alone) for part in _STATE}
        self._state = {(part, name): value for part, tensors in parts.items() for name, value in tensors.items()}
        if self._alone:  # a step may overwrite its state, which others may hold
            self._state = {name: value.clone() for name, value in self._state.items()}
        if self._replay is not None:
            self._write(self._state)

    def advance(self, inputs: Inputs, to_go: int) -> torch.Tensor:
        """Take steps, and return the losses before each, shape (steps, members).

        Arguments:
            inputs: of the steps.
            to_go: how many steps remain, including these.
        """
        losses = []
        for i in range(inputs.steps):
            # Whether it is worth it depends on all steps to go, not on this segment: the recording survives stops.
            if self._replay is None and self._untried and to_go - i >= _WORTH:
                losses.append(self._record(inputs.at(i)))
            elif self._replay is None:
                losses.append(self._keep(self._taken(self._state | inputs.at(i))))
            else:
                inputs.write(i, self._replay.inputs)
                self._replay.run()
                # A copy, because the next step writes its loss to the same place.
                losses.append(self._replay.outputs[_LOSS].clone())
        return torch.stack(losses)

    def state(self, i: int) -> tuple[Tensors, Tensors, Tensors]:
        """Parameters, buffers and optimiser state of the i-th member."""
        # While a recording is in use, the state lives in its memory and the tensors here are those of the load.
        state = self._state if self._replay is None else {name: self._replay.outputs[name] for name in self._state}

        def own(value: torch.Tensor) -> torch.Tensor:
            if self._alone:  # the next steps start from copies (:meth:`load`), so nothing overwrites these tensors
                return value.detach().contiguous()
            return value[i].detach().clone(memory_format=torch.contiguous_format)

        def part(which: str) -> Tensors:
            return {name: own(value) for (of, name), value in state.items() if of == which}

        return part("params"), part("buffers"), part("optimiser")

    def _taken(self, tensors: Named) -> Named:
        """Take a step without changing anything: state, batch, noise and numbers in, the new state and the loss out."""
        parts: dict[str, Tensors] = {part: {} for part in (*_STATE, "batch", "noise", "hyper")}
        for (part, name), value in tensors.items():
            parts[part][name] = value
        state, batch = [parts[part] for part in _STATE], Batch(parts["batch"]["x"], parts["batch"]["y"])
        result = self._step(*state, batch, parts["noise"], parts["hyper"])
        after = {(part, name): value for part in _STATE for name, value in getattr(result, part).items()}
        return after | {_LOSS: result.loss}

    def _keep(self, results: Named) -> torch.Tensor:
        loss = results.pop(_LOSS)
        self._state = results
        return loss.detach().reshape(-1)

    def _record(self, inputs: Named) -> torch.Tensor:
        """Take a step and try to record it; :attr:`_replay` is set only if repeating it gave the same bits."""
        self._untried = False
        given = self._state | inputs
        # Tensors are told apart by their memory while recording, so no two inputs may share any; and if anything goes
        # wrong, the originals are still as they were.
        own = {name: value.clone(memory_format=torch.contiguous_format) for name, value in given.items()}
        results = None
        try:
            results, tape = record(self._taken, own)
            replay = Replay(tape)
            self._replay = replay
            self._write(own)
            replay.run()
            # The proof that repeating is exact, on the numbers of a real step: bit by bit, not up to a tolerance.
            if not all(_same(value, replay.outputs[name]) for name, value in results.items()):
                self._replay = None
        except Exception:
            # The step can still be taken without a recording. If the error is in the step itself, that raises it again.
            self._replay = results = None
        return self._keep(self._taken(given) if results is None else results)

    def _write(self, tensors: Named) -> None:
        assert self._replay is not None
        for name, value in tensors.items():
            self._replay.inputs[name].copy_(value)


def _same(a: torch.Tensor, b: torch.Tensor) -> bool:
    # Not torch.equal, for which a diverged member would make a sound recording look wrong: NaN differs from itself.
    return torch.allclose(a, b, rtol=0, atol=0, equal_nan=True)
