"""Exported functions name the argument that does not fit its annotation."""

import importlib
import inspect
import timeit
import types
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import pytest
import torch

from beyondkernels import LAYERS, activations
from beyondkernels.core import DivergedError, InputError, canonical_json
from beyondkernels.core.boundary import check_exports, checked, unchecked
from beyondkernels.core.constraints import positive
from refusals import refused


def halved(n: int, x: torch.Tensor, kind: Literal["a", "b"] | None = None, *, share: float = 0.5) -> Any:
    """What a package might export."""
    if n == 13:
        raise KeyError("a fault of ours")
    if n == 14:
        raise DivergedError("no end")
    return x.reshape(n, -1) * share, kind


HALVED = checked(halved)
X = torch.ones(4)


def test_what_fits_is_left_alone() -> None:
    assert torch.equal(HALVED(2, X, "b", share=1)[0], X.reshape(2, 2))
    assert inspect.signature(HALVED) == inspect.signature(halved)
    with pytest.raises(KeyError, match="a fault of ours"):  # with right arguments an error stays what it is
        HALVED(13, X)
    with pytest.raises(DivergedError):
        HALVED(14, None)
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'x'"):
        HALVED(2)


def test_what_does_not_fit_is_named() -> None:
    refused("n must be a whole number, got 'x'", HALVED, "x", X)
    refused("x must be a Tensor, got None", HALVED, 2, None)
    refused("share must be a number, got 'x'", HALVED, 2, X, share="x")
    refused("share must be a number, got", HALVED, n=2, x=X, share=object())
    refused("kind must be 'a', 'b' or None, got 'c'", HALVED, 2, X, "c")  # nothing else would notice
    with pytest.raises(InputError) as caught:
        HALVED("x", X)
    assert isinstance(caught.value.__cause__, TypeError)


@dataclass(frozen=True)
class Pair:
    """What a package might export."""

    first: Annotated[float, positive]
    x: torch.Tensor
    others: Sequence[int] = ()

    def __post_init__(self) -> None:
        _ = self.x @ self.x, [1 << each for each in self.others]


def test_constructors_say_the_same() -> None:
    made = checked(Pair.__init__, Pair)

    def pair(*args: Any) -> None:
        made(object.__new__(Pair), *args)

    pair(1, X)
    refused("first must be positive, got 0", pair, 0, X)  # before anything is made of it
    refused("x must be a Tensor, got 'x'", pair, 1, "x")
    refused("each of others must be a whole number, got 'x'", pair, 1, X, ["x"])
    refused("others must be a list, got 'x'", pair, 1, X, "x")
    refused(r"x of shape \(2, 3\) and type torch.float32 does not fit: mat1 and mat2", pair, 1, torch.ones(2, 3))
    refused("x must be an ordinary tensor of numbers, got a sparse", powers_of, X.to_sparse())
    refused("x must be an ordinary tensor of numbers, got a tensor without", powers_of, X.to("meta"))


@checked
def powers_of(x: Any) -> list[int]:
    return [1 << each for each in x.tolist()]


@checked
def looked_up(table: dict[str, int], name: str) -> int:
    return table[name]


def test_what_an_error_speaks_of_is_named() -> None:
    refused("table must have the key 'w'", looked_up, {}, "w")
    refused("name must be text, got 3", looked_up, {}, 3)
    refused("x = None does not fit: 'NoneType' object has no attribute 'tolist'", powers_of, None)


def test_a_function_is_the_same_with_its_check() -> None:
    """Configurations hold functions, and the check around one does not change the key of a run."""
    names = {"wrapped": activations.taylor_series, "own": halved}
    check_exports(names)
    assert names["wrapped"] is activations.taylor_series  # once is enough
    assert unchecked(names["wrapped"]).__module__ == "beyondkernels.activations.taylor"
    assert names["own"] is halved  # of another package
    assert canonical_json(names["wrapped"]) == canonical_json(unchecked(names["wrapped"]))


def test_a_check_costs_little() -> None:
    def spent(function: Any) -> float:
        return min(timeit.repeat(lambda: function(2, X, "a"), number=100, repeat=50)) / 100

    assert spent(HALVED) - spent(halved) < 20e-6


def test_exported_functions_refuse_what_is_nothing_of_the_kind() -> None:
    """Each argument in turn is an object that fits no annotation; whatever is asked of it comes back as a sentence."""
    rooms = [f"beyondkernels.{name}" for name in LAYERS]
    for paper in ("bfc", "features", "overparam", "resnet"):
        rooms += [f"beyondkernels.papers.{paper}.theory", f"beyondkernels.papers.{paper}.measurements"]
    wrong, calls = [], 0
    for room in rooms:
        names = vars(importlib.import_module(room))
        if "_check_exports" not in names:
            continue
        for name, function in [*names.items()]:
            if not isinstance(function, types.FunctionType) or name[0] == "_" or unchecked(function) is function:
                continue
            for each in inspect.signature(function).parameters.values():
                if each.kind in (each.VAR_POSITIONAL, each.VAR_KEYWORD):
                    continue
                calls += 1
                arguments = dict.fromkeys(needed(function), Nothing()) | {each.name: Nothing()}
                try:
                    function(**arguments)
                except (InputError, DivergedError):
                    continue
                except Exception as error:
                    wrong.append(f"{room}.{name}({each.name}): {type(error).__name__}: {error}")
    assert calls > 300
    assert not wrong, f"{len(wrong)} of {calls}:\n" + "\n".join(wrong)


class Nothing:
    """Of no kind that any function takes."""


def needed(function: Any) -> list[str]:
    """The arguments without a default."""
    parameters = inspect.signature(function).parameters.values()
    return [each.name for each in parameters if each.default is each.empty and each.kind not in (2, 4)]
