"""How far a round is, and how long the rest may take."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from beyondkernels.execution.costs import Costs, Round
from beyondkernels.execution.events import Event

_EARLY = 1.0
"""Seconds in which nothing can be said: starting workers and importing torch take most of them."""

_TELLING = 0.05
"""A chunk tells what its runs take once this part of it is done."""

_UNKNOWN = 0.25
"""While more of the runs left are of kinds nobody has seen, nothing is said, unless much is over."""

_VARIED = 3
"""From so many kinds on, and once a quarter of all runs is over, kinds nobody has seen are taken to be like those."""


@dataclass
class _Chunk:
    """Runs that one worker does together."""

    started: float
    open: set[str]
    fraction: float = 0.0


@dataclass
class TimeEstimate:
    """Counts what is done, by kind; an event costs the same however many runs there are.

    Arguments:
        clock: seconds.
    """

    clock: Callable[[], float] = time.monotonic
    round: Round = field(default_factory=lambda: Round({}))
    ended: set[str] = field(default_factory=set)
    parallel: int = 1
    _seen: Costs = field(default_factory=Costs)
    _waiting: Counter[str] = field(default_factory=Counter)
    _chunk_of: dict[str, _Chunk] = field(default_factory=dict)
    _chunks: dict[tuple[str, ...], _Chunk] = field(default_factory=dict)
    _started: float = 0.0

    def begin(self, planned: Round) -> None:
        """Begin a round: what was counted in earlier ones stays known as costs."""
        self.round, self.ended, self._started = planned, set(), self.clock()
        self._waiting = Counter(self._kind(key) for key in planned.names)
        self._chunk_of, self._chunks = {}, {}

    def happened(self, event: Event) -> None:
        """Count what an executor tells."""
        if event.kind == "progress" and event.chunk:
            chunk = self._chunks.get(event.chunk) or self._open(event.chunk)
            chunk.fraction = max(chunk.fraction, min(event.fraction, 1.0))  # a learner may tell anything, even NaN
        key = event.key
        if event.kind == "run" and key is not None and key in self.round.names and key not in self.ended:
            self.ended.add(key)
            if event.status != "crashed":
                # A crash ends early, so its seconds would make the other runs of its kind look short.
                self._seen.add(self._kind(key), event.seconds)
            self._leave(key)

    @property
    def done(self) -> float:
        """How many runs are done, parts counted."""
        return len(self.ended) + sum(len(chunk.open) * chunk.fraction for chunk in self._chunks.values())

    def remaining(self) -> float | None:
        """Seconds until the round is over; None while too little is known.

        The runs that are being worked on go on as fast as they went. Those that wait take what others of their kind
        took, in this call or, as long as none has ended, in earlier ones.
        """
        if self.clock() - self._started <= _EARLY:
            return None
        left = [self._left(chunk) for chunk in self._chunks.values()]
        rates = {kind: self._rate(kind) for kind, number in self._waiting.items() if number}
        known = {kind: rate for kind, rate in rates.items() if rate is not None}
        unknown = sum(self._waiting[kind] for kind in rates if kind not in known)
        # A chunk of an unknown kind that has told nothing yet says as little as a run that waits.
        unknown += sum(len(chunk.open) for chunk, rest in zip(self._chunks.values(), left, strict=True) if rest is None)
        runs = len(self.round.names)
        # Where sizes differ from run to run each may be a kind of its own, and waiting until all kinds are known would
        # be waiting for the end.
        varied = len(self._seen.totals) >= _VARIED and 4 * len(self.ended) >= runs
        if unknown > _UNKNOWN * (runs - len(self.ended)) and not varied:
            return None
        work = sum(self._waiting[kind] * rate for kind, rate in known.items())
        open_work = [rest for rest in left if rest is not None]
        total = work + unknown * self._usual(known) + sum(open_work)
        # However many workers there are, the round lasts as long as its longest open chunk.
        return max([total / self.parallel, *open_work])

    def _usual(self, known: Mapping[str, float]) -> float:
        """What a run of a kind nobody has seen is taken to need: the mean over kinds."""
        rates = [self._seen.seconds(kind) or 0.0 for kind in self._seen.totals] or list(known.values())
        return sum(rates) / len(rates) if rates else 0.0

    def _kind(self, key: str) -> str:
        return self.round.kinds.get(key, "")

    def _rate(self, kind: str) -> float | None:
        if (seen := self._seen.seconds(kind)) is not None:
            return seen
        telling = [chunk for chunk in self._chunks.values() if chunk.fraction >= _TELLING]
        same = [chunk for chunk in telling if any(self._kind(key) == kind for key in chunk.open)]
        rates = [(self.clock() - each.started) / each.fraction / len(each.open) for each in same]
        # Earlier calls come last: this machine, now, is a better witness than another day.
        return sum(rates) / len(rates) if rates else self.round.costs.seconds(kind)

    def _left(self, chunk: _Chunk) -> float | None:
        """Seconds of work left in a chunk."""
        spent = self.clock() - chunk.started
        if chunk.fraction >= _TELLING:
            return spent * (1 - chunk.fraction) / chunk.fraction
        rates = [self._seen.seconds(kind) or self.round.costs.seconds(kind) for kind in map(self._kind, chunk.open)]
        known = [rate for rate in rates if rate is not None]
        return max(sum(known) - spent, 0.0) if known and len(known) == len(rates) else None

    def _open(self, keys: tuple[str, ...]) -> _Chunk:
        mine = {key for key in keys if key in self.round.names and key not in self.ended}
        chunk = self._chunks[keys] = _Chunk(self.clock(), mine)
        for key in mine:
            self._leave(key)
            self._chunk_of[key] = chunk
        # Counted rather than asked for, because fewer chunks than workers may be left. The most seen so far, because
        # the gap between two chunks of a worker is no change.
        self.parallel = max(self.parallel, len(self._chunks))
        return chunk

    def _leave(self, key: str) -> None:
        """A run that waited, or was tried in another chunk before, does so no more."""
        before = self._chunk_of.pop(key, None)
        if before is None:
            self._waiting[self._kind(key)] -= 1
        else:
            before.open.discard(key)
            self._forget()

    def _forget(self) -> None:
        # Chunks in which nothing is open any more. So there are never more chunks than workers, and an event costs the
        # same however many runs there are.
        for keys in [keys for keys, chunk in self._chunks.items() if not chunk.open]:
            del self._chunks[keys]
