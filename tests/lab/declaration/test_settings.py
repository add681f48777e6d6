from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

import pytest

from beyondkernels.core import InputError
from beyondkernels.lab import changed, described, setting
from beyondkernels.lab.declaration.settings import as_word, parsed


@dataclass(frozen=True)
class Numbers:
    steps: int = setting(600, "paper", "as printed")
    rate: float = setting(0.1, "theorem")
    ridge: float | None = setting(None, "ours", "chosen by validation")
    exact: bool = setting(True, "ours")
    kind: str = setting("plain", "ours")
    side: Literal["left", "right"] = setting("left", "ours")
    grid: tuple[int, ...] = setting((1, 2), "ours")


@pytest.mark.parametrize(
    ("name", "given", "read"),
    [
        ("steps", "600", 600),
        ("steps", 7.0, 7),
        ("rate", "5e1", 50.0),
        ("rate", 3, 3.0),
        ("ridge", "none", None),
        ("ridge", None, None),
        ("ridge", "1e-3", 1e-3),
        ("exact", "no", False),
        ("exact", False, False),
        ("kind", "fancy", "fancy"),
        ("side", "right", "right"),
        ("grid", "3, 4,5", (3, 4, 5)),
        ("grid", [3, 4], (3, 4)),
    ],
)
def test_values_are_read_as_the_fields_type(name: str, given: Any, read: Any) -> None:
    value = getattr(changed(Numbers(), {name: given}), name)
    assert value == read
    assert type(value) is type(read)


@pytest.mark.parametrize(
    ("name", "given", "sentence"),
    [
        ("steps", "x", "steps must be a whole number, got 'x'"),
        ("steps", 1.5, "steps must be a whole number, got 1.5"),
        ("steps", True, "steps must be a whole number, got True"),
        ("steps", [1], "steps must be a whole number, got [1]"),
        ("steps", "__import__('os')", "steps must be a whole number, got \"__import__('os')\""),
        ("rate", "fast", "rate must be a finite number, got 'fast'"),
        ("rate", "nan", "rate must be a finite number, got 'nan'"),
        ("rate", 10**400, None),
        ("ridge", "big", "ridge must be a finite number, got 'big'"),
        ("exact", "perhaps", "exact must be yes or no, got 'perhaps'"),
        ("kind", 3, "kind must be a word, got 3"),
        ("side", "middle", "unknown side 'middle', known: left, right"),
        ("grid", "1,x", "grid must be a whole number, got 'x'"),
        ("grid", 3, "grid must be a list, got 3"),
        ("stps", "600", "unknown setting 'stps', did you mean steps?"),
    ],
)
def test_bad_values_are_named(name: str, given: Any, sentence: str | None) -> None:
    with pytest.raises(InputError) as error:
        changed(Numbers(), {name: given})
    assert sentence is None or str(error.value) == sentence


def test_a_type_that_no_text_can_give_is_refused() -> None:
    with pytest.raises(InputError, match="where cannot be set from outside"):
        parsed("where", "x", dict[str, int])


def test_changed_leaves_the_rest_alone() -> None:
    before = Numbers()
    after = changed(before, {"steps": "7", "rate": "2"})
    assert (after.steps, after.rate) == (7, 2.0)
    assert replace(after, steps=600, rate=0.1) == before
    assert changed(before, {}) == before


def test_words_are_read_back() -> None:
    values = Numbers(steps=3, rate=1e-7, ridge=0.5, exact=False, kind="x", side="right", grid=(4, 5))
    for settings in (values, Numbers()):
        words = {name: as_word(value) for name, value in vars(settings).items()}
        assert changed(Numbers(), words) == settings


def test_origins() -> None:
    listed = {s.name: (s.value, s.origin, s.why) for s in described(Numbers(steps=40, rate=0.2, kind="x"), Numbers())}
    assert listed["steps"] == (40, "ours", "differs from the paper's 600")
    assert listed["rate"] == (0.2, "ours", "differs from the theorem's 0.1")
    assert listed["kind"] == ("x", "ours", "at paper scale plain")
    seeded = described(Numbers(ridge=1.0), Numbers())
    assert {s.name: s.why for s in seeded}["ridge"] == "at paper scale None: chosen by validation"
    assert listed["ridge"] == (None, "ours", "chosen by validation")
    same = {s.name: (s.origin, s.why) for s in described(Numbers(), Numbers())}
    assert same["steps"] == ("paper", "as printed")
    assert same["rate"] == ("theorem", "")


def test_a_field_without_an_origin_is_ours() -> None:
    @dataclass(frozen=True)
    class Bare:
        steps: int = 3

    assert [(s.name, s.origin, s.why) for s in described(Bare(), Bare())] == [("steps", "ours", "")]
