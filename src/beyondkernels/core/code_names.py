"""Which names a function's code looks up, and where."""

from __future__ import annotations

import dis
import functools
from collections.abc import Iterator
from types import CodeType
from typing import NamedTuple


class Names(NamedTuple):
    """The names in a function's code and in the functions inside it.

    Arguments:
        globals: looked up in the module.
        attributes: looked up in objects.
        imports: modules that are imported when it runs, each with the number of dots before its name.
    """

    globals: frozenset[str]
    attributes: frozenset[str]
    imports: frozenset[tuple[str, int]]


@functools.lru_cache(maxsize=4096)
def names_in(code: CodeType) -> Names:
    """The names in code.

    >>> names = names_in((lambda x: scale * x.mean()).__code__)
    >>> sorted(names.globals), sorted(names.attributes)
    (['scale'], ['mean'])
    """
    found: dict[str, set[str]] = {"globals": set(), "attributes": set()}
    imports: set[tuple[str, int]] = set()
    for each in _nested(code):
        level = 0
        for step in dis.get_instructions(each):
            if step.opname == "LOAD_CONST" and isinstance(step.argval, int):
                level = step.argval  # before an import: how many dots; its list of names comes between
            elif step.opname == "IMPORT_NAME":
                imports.add((str(step.argval), level))
            elif step.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
                found["globals"].add(step.argval)
            elif step.opname in ("LOAD_ATTR", "LOAD_METHOD", "IMPORT_FROM", "LOAD_SUPER_ATTR"):
                found["attributes"].add(step.argval)
    return Names(frozenset(found["globals"]), frozenset(found["attributes"]), frozenset(imports))


def _nested(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _nested(constant)
