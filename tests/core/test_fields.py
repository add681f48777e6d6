"""Fields are checked against their annotations, in every dataclass that asks for it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, Literal, Protocol

import numpy as np
import pytest
import torch

from beyondkernels.core import Checked
from beyondkernels.core.constraints import any_number, at_least, between, positive, rising
from beyondkernels.core.fields import hints_of
from refusals import refused


@dataclass(frozen=True)
class Part(Checked):
    size: Annotated[int, positive] = 1


class Shown(Protocol):
    text: str


@dataclass(frozen=True)
class Whole(Checked):
    count: int = 1
    rate: float = 0.5
    scale: Annotated[float, positive] = 1.0
    exact: bool = False
    name: str = "a"
    kind: Literal["ntk", "standard"] = "ntk"
    limit: Annotated[float, between(0, 1, "[)")] | None = None
    sizes: Annotated[tuple[int, ...], positive, rising] = (1, 2)
    pair: tuple[int, float] = (1, 2.0)
    part: Part = Part()
    either: Part | str = "a"
    function: Callable[[float], float] = math.sqrt
    names: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    nested: tuple[tuple[float, ...], ...] = ()
    order: Literal[1, 2] | None = None
    anything: Any = None
    shown: Shown | None = None
    wide: Annotated[int, any_number] = 0


WRONG = [
    ("count", 2.5, "must be a whole number, got 2.5"),
    ("count", True, "must be a whole number, got True"),
    ("count", 2**63, "must be less than 2\\^63, got 9223372036854775808"),
    ("count", -(10**5000), "must be less than 2\\^63, got a int that cannot be shown"),
    ("rate", "fast", "must be a number, got 'fast'"),
    ("rate", math.nan, "must be finite, got nan"),
    ("rate", 10**400, "must be finite, got 1000.*0…"),
    ("scale", math.nan, "must be positive, got nan"),
    ("exact", 1, "must be True or False, got 1"),
    ("name", b"a", "must be text, got b'a'"),
    ("kind", "nkt", "must be 'ntk' or 'standard', got 'nkt'"),
    ("limit", 1, r"must lie in \[0, 1\), got 1"),
    ("sizes", 3, "must be a list, got 3"),
    ("sizes", (1, 2.5), "must be a whole number, got 2.5"),
    ("sizes", [2, 1], r"must hold increasing numbers, each once, got \(2, 1\)"),
    ("pair", (1,), r"must be a list of 2 values, got \(1,\)"),
    ("part", 3, "must be a Part, got 3"),
    ("either", 3, "must be a Part or text, got 3"),
    ("function", 3, "must be a function, got 3"),
    ("names", [1], r"must be a mapping, got \[1\]"),
    ("order", True, "must be 1, 2 or None, got True"),
]


@pytest.mark.parametrize(("name", "value", "sentence"), WRONG, ids=lambda value: type(value).__name__)
def test_what_does_not_fit_is_said(name, value, sentence):
    refused(f"^(each of )*{name} {sentence}", Whole, **{name: value})


@pytest.mark.parametrize(
    ("name", "value", "kept"),
    [
        ("count", np.int32(3), 3),
        ("count", torch.tensor(3), 3),
        ("rate", torch.tensor(0.25), 0.25),
        ("rate", 2, 2),
        ("exact", np.True_, True),
        ("limit", None, None),
        ("sizes", [1, np.int64(2)], (1, 2)),
        ("sizes", range(1, 4), (1, 2, 3)),
        ("pair", [1, 2], (1, 2)),
        ("nested", [[1], (2, 3)], ((1.0,), (2.0, 3.0))),
        ("order", np.int8(2), 2),
        ("anything", {1, 2}, {1, 2}),
        ("shown", 3, 3),
    ],
)
def test_what_means_the_same_is_kept_the_same(name, value, kept):
    found = getattr(Whole(**{name: value}), name)
    assert found == kept
    assert type(found) is type(kept)
    flat = [found, *found, *(found[0] if name == "nested" else ())] if isinstance(found, tuple) else [found]
    assert all(type(item).__module__ == "builtins" for item in flat)


def test_fields_are_checked_before_the_own_code_runs_and_once():
    seen = []

    @dataclass(frozen=True)
    class Base(Checked):
        size: Annotated[int, at_least(2)] = 2

        def __post_init__(self) -> None:
            seen.append(self.size + 1)

    @dataclass(frozen=True)
    class Heir(Base):
        more: float = 1.0

        def __post_init__(self) -> None:
            super().__post_init__()
            object.__setattr__(self, "more", "kept as it is")  # by then everything was checked

    @dataclass(frozen=True)
    class Last(Heir):
        pass

    for cls in (Base, Heir, Last):
        seen.clear()
        assert cls(3).size == 3
        assert seen == [4]
        refused("size must be at least 2, got 1", cls, 1)
        refused("size must be a whole number, got '1'", replace, cls(3), size="1")
        assert seen == [4, 4]
    assert vars(Last(3))["more"] == "kept as it is"


def test_a_class_whose_annotations_nobody_finds_is_not_checked():
    class Hidden:
        pass

    @dataclass(frozen=True)
    class Local(Checked):
        of: Hidden

    assert hints_of(Local) == {}
    assert Local(3).of == 3  # pyright: ignore[reportArgumentType]
