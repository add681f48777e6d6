"""Public names of classes and functions: a room of the library or a paper, and the name in it.

Keys of runs hold public names, so a definition may move to another module of its room without touching a key. A name
that comes from a store is looked up in the sources, and only the module that defines it is imported.
"""

from __future__ import annotations

import functools
import re
from pathlib import Path

_PACKAGE = "beyondkernels"
_ROOT = Path(__file__).parents[1]
_PAPERS = "papers"
_DEFINITION = re.compile(r"^(?:class|def) (\w+)", re.MULTILINE)


def public_name(module: str, name: str) -> str:
    """The name of a definition in keys and descriptions.

    Arguments:
        module: where it is defined.
        name: its qualified name there.

    >>> public_name("beyondkernels.kernels.classical.laplace", "Laplace")
    'kernels.Laplace'
    >>> public_name("beyondkernels.papers.features.problems.dictionary", "DictionaryProblem")
    'features.DictionaryProblem'
    >>> public_name("beyondkernels_user.mine", "Line")  # of a user: two files may hold the same name
    'beyondkernels_user.mine:Line'
    """
    package, *rooms = module.split(".")
    if package != _PACKAGE or not rooms:
        return f"{module}:{name}"
    return f"{rooms[1] if rooms[0] == _PAPERS and len(rooms) > 1 else rooms[0]}.{name}"


def is_public_name(name: object) -> bool:
    """Whether a name is one of the library: a room and, after a dot, a name in it."""
    return isinstance(name, str) and re.fullmatch(r"\w+(\.\w+)+", name) is not None


def homes(name: str) -> tuple[str, ...]:
    """The modules that define a public name; several only where a private definition has the name of another.

    >>> homes("core.Stream")
    ('beyondkernels.core.streams',)
    """
    room, _, rest = name.partition(".")
    return _definitions(room).get(rest.partition(".")[0], ())


@functools.cache
def _definitions(room: str) -> dict[str, tuple[str, ...]]:
    """For each class and function of a room, where it is defined, read from the sources without importing them."""
    if not re.fullmatch(r"[a-z]\w*", room):
        return {}
    found: dict[str, tuple[str, ...]] = {}
    for folder in (_ROOT / room, _ROOT / _PAPERS / room):
        for file in sorted(folder.rglob("*.py")) if (folder / "__init__.py").is_file() else ():
            module = ".".join((_PACKAGE, *file.relative_to(_ROOT).with_suffix("").parts)).removesuffix(".__init__")
            for name in _DEFINITION.findall(file.read_text(encoding="utf-8")):
                found[name] = (*found.get(name, ()), module)
    return found
