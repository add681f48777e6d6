"""The source as a whole: packages import only what lies before them, and nothing imports what is ruled out."""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterator
from pathlib import Path

import pytest

import beyondkernels
from beyondkernels.lab import PAPERS

ROOT = Path(beyondkernels.__file__).parent
MODULES = {path.relative_to(ROOT).as_posix(): path for path in sorted(ROOT.rglob("*.py"))}
LONGEST = 400

PICKLING = ("pickle", "cPickle", "_pickle", "cloudpickle", "dill", "joblib", "shelve", "marshal", "multiprocessing")
GLOBAL_RANDOMNESS = ("torch.manual_seed", "torch.random.manual_seed", "torch.seed", "random.seed")
GLOBAL_RANDOMNESS += ("np.random.seed", "numpy.random.seed")
UNSAFE_CALLS = ("torch.load", "torch.save", "eval", "exec", "os.system", "np.random.RandomState")


@functools.cache
def parsed(name: str) -> ast.Module:
    return ast.parse(MODULES[name].read_text(encoding="utf-8"))


def imported(tree: ast.AST, package: str) -> Iterator[tuple[int, str]]:
    """Every imported name with its line, wherever the import stands; relative ones made absolute."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                above = package.split(".")[: len(package.split(".")) - node.level + 1]
                base = ".".join([*above, base] if base else above)
            yield from ((node.lineno, f"{base}.{alias.name}") for alias in node.names)


def dotted(node: ast.AST) -> str:
    """``a.b.c`` for such an expression, otherwise nothing."""
    parts = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return ".".join([node.id, *reversed(parts)]) if isinstance(node, ast.Name) else ""


def misplaced(tree: ast.AST, name: str) -> list[str]:
    """The imports of a module that its place in the order does not allow.

    A package imports those before it. A paper imports no other paper. ``import beyondkernels as bk`` is for the command
    line and for experiments, which must not load torch early.
    """
    order, parts = beyondkernels.LAYERS, Path(name).parts
    here, package = parts[0], ".".join(("beyondkernels", *parts[:-1]))
    found = []
    for line, what in imported(tree, package):
        top, *rest = what.split(".")
        if top != "beyondkernels":
            continue
        if not rest:
            if here != "cli" and parts[2:3] != ("experiments",):
                found.append(f"{name}:{line} imports the whole package")
        elif rest[0] in (*PAPERS, "papers") and here == "papers":
            if (rest[1] if rest[0] == "papers" else rest[0]) != parts[1]:
                found.append(f"{name}:{line}: the paper {parts[1]} imports {what}")
        elif rest[0] in order and order.index(rest[0]) > order.index(here):
            found.append(f"{name}:{line}: {here} imports {rest[0]}")
    return found


def test_every_package_has_its_layer():
    packages = {path.parent.name for path in ROOT.glob("*/__init__.py")}
    assert packages == set(beyondkernels.LAYERS)
    assert len(MODULES) > 50


def test_imports_follow_the_layers():
    names = [name for name in MODULES if "/" in name]
    assert [each for name in names for each in misplaced(parsed(name), name)] == []


NETWORKS, FEATURES = "networks/example.py", "papers/features/example.py"


@pytest.mark.parametrize(
    ("code", "name", "expected"),
    [
        ("import beyondkernels.engine", NETWORKS, 1),
        ("def f():\n    from beyondkernels.engine import fit", NETWORKS, 1),
        ("from beyondkernels import engine, core", NETWORKS, 1),
        ("if TYPE_CHECKING:\n    from beyondkernels.store import Store", NETWORKS, 1),
        ("from ..engine import fit", NETWORKS, 1),
        ("from .. import store", NETWORKS, 1),
        ("from beyondkernels.papers.bfc import QuadraticTarget", NETWORKS, 1),
        ("from beyondkernels.core import Stream\nfrom .base import Network\nimport torch", NETWORKS, 0),
        ("from beyondkernels import __version__", NETWORKS, 0),
        ('"""import beyondkernels as bk"""', NETWORKS, 0),
        ("import beyondkernels as bk", NETWORKS, 1),
        ("import beyondkernels as bk", "papers/bfc/problems/toy.py", 1),
        ("import beyondkernels as bk", "papers/bfc/experiments/toy.py", 0),
        ("import beyondkernels as bk", "cli/app.py", 0),
        ("from beyondkernels.papers.bfc.problems import QuadraticTarget", FEATURES, 1),
        ("from beyondkernels.papers import bfc", FEATURES, 1),
        ("from ..bfc import problems", FEATURES, 1),
        ("from beyondkernels.cli import main", FEATURES, 1),
        ("from beyondkernels.papers.features.problems import DictionaryProblem", FEATURES, 0),
        ("from beyondkernels.kernels import Laplace", FEATURES, 0),
    ],
)
def test_the_check_of_layers_can_fail(code, name, expected):
    assert len(misplaced(ast.parse(code), name)) == expected


def test_no_package_shares_its_name_with_a_function():
    assert not {*beyondkernels.LAYERS, *PAPERS} & {*beyondkernels._FUNCTIONS}
    assert not {*beyondkernels.LAYERS} & {*PAPERS}  # public names begin with one or the other


def test_modules_are_short():
    sizes = {name: len(path.read_text(encoding="utf-8").splitlines()) for name, path in MODULES.items()}
    assert {name: size for name, size in sizes.items() if size > LONGEST} == {}


def ruled_out(tree: ast.AST, name: str) -> list[str]:
    """Uses of pickle, of processes that pickle, of global random state, and of calls that run stored code."""
    found = [f"{name}:{line} imports {what}" for line, what in imported(tree, "") if what.split(".")[0] in PICKLING]
    banned = (*GLOBAL_RANDOMNESS, *UNSAFE_CALLS)
    allowed = ("torch.manual_seed",) if name == "core/streams.py" else ()
    for node in ast.walk(tree):
        banned_here = [name for name in banned if name not in allowed]
        if isinstance(node, ast.Call) and dotted(node.func) in banned_here and not loads_tensors_alone(node):
            found.append(f"{name}:{node.lineno} calls {dotted(node.func)}")
        if isinstance(node, ast.Attribute) and node.attr == "ProcessPoolExecutor":
            found.append(f"{name}:{node.lineno} uses processes that pickle")
        if isinstance(node, ast.ImportFrom) and any(alias.name == "ProcessPoolExecutor" for alias in node.names):
            found.append(f"{name}:{node.lineno} uses processes that pickle")
        if isinstance(node, ast.keyword) and node.arg == "allow_pickle" and not is_false(node.value):
            found.append(f"{name}:{node.value.lineno} allows pickle")
        if isinstance(node, ast.keyword) and node.arg == "shell" and not is_false(node.value):
            found.append(f"{name}:{node.value.lineno} starts a shell")
    return found


def loads_tensors_alone(node: ast.Call) -> bool:
    """Whether this reads a file of a user's weights, of which nothing is unpickled but tensors."""
    only = [each.value for each in node.keywords if each.arg == "weights_only"]
    return dotted(node.func) == "torch.load" and [getattr(each, "value", None) for each in only] == [True]


def is_false(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and node.value is False


def test_nothing_ruled_out_is_used():
    assert [each for name in MODULES for each in ruled_out(parsed(name), name)] == []


@pytest.mark.parametrize(
    "code",
    [
        "import pickle",
        "def f():\n    from multiprocessing import Pool",
        "import multiprocessing.spawn as spawn",
        "torch.manual_seed(0)",
        "np.random.seed(0)",
        "from concurrent.futures import ProcessPoolExecutor",
        "np.load(path, allow_pickle=True)",
        "torch.load(path)",
        "torch.load(path, weights_only=False)",
        "eval('1')",
        "subprocess.run(command, shell=True)",
    ],
)
def test_the_check_of_what_is_ruled_out_can_fail(code):
    assert len(ruled_out(ast.parse(code), "store/store.py")) == 1


def test_only_streams_may_seed():
    code = ast.parse("torch.manual_seed(0)")
    assert ruled_out(code, "core/streams.py") == []
    assert ruled_out(ast.parse("import pickle"), "core/streams.py") != []
