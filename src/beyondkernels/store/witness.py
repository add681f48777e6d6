"""Witnesses: what a user's own code does on a few points, kept with a run, so that a store knows the code again.

Reading code can never be complete: a file that a model reads, or an attribute that it asks for by a computed name, is
behind no name in its code. So behaviour counts as well. A component of a user's, or one of ours around a user's module,
kernel or function, is run on a few points from streams of its own, and what it gives belongs to the key of the run.
"""

from __future__ import annotations

import contextlib
import copy
import hashlib
import math
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields
from typing import TYPE_CHECKING, Any, cast

from beyondkernels.core.components import Component, canonical_json
from beyondkernels.core.errors import InputError, shown
from beyondkernels.core.libraries import is_of_a_library
from beyondkernels.store.provenance import libraries, processor

if TYPE_CHECKING:
    import numpy as np

    from beyondkernels.core.contracts import Learner, Problem

POINTS = 64
"""How many points of each part of a user's problem are looked at."""

CLEAR = 64
"""How many numbers of a witness are kept in clear, for other machines."""

TOLERANCE = 1e-4
"""By how much the numbers of one model may differ from machine to machine, relative to their size."""

_EXACT = "parameters"
"""What is compared to the bit only: a step of Adam hangs on the sign of a gradient, however small."""

_MOST = 128
_known: dict[object, tuple[Any, dict[str, Any] | None]] = {}


def witness_of(learner: Learner, problem: Problem, samples: int, others: tuple[Component, ...] = ()) -> Any:
    """What a user's own code in a run does on a few points, as plain data; None if nothing in the run is a user's.

    It holds a ``digest`` of all numbers, some of the ``numbers`` in clear, the version of torch and the kind of
    processor that gave them, and the names of components that are known ``by_code`` only. It is computed with one
    thread, and once in a process, or since :func:`forget_witnesses`, for the same learner and problem.

    Arguments:
        learner: of the run.
        problem: of the run.
        samples: how many points the learner is given.
        others: further components, which are known by their code.
    """
    whole = (learner, problem, *others)
    if not any(_is_brought(part) for part in whole):
        return None
    # By the objects themselves where they carry what no description tells: two models may be read as one.
    carried = [each for part in whole for each in _carried(part)]
    asked = (*map(canonical_json, whole), *map(id, carried), min(samples, 4096))
    if asked not in _known:
        # The oldest goes first: dictionaries keep the order in which things came.
        while len(_known) >= _MOST:
            del _known[next(iter(_known))]
        _known[asked] = (carried, _made(learner, problem, samples, others))  # with them, so that no id is given anew
    return _known[asked][1]


def forget_witnesses() -> None:
    """Look anew: what a notebook has read, set or edited since may change what a model does."""
    _known.clear()


def agrees(mine: Any, stored: Any) -> bool:
    """Whether a witness from another version of torch or kind of processor is that of the same model.

    Arguments:
        mine: a witness made here.
        stored: one from a store, which somebody else may have written.
    """
    try:
        if (mine["torch"], mine["cpu"]) == (stored["torch"], stored["cpu"]) or mine["by_code"] != stored["by_code"]:
            return False  # on one kind of machine equal models have equal bits
        here, there = mine["numbers"], stored["numbers"]
        return here.keys() == there.keys() and all(_close(here[name], there[name]) for name in here)
    except (KeyError, TypeError, AttributeError):
        return False


def _close(mine: list[float | None], other: list[float | None]) -> bool:
    if len(mine) != len(other) or [each is None for each in mine] != [each is None for each in other]:
        return False
    pairs = [(a, b) for a, b in zip(mine, other, strict=True) if a is not None and b is not None]
    size = math.sqrt(sum(a * a for a, _ in pairs) / len(pairs)) if pairs else 0.0
    return all(abs(a - b) <= TOLERANCE * (abs(a) + size) for a, b in pairs)


def _made(learner: Learner, problem: Problem, samples: int, others: tuple[Component, ...]) -> dict[str, Any]:
    numbers: dict[str, np.ndarray] = {}
    by_code: list[str] = []
    with _one_thread():
        if _is_brought(problem):
            numbers |= _tried("problem/", by_code, problem, lambda: _points(problem, samples))
        numbers |= _looked_at(learner, problem, samples, by_code)
    by_code += [type(each).__name__ for each in others if _is_brought(each)]
    if not numbers:
        return {"by_code": sorted(set(by_code))}
    clear = {name: value for name, value in numbers.items() if not name.startswith(_EXACT)} or numbers
    return {
        "digest": _digest(numbers),
        "numbers": {name: _some(value, max(1, CLEAR // len(clear))) for name, value in list(clear.items())[:CLEAR]},
        "torch": libraries().get("torch"),
        "cpu": processor(),
        "by_code": sorted(set(by_code)),
    }


def _looked_at(part: Any, problem: Problem, samples: int, by_code: list[str]) -> dict[str, np.ndarray]:
    """What a component says of itself, or else what its parts do."""
    if not _is_brought(part):
        return {}
    if hasattr(part, "witness"):
        # A copy, because a user's module may count its calls.
        return _tried("", by_code, part, lambda: copy.deepcopy(part).witness(problem, samples))
    if not is_of_a_library(type(part)):
        by_code.append(type(part).__name__)
    found: dict[str, np.ndarray] = {}
    for name, value in _parts(part):
        inside = _looked_at(value, problem, samples, by_code)
        found |= {f"{name}/{each}": value for each, value in inside.items()}
    return found


def _tried(where: str, by_code: list[str], part: Any, look: Callable[[], Any]) -> dict[str, np.ndarray]:
    try:
        found = look()
    except (Exception, SystemExit):  # a user's code; what is wrong with it is told when it runs
        by_code.append(type(part).__name__)
        return {}
    try:
        return {f"{where}{name}": _array(value) for name, value in found.items()}
    except Exception as error:  # whatever it is
        raise InputError(f"what {type(part).__name__} does must be arrays by name, got {shown(found)}") from error


def _points(problem: Problem, samples: int) -> dict[str, np.ndarray]:
    """The first points and labels of each part."""
    found = {}
    for part in ("train", "validation", "test"):
        sample = problem.take(part, min(samples, POINTS), 0)
        found |= {f"{part}_x": sample.x, f"{part}_y": sample.y}
    return found


def _is_brought(value: Any) -> bool:
    """Whether something of a user's own is in a component."""
    if not isinstance(value, Component):
        return callable(value) and not is_of_a_library(value)
    if not is_of_a_library(type(value)) or getattr(value, "brought", False):
        return True
    return any(_is_brought(each) for _, each in _parts(value))


def _carried(value: Any) -> Iterator[Any]:
    """The objects in a component that its description does not hold: classes, functions, modules."""
    if isinstance(value, Component):
        yield type(value)
        for field in fields(cast(Any, value)):
            if not field.metadata.get("identity", True):
                yield getattr(value, field.name)
        for _, each in _parts(value):
            yield from _carried(each)
    elif callable(value):
        yield value


def _parts(value: Component) -> Iterator[tuple[str, Any]]:
    """What a component holds, and what its tuples and mappings hold."""
    for field in fields(cast(Any, value)):
        held = getattr(value, field.name)
        if isinstance(held, tuple | list):
            yield from ((f"{field.name}[{i}]", each) for i, each in enumerate(held))
        elif isinstance(held, Mapping):
            yield from ((f"{field.name}[{key}]", each) for key, each in held.items())
        elif field.metadata.get("identity", True):
            yield field.name, held


def _array(value: Any) -> np.ndarray:
    """A tensor or array as NumPy has it, which knows no bfloat16."""
    import numpy as np  # here, because the command line looks into stores without it

    if hasattr(value, "detach"):
        value = value.detach().cpu()
        value = (value.float() if str(value.dtype) == "torch.bfloat16" else value).numpy()
    array = np.ascontiguousarray(value)
    if array.dtype.hasobject:
        raise TypeError("objects")
    return array


def _digest(numbers: Mapping[str, np.ndarray]) -> str:
    hashed = hashlib.sha256()
    for name, value in numbers.items():
        hashed.update(f"{name} {value.dtype} {value.shape} ".encode())
        hashed.update(value.tobytes())
    return hashed.hexdigest()[:32]


def _some(value: np.ndarray, most: int) -> list[float | None]:
    """So many numbers of an array, evenly spread; JSON has no infinity and no NaN."""
    flat = value.reshape(-1)
    rows = [i * len(flat) // most for i in range(most)] if len(flat) > most else slice(None)
    return [float(each) if math.isfinite(each) else None for each in flat[rows].astype("float64")]


@contextlib.contextmanager
def _one_thread() -> Iterator[None]:
    """One thread and deterministic algorithms, whatever the process is set to: sums then have one order."""
    torch: Any = sys.modules.get("torch")
    if not hasattr(torch, "Tensor"):  # nothing here computes with it
        yield
        return
    threads, strict = torch.get_num_threads(), torch.are_deterministic_algorithms_enabled()
    only_warns = torch.is_deterministic_algorithms_warn_only_enabled()
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True, warn_only=True)
    try:
        yield
    finally:
        torch.set_num_threads(threads)
        torch.use_deterministic_algorithms(strict, warn_only=only_warns)
