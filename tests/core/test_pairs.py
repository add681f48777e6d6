"""Models that compute different things have different identities, and the same model has one."""

from __future__ import annotations

import collections
import contextlib
import enum
import fractions
import functools
import importlib
import math
import operator
import pathlib
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.preprocessing import StandardScaler
from torch import nn

from beyondkernels.core import UncacheableError, digest
from beyondkernels.core.fingerprints import fingerprint
from beyondkernels.networks import FromCopy


@dataclass(slots=True)
class Slots:
    scale: float


class Scaled:
    def __init__(self, scale: float) -> None:
        self.scale = scale

    def __call__(self, x: Any) -> Any:
        return x * self.scale

    def method(self, x: Any) -> Any:
        return x * self.scale


class OwnList(list[int]):
    pass


class OwnDict(dict[str, int]):
    scale = 1


def with_attribute(scale: int) -> OwnDict:
    made = OwnDict(a=1)
    made.scale = scale
    return made


class Level(enum.Enum):
    LOW = 1
    HIGH = 2


Pair = collections.namedtuple("Pair", "one other")


class Endless:
    """An iterator that stands among the values by which objects are made."""

    def __init__(self, start: int) -> None:
        self.start = start

    def __reduce__(self) -> Any:
        return Endless, (self.start,), None, iter([])

    def __next__(self) -> int:
        return self.start


class Named:
    def __init__(self, scale: float) -> None:
        self.scale = scale

    def __reduce__(self) -> str:
        return "NAMED"


class Open:
    def __init__(self, **held: Any) -> None:
        vars(self).update(held)

    def __getattr__(self, name: str) -> Any:
        if name[:2] == "__":
            raise AttributeError(name)


class Strict(dict[str, Any]):
    def __getattr__(self, name: str) -> Any:
        if name[:2] == "__":
            raise AttributeError(name)
        return self[name]


def quiet(scale: float) -> Callable[..., Any]:
    @torch.no_grad()
    def inner(x: Any) -> Any:
        return x * scale

    return inner


def managed(scale: float) -> Callable[..., Any]:
    @contextlib.contextmanager
    def inner() -> Iterator[float]:
        yield scale

    return inner


def dispatched(scale: float) -> Callable[..., Any]:
    @functools.singledispatch
    def inner(x: Any) -> Any:
        return x

    inner.register(int, lambda x: x * scale)
    inner(1)  # it remembers which kinds it was asked for
    return inner


def tagged(tag: int) -> torch.Tensor:
    made = torch.ones(2)
    made.tag = tag  # pyright: ignore[reportAttributeAccessIssue]
    return made


def decorated(scale: float) -> Callable[..., Any]:
    @functools.wraps(math.sin)
    def inner(x: Any) -> Any:
        return x * scale

    return inner


PAIRS: dict[str, tuple[Callable[[], Any], Callable[[], Any]]] = {
    "repeats": (lambda: [torch.sin, torch.tanh, torch.sin], lambda: [torch.sin, torch.tanh, torch.tanh]),
    "slots": (lambda: Slots(1.0), lambda: Slots(2.0)),
    "bound method": (lambda: Scaled(1).method, lambda: Scaled(2).method),
    "object": (lambda: Scaled(1), lambda: Scaled(2)),
    "distribution": (lambda: torch.distributions.Normal(0.0, 1.0), lambda: torch.distributions.Normal(5.0, 1.0)),
    "frame of numbers": (lambda: pd.DataFrame({"a": [1, 2]}), lambda: pd.DataFrame({"a": [1, 3]})),
    "frame of words": (lambda: pd.DataFrame({"a": ["x", "y"]}), lambda: pd.DataFrame({"a": ["x", "z"]})),
    "frame's column": (lambda: pd.DataFrame({"a": [1]}), lambda: pd.DataFrame({"b": [1]})),
    "range": (lambda: range(3), lambda: range(4)),
    "slice": (lambda: slice(1, 2), lambda: slice(1, 3)),
    "deque": (lambda: collections.deque([1, 2]), lambda: collections.deque([1, 3])),
    "fraction": (lambda: fractions.Fraction(1, 2), lambda: fractions.Fraction(1, 3)),
    "path": (lambda: pathlib.PurePosixPath("a"), lambda: pathlib.PurePosixPath("b")),
    "pattern": (lambda: re.compile("a"), lambda: re.compile("b")),
    "pattern's flags": (lambda: re.compile("a"), lambda: re.compile("a", re.IGNORECASE)),
    "itemgetter": (lambda: operator.itemgetter(1), lambda: operator.itemgetter(2)),
    "attrgetter": (lambda: operator.attrgetter("a"), lambda: operator.attrgetter("b")),
    "method of a list": (lambda: [1].count, lambda: [2].count),
    "own list": (lambda: OwnList([1]), lambda: OwnList([2])),
    "attribute of a dict": (lambda: with_attribute(1), lambda: with_attribute(2)),
    "named tuple": (lambda: Pair(1, 2), lambda: Pair(1, 3)),
    "member of an enumeration": (lambda: Level.LOW, lambda: Level.HIGH),
    "default of a dict": (lambda: collections.defaultdict(int), lambda: collections.defaultdict(float)),
    "counter": (lambda: collections.Counter("aab"), lambda: collections.Counter("ab")),
    "array of objects": (lambda: np.array([1, "a"], dtype=object), lambda: np.array([1, "b"], dtype=object)),
    "array's shape": (lambda: np.zeros((2, 3)), lambda: np.zeros((3, 2))),
    "half precision": (lambda: torch.tensor([1.0]).bfloat16(), lambda: torch.tensor([2.0]).bfloat16()),
    "cache": (lambda: functools.cache(lambda x: x + 1), lambda: functools.cache(lambda x: x + 2)),
    "property": (lambda: property(lambda self: 1), lambda: property(lambda self: 2)),
    "generator of numbers": (lambda: np.random.default_rng(1), lambda: np.random.default_rng(2)),
    "torch's generator": (lambda: torch.Generator().manual_seed(1), lambda: torch.Generator().manual_seed(2)),
    "ufunc": (lambda: np.sin, lambda: np.cos),
    "function in C": (lambda: math.sin, lambda: math.cos),
    "partial": (lambda: functools.partial(max, 1), lambda: functools.partial(max, 2)),
    "decorated": (lambda: decorated(1.0), lambda: decorated(2.0)),
    "attribute of a function": (lambda: marked(1), lambda: marked(2)),
    "lists of lists": (lambda: [[1], [2]], lambda: [[1, 2]]),
    "subclass of a number": (lambda: np.float64(1.0), lambda: 1.0),
    "decorator of a library": (lambda: quiet(1.0), lambda: quiet(2.0)),
    "manager of contexts": (lambda: managed(1.0), lambda: managed(2.0)),
    "dispatched by kind": (lambda: dispatched(1.0), lambda: dispatched(2.0)),
    "vectorised by torch": (lambda: torch.vmap(lambda x: x + 1), lambda: torch.vmap(lambda x: x + 2)),
    "metaclass": (
        lambda: type("Meta", (type,), {"k": 1})("A", (), {}),
        lambda: type("Meta", (type,), {"k": 2})("A", (), {}),
    ),
    "half or single": (lambda: torch.ones(2).bfloat16(), lambda: torch.ones(2)),
    "attribute of a tensor": (lambda: tagged(1), lambda: tagged(2)),
    "fitted estimator": (lambda: StandardScaler().fit([[0.0], [1.0]]), lambda: StandardScaler().fit([[0.0], [2.0]])),
    "name instead of its state": (lambda: Named(1), lambda: Named(2)),
    "mask": (lambda: np.ma.array([1, 2], mask=[False, True]), lambda: np.ma.array([1, 2], mask=[True, False])),
    "endless iterator": (lambda: Endless(1), lambda: Endless(2)),
    "answers to every name": (lambda: Open(k=1), lambda: Open(k=2)),
    "raises for unknown names": (lambda: Strict(k=1), lambda: Strict(k=2)),
}


def marked(mark: int) -> Callable[..., Any]:
    def function(x: Any) -> Any:
        return x * function.mark  # pyright: ignore[reportFunctionMemberAccess]

    function.mark = mark  # pyright: ignore[reportFunctionMemberAccess]
    return function


UNCOPIED = ("generator of numbers", "torch's generator", "attribute of a tensor", "name instead of its state")


@pytest.mark.parametrize("name", PAIRS)
def test_different_values(name: str) -> None:
    one, other = PAIRS[name]
    assert fingerprint(one()) == fingerprint(one())
    assert fingerprint(one()) != fingerprint(other())


class Acting(nn.Module):
    """What an attribute says decides what it computes."""

    def __init__(self, held: Any) -> None:
        super().__init__()
        self.line, self.held = nn.Linear(4, 2), held

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.line(x)


@pytest.mark.parametrize("name", [name for name in PAIRS if name not in UNCOPIED])
def test_different_attributes_of_modules(name: str) -> None:
    one, other = PAIRS[name]
    assert (
        digest(FromCopy.of(Acting(one()))) == digest(FromCopy.of(Acting(one()))) != digest(FromCopy.of(Acting(other())))
    )


class Order(nn.Module):
    """A list that holds parameters, and says in which order they are used."""

    def __init__(self, order: tuple[int, ...]) -> None:
        super().__init__()
        self.lines = nn.ModuleList(nn.Linear(2, 2) for _ in order)
        self.weights = [self.lines[i].weight for i in order]

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return functools.reduce(lambda h, w: torch.tanh(h @ w), self.weights, x)  # pyright: ignore


def test_a_list_that_holds_parameters_counts() -> None:
    assert (
        digest(FromCopy.of(Order((0, 1)))) == digest(FromCopy.of(Order((0, 1)))) != digest(FromCopy.of(Order((1, 0))))
    )


FILES = {
    "target.py": "from mine.inner import twice\nfrom mine import sub\nimport mine.deep\n"
    "def make(x):\n    return twice(x) + sub.one(x) + mine.deep.two(x)\n"
    "def late(x):\n    from mine.lazily import three\n    return three(x)\n"
    "def named(x):\n    return x.unrelated\nunrelated = 1\n"
    "def inside(x):\n    from mine import within\n    return within.four(x)\n"
    "def by_text(x):\n    return getattr(sub, 'SHIFT') * sub.one(x)\n"
    "def by_globals(x):\n    return globals()['unrelated'] * x\n"
    "def by_import(x):\n    import importlib\n    return importlib.import_module('mine.within').four(x)\n"
    "def asked(x):\n    return mine.deep.anything * mine.deep.two(x)\n",
    "mine/__init__.py": "",
    "mine/inner.py": "from mine.innermost import FACTOR\ndef twice(x):\n    return FACTOR * x\n",
    "mine/innermost.py": "FACTOR = 2\n",
    "mine/sub.py": "SHIFT = 1\ndef one(x):\n    return x + SHIFT\ndef unused(x):\n    return x\n",
    "mine/deep.py": "def two(x):\n    return x - 2\ndef __getattr__(name):\n    return 5\n",
    "mine/within.py": "def four(x):\n    return x * 4\n",
    "mine/lazily.py": "def three(x):\n    return x / 3\n",
}


@pytest.fixture
def project(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Any]]:
    """The module of a user's project, with one line of one file changed, loaded anew."""
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)  # files change faster than their dates

    def forget() -> None:
        for name in [name for name in sys.modules if name.partition(".")[0] in ("mine", "target")]:
            del sys.modules[name]
        importlib.invalidate_caches()

    def load(file: str = "", old: str = "", new: str = "") -> Any:
        forget()
        for name, text in FILES.items():
            path = tmp_path / name
            path.parent.mkdir(exist_ok=True)
            assert name != file or old in text
            path.write_text(text.replace(old, new) if name == file else text, encoding="utf-8")
        return importlib.import_module("target")

    yield load
    forget()


@pytest.mark.parametrize(
    ("function", "file", "old", "new"),
    [
        ("make", "mine/inner.py", "FACTOR * x", "FACTOR + x"),
        ("make", "mine/innermost.py", "2", "3"),
        ("make", "mine/sub.py", "x + SHIFT", "x - SHIFT"),
        ("make", "mine/sub.py", "SHIFT = 1", "SHIFT = 4"),
        ("make", "mine/deep.py", "x - 2", "x - 3"),
        ("late", "mine/lazily.py", "x / 3", "x / 4"),
        ("inside", "mine/within.py", "x * 4", "x * 5"),
        ("by_text", "mine/sub.py", "SHIFT = 1", "SHIFT = 4"),
        ("by_globals", "target.py", "unrelated = 1", "unrelated = 2"),
        ("by_import", "mine/within.py", "x * 4", "x * 5"),
        ("asked", "mine/deep.py", "return 5", "return 6"),
    ],
)
def test_whatever_a_function_reaches_counts(project: Any, function: str, file: str, old: str, new: str) -> None:
    before, again = (fingerprint(getattr(project(), function)) for _ in range(2))
    assert before == again != fingerprint(getattr(project(file, old, new), function))


@pytest.mark.parametrize(
    ("function", "file", "old", "new"),
    [
        ("make", "mine/sub.py", "return x\n", "return -x\n"),
        ("named", "target.py", "unrelated = 1", "unrelated = 2"),
        ("late", "mine/deep.py", "x - 2", "x - 3"),
    ],
    ids=["function that is not called", "global with the name of an attribute", "another module"],
)
def test_what_it_does_not_reach_does_not_count(project: Any, function: str, file: str, old: str, new: str) -> None:
    assert fingerprint(getattr(project(), function)) == fingerprint(getattr(project(file, old, new), function))


def test_loaded_code_counts_and_not_its_file(project: Any, tmp_path: pathlib.Path) -> None:
    """In a notebook a file may be edited after it was imported."""
    module = project()
    before = fingerprint(module.make)
    (tmp_path / "mine" / "sub.py").write_text("def one(x):\n    return 9 * x\n", encoding="utf-8")
    assert fingerprint(module.make) == before


def test_a_hooks_handle_has_a_number_that_does_not_count() -> None:
    layer = nn.Linear(1, 1)
    one, other = (layer.register_forward_hook(lambda *_: None) for _ in range(2))
    assert one.id != other.id and fingerprint(one) == fingerprint(other)


def test_what_cannot_be_read_is_said() -> None:
    with pytest.raises(UncacheableError, match=r"generator object .* cannot be read, so that runs with it"):
        fingerprint([(i for i in range(3))])
    with pytest.raises(UncacheableError, match="cannot be read"):
        fingerprint(torch.zeros(2).to_sparse())
    with pytest.raises(UncacheableError, match="cannot be read"):
        fingerprint(np.frompyfunc(lambda x: x, 1, 1))


def made(text: str) -> Any:
    space: dict[str, Any] = {"__name__": "mine"}
    exec(compile(text, "mine.py", "exec", dont_inherit=True), space)
    return space["f"]


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("def f(x):\n 'A.'\n return x + 1.5", "def f(x):\n return x + 1.5", True),
        ("def f():\n 'a'\n return 'a'", "def f():\n 'b'\n return 'b'", False),
        ("def f(x):\n y = x\n return y", "def f(x):\n z = x\n return z", True),
        ("def f(x):\n y = x\n return locals()", "def f(x):\n z = x\n return locals()", False),
        ("def f(x): return x", "def f(y): return y", False),
        ("class f:\n def a(self): 1\n def b(self): 2", "class f:\n def b(self): 2\n def a(self): 1", True),
        ("class f:\n a: int = 1\n b: int = 2", "class f:\n b: int = 2\n a: int = 1", False),
    ],
    ids=["docstring", "text as docstring", "local", "asked for", "argument", "methods", "fields"],
)
def test_edits_of_code_count_if_they_can_change_a_number(one: str, other: str, same: bool) -> None:
    assert (fingerprint(made(one)) == fingerprint(made(other))) is same
