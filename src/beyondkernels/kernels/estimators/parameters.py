"""Fields of networks and kernels as parameters of an estimator: ``network__width``, ``kernel__bandwidth``."""

from __future__ import annotations

import dataclasses
from collections import defaultdict
from collections.abc import Mapping
from typing import Any, NoReturn, Self

import numpy as np
from sklearn.base import BaseEstimator

from beyondkernels.core import Component


class ComponentParameters(BaseEstimator):
    """An estimator whose parameters may be components, with the components' fields as parameters of their own.

    A component is frozen, so ``set_params(network__width=64)`` puts a changed copy in its place. Fields of fields go
    on in the same way: ``network__parameterisation__kind``. The members of a tuple (the terms of a sum of kernels)
    have no names and are replaced only as a whole.
    """

    def _stands_for(self) -> Mapping[str, Component]:
        """For parameters that are None: the components that stand in for them."""
        return {}

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters by name.

        Arguments:
            deep: whether the fields of components are listed too.
        """
        # scikit-learn's own deep form asks parameters for get_params, which components do not have.
        params = super().get_params(deep=False)
        if deep:
            for name in list(params):
                params |= _nested(name, self._component(name, params[name]))
        return params

    def set_params(self, **params: Any) -> Self:
        """Set parameters and fields of components: all of them, or none when one is refused."""
        known = super().get_params(deep=False)
        values, deeper = _split(params)
        for name in {**values, **deeper}:
            if name not in known:
                self._refuse(name, list(known))
        for name, changes in deeper.items():
            component = self._component(name, values.get(name, known[name]))
            values[name] = self._changed(name, component, changes)
        for name, value in values.items():
            setattr(self, name, value)
        return self

    def _changed(self, where: str, component: Any, changes: Mapping[str, Any]) -> Any:
        """A copy of a component with several fields, also nested ones, changed at once: one alone might be invalid."""
        fields = _fields(component)
        values, deeper = _split(changes)
        for name in {**values, **deeper}:
            if name not in fields:
                self._refuse(f"{where}__{name}", [f"{where}__{field}" for field in fields])
        for name, below in deeper.items():
            values[name] = self._changed(f"{where}__{name}", values.get(name, fields[name]), below)
        return dataclasses.replace(component, **{name: _plain(value) for name, value in values.items()})

    def _component(self, name: str, value: Any) -> Any:
        return self._stands_for().get(name) if value is None else value

    def _refuse(self, name: str, valid: list[str]) -> NoReturn:
        # scikit-learn's own sentence, which its users and tools know
        raise ValueError(f"Invalid parameter {name!r} for estimator {self!r}. Valid parameters are: {valid!r}.")


def _fields(value: Any) -> dict[str, Any]:
    """The fields of a component; none of any other value."""
    if not (isinstance(value, Component) and dataclasses.is_dataclass(value)):
        return {}
    return {field.name: getattr(value, field.name) for field in dataclasses.fields(value) if field.init}


def _nested(name: str, value: Any) -> dict[str, Any]:
    """The fields of a component by their full names, and the fields of its fields."""
    found: dict[str, Any] = {}
    for field, content in _fields(value).items():
        path = f"{name}__{field}"
        found |= {path: content} | _nested(path, content)
    return found


def _split(params: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
    """Parameters that are set here, and those of nested components by the component's name."""
    values: dict[str, Any] = {}
    deeper: defaultdict[str, dict[str, Any]] = defaultdict(dict)
    for name, value in params.items():
        top, nested, rest = name.partition("__")
        if nested:
            deeper[top][rest] = value
        else:
            values[top] = value
    return values, deeper


def _plain(value: Any) -> Any:
    """A NumPy number as Python's own: grids are often arrays, and components ask for Python's whole numbers."""
    return value.item() if isinstance(value, np.generic) else value
