"""The source as a whole: packages import only what lies before them, and nothing imports what is ruled out."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import beyondkernels

ROOT = Path(beyondkernels.__file__).parent
MODULES = sorted(ROOT.rglob("*.py"))
NAMES = {path: path.relative_to(ROOT).as_posix() for path in MODULES}
LONGEST = 400
WHOLE_PACKAGE = ("experiments", "cli")
"""The packages that may write ``import beyondkernels as bk``, because they must not load torch early."""

PICKLING = ("pickle", "cPickle", "_pickle", "cloudpickle", "dill", "joblib", "shelve", "marshal", "multiprocessing")
GLOBAL_RANDOMNESS = (
    "torch.manual_seed",
    "torch.random.manual_seed",
    "torch.seed",
    "np.random.seed",
    "numpy.random.seed",
    "random.seed",
)
UNSAFE_CALLS = ("torch.load", "torch.save", "eval", "exec", "os.system", "np.random.RandomState")


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


def parse(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def layer(path: Path) -> str:
    """The package a module belongs to; the top-level files belong to none."""
    parts = path.relative_to(ROOT).parts
    return parts[0] if len(parts) > 1 else ""


def misplaced(tree: ast.AST, here: str, package: str) -> list[str]:
    """The imports of a module that its place in the order does not allow."""
    order = beyondkernels.LAYERS
    found = []
    for line, name in imported(tree, package):
        top, *rest = name.split(".")
        if top != "beyondkernels":
            continue
        if not rest:
            if here not in WHOLE_PACKAGE:
                found.append(f"line {line} imports the whole package")
        elif rest[0] in order and order.index(rest[0]) > order.index(here):
            found.append(f"line {line}: {here} imports {rest[0]}")
    return found


def test_every_package_has_its_layer():
    packages = {path.parent.name for path in ROOT.glob("*/__init__.py")}
    assert packages == set(beyondkernels.LAYERS)
    assert len(MODULES) > 50


@pytest.mark.parametrize("path", [path for path in MODULES if layer(path)], ids=NAMES.get)
def test_imports_follow_the_layers(path):
    package = ".".join(("beyondkernels", *path.relative_to(ROOT).parent.parts))
    assert misplaced(parse(path), layer(path), package) == []


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("import beyondkernels.engine", 1),
        ("def f():\n    from beyondkernels.engine import fit", 1),
        ("from beyondkernels import engine, core", 1),
        ("if TYPE_CHECKING:\n    from beyondkernels.runs.store import Store", 1),
        ("from ..engine import fit", 1),
        ("from .. import runs", 1),
        ("import beyondkernels as bk", 1),
        ("from beyondkernels.networks.base import linear\nfrom beyondkernels.core import Stream\nimport torch", 0),
        ("from . import two_layer\nfrom .base import Network\nfrom ..core import Stream", 0),
        ("from beyondkernels import __version__", 0),
        ('"""import beyondkernels as bk"""', 0),
    ],
)
def test_the_check_of_layers_can_fail(code, expected):
    assert len(misplaced(ast.parse(code), "networks", "beyondkernels.networks")) == expected


@pytest.mark.parametrize("path", MODULES, ids=NAMES.get)
def test_modules_are_short(path):
    assert len(path.read_text(encoding="utf-8").splitlines()) <= LONGEST


def ruled_out(tree: ast.AST, name: str) -> list[str]:
    """Uses of pickle, of processes that pickle, of global random state, and of calls that run stored code."""
    found = [f"line {line} imports {what}" for line, what in imported(tree, "") if what.split(".")[0] in PICKLING]
    banned = (*GLOBAL_RANDOMNESS, *UNSAFE_CALLS)
    allowed = ("torch.manual_seed",) if name == "core/streams.py" else ()
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and dotted(node.func) in banned and dotted(node.func) not in allowed:
            found.append(f"line {node.lineno} calls {dotted(node.func)}")
        if isinstance(node, ast.Attribute) and node.attr == "ProcessPoolExecutor":
            found.append(f"line {node.lineno} uses processes that pickle")
        if isinstance(node, ast.ImportFrom) and any(alias.name == "ProcessPoolExecutor" for alias in node.names):
            found.append(f"line {node.lineno} uses processes that pickle")
        if isinstance(node, ast.keyword) and node.arg == "allow_pickle" and not is_false(node.value):
            found.append(f"line {node.value.lineno} allows pickle")
        if isinstance(node, ast.keyword) and node.arg == "shell" and not is_false(node.value):
            found.append(f"line {node.value.lineno} starts a shell")
    return found


def is_false(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and node.value is False


@pytest.mark.parametrize("path", MODULES, ids=NAMES.get)
def test_nothing_ruled_out_is_used(path):
    assert ruled_out(parse(path), NAMES[path]) == []


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
        "eval('1')",
        "subprocess.run(command, shell=True)",
    ],
)
def test_the_check_of_what_is_ruled_out_can_fail(code):
    assert len(ruled_out(ast.parse(code), "runs/store.py")) == 1


def test_only_streams_may_seed():
    code = ast.parse("torch.manual_seed(0)")
    assert ruled_out(code, "core/streams.py") == []
    assert ruled_out(ast.parse("import pickle"), "core/streams.py") != []
