"""Which names a function's code looks up, and where."""

from __future__ import annotations

import dis
import functools
import inspect
import re
from collections.abc import Iterator
from types import CodeType
from typing import NamedTuple

_ASKING_FOR_VARIABLES = frozenset({"locals", "vars", "dir", "eval", "exec"})
"""Names of functions that see the names of variables."""

_BY_NAME = {"getattr", "vars", "__dict__", "attrgetter", "methodcaller", "locals"}
_GLOBALS_BY_NAME = {"globals", "eval", "exec"}
_MODULES_BY_NAME = {"import_module", "__import__"}
"""What code looks names up with that it holds as text."""


class Names(NamedTuple):
    """The names in a function's code and in the functions inside it.

    Arguments:
        globals: looked up in the module.
        attributes: looked up in objects.
        imports: modules that are imported when it runs, each with the number of dots before its name.
        maybe: names in the same form that may be modules: ``b`` in ``from a import b``, and texts that code imports.
    """

    globals: frozenset[str]
    attributes: frozenset[str]
    imports: frozenset[tuple[str, int]]
    maybe: frozenset[tuple[str, int]]


@functools.lru_cache(maxsize=4096)
def names_in(code: CodeType) -> Names:
    """The names in code. Where it looks up names as text (``getattr(x, "scale")``), words in its texts count, too.

    >>> names = names_in((lambda x: scale * x.mean()).__code__)
    >>> sorted(names.globals), sorted(names.attributes)
    (['scale'], ['mean'])
    """
    found: dict[str, set[str]] = {"globals": set(), "attributes": set()}
    imports: set[tuple[str, int]] = set()
    maybe: set[tuple[str, int]] = set()
    texts: set[str] = set()
    for each in _nested(code):
        level, parts = 0, ()
        texts.update(constant for constant in each.co_consts if isinstance(constant, str))
        for step in dis.get_instructions(each):
            if step.opname.startswith("LOAD_CONST") or step.opname == "LOAD_SMALL_INT":
                # before an import: how many dots, and its list of names
                level = step.argval if isinstance(step.argval, int) else level
                parts = step.argval if isinstance(step.argval, tuple) else ()
            elif step.opname == "IMPORT_NAME":
                imports.add((str(step.argval), level))
                maybe.update((f"{step.argval}.{part}".lstrip("."), level) for part in parts)
            elif step.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
                found["globals"].add(step.argval)
            elif step.opname in ("LOAD_ATTR", "LOAD_METHOD", "IMPORT_FROM", "LOAD_SUPER_ATTR"):
                found["attributes"].add(step.argval)
    asked = found["globals"] | found["attributes"]
    if asked & (_BY_NAME | _GLOBALS_BY_NAME):
        words = {word for text in texts for word in re.findall(r"[^\W\d]\w*", text)}
        found["attributes"] |= words
        found["globals"] |= words if asked & _GLOBALS_BY_NAME else set()
    if asked & _MODULES_BY_NAME:
        maybe.update((text, 0) for text in texts if all(map(str.isidentifier, text.split("."))))
    return Names(frozenset(found["globals"]), frozenset(found["attributes"]), frozenset(imports), frozenset(maybe))


def _nested(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _nested(constant)


def counting_names(code: CodeType) -> tuple[str, ...]:
    """The names of variables that can count: those of arguments, and others where the code may ask for them.

    Arguments:
        code: of a function.
    """
    if not _ASKING_FOR_VARIABLES.isdisjoint(code.co_names):
        return code.co_varnames
    several = bool(code.co_flags & inspect.CO_VARARGS) + bool(code.co_flags & inspect.CO_VARKEYWORDS)
    arguments = code.co_argcount + code.co_kwonlyargcount + several
    return code.co_varnames[:arguments] + ("",) * (len(code.co_varnames) - arguments)


def counting_constants(code: CodeType) -> tuple[object, ...]:
    """The constants of a piece of code without its docstring, which is the first one and is never loaded.

    Arguments:
        code: of a function, a class or a module.

    >>> def f():
    ...     "What it does."
    ...     return 1.5
    >>> counting_constants(f.__code__)
    (None, 1.5)
    """
    constants = code.co_consts
    if not constants or not isinstance(constants[0], str) or not code.co_flags & inspect.CO_OPTIMIZED:
        return constants
    loaded = any(each.opcode in dis.hasconst and each.arg == 0 for each in dis.get_instructions(code))
    return constants if loaded else (None, *constants[1:])
