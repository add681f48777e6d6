"""Classes that declare what they can do, and when to believe them."""

from __future__ import annotations

from collections.abc import Iterable


def speaks_for(cls: type, declaration: str, methods: Iterable[str]) -> bool:
    """Whether what a class declares still holds: no class below the declaration overrides what it speaks of.

    Arguments:
        cls: the class.
        declaration: the method that declares something.
        methods: the methods it speaks of.

    >>> class Circle:
    ...     def area(self): return 3.14
    ...     def shape(self): return "circle"
    >>> class Square(Circle):
    ...     def area(self): return 1.0
    >>> speaks_for(Circle, "shape", ["area"]), speaks_for(Square, "shape", ["area"])
    (True, False)
    """
    line = cls.__mro__

    def place(name: str) -> int:
        return next(i for i, each in enumerate(line) if name in vars(each))

    return all(place(declaration) <= place(name) for name in methods)
