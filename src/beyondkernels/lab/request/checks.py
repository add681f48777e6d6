"""Asks experiments, a user's too, and says in a sentence which method gave what it must not give."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from beyondkernels.core import InputError, Reference, require
from beyondkernels.core.errors import shown
from beyondkernels.lab.declaration import Experiment, Finished, Label, Picture, Runs, Statement, Table, specs_of
from beyondkernels.store import RunSpec


def require_experiment(experiment: Any) -> Experiment:
    """Refuse what is no experiment, or one whose words are none."""
    require(
        isinstance(experiment, Experiment),
        f"an experiment is an id of bk list, path/file.py:NAME or an Experiment, got {_got(experiment)}",
    )
    name = type(experiment).__name__
    for word in ("id", "title", "summary"):
        value = getattr(experiment, word, None)
        require(isinstance(value, str) and value != "", f"{name}.{word} must be a text, got {_got(value)}")
    reference = getattr(experiment, "reference", None)
    require(isinstance(reference, Reference), f"{name}.reference must be a Reference, got {_got(reference)}")
    return experiment


def settings_of(experiment: Experiment, scale: str) -> Any:
    """The settings at a scale: a dataclass that says how many seeds."""
    name = type(experiment).__name__
    made = type(experiment).settings is not Experiment.settings or hasattr(experiment, "settings_class")
    require(made, f"{name} is not complete: it has no settings_class, a frozen dataclass of settings")
    found = _call(experiment, "settings", scale)
    fine = dataclasses.is_dataclass(found) and not isinstance(found, type)
    require(fine, f"{name}.settings must return a frozen dataclass of settings, got {_got(found)}")
    seeds = getattr(found, "seeds", None)
    whole = isinstance(seeds, int) and not isinstance(seeds, bool)
    require(whole, f"the settings of {name} must have a field seeds that says how many, got {_got(seeds)}")
    return found


def require_declared(experiment: Experiment, settings: Any) -> None:
    """Look at everything an experiment declares before anything is run: what is wrong with it costs no hour."""
    _listed(experiment, "runs", settings, Runs, "a list of Runs")
    _listed(experiment, "claims", settings, Statement, "a list of claims")
    _listed(experiment, "remarks", settings, str, "a list of texts")
    found = _call(experiment, "table", settings)
    fine = found is None or isinstance(found, Table)
    require(fine, f"{type(experiment).__name__}.table must return a Table or None, got {_got(found)}")
    _listed(experiment, "figures", settings, Picture, "a list of figures")


def checked_specs(
    experiment: Experiment, settings: Any, seeds: Sequence[int], finished: Finished
) -> dict[Label, RunSpec]:
    """The runs an experiment needs, as far as it knows."""
    found = _guarded(experiment, "runs", lambda: specs_of(experiment, settings, seeds, finished))
    for label, spec in found.items():
        wanted = f"{type(experiment).__name__}.runs must give a RunSpec for each place"
        require(isinstance(spec, RunSpec), f"{wanted}, got {_got(spec)} for {' '.join(map(str, label))}")
    return found


def _listed(experiment: Experiment, method: str, settings: Any, kind: Any, words: str) -> None:
    found = _call(experiment, method, settings)
    wanted = f"{type(experiment).__name__}.{method} must return {words}"
    fine = isinstance(found, Sequence) and not isinstance(found, str | bytes | Mapping)
    require(fine, f"{wanted}, got {_got(found)}")
    for item in found:
        require(isinstance(item, kind), f"{wanted}, got {_got(item)} in it")


def _call(experiment: Experiment, method: str, *arguments: Any) -> Any:
    return _guarded(experiment, method, lambda: getattr(experiment, method)(*arguments))


def _guarded(experiment: Experiment, method: str, call: Callable[[], Any]) -> Any:
    name = f"{type(experiment).__name__}.{method}"
    try:
        return call()
    except SystemExit as error:
        raise InputError(f"{name} calls sys.exit; an experiment returns, or raises an error") from error
    except NotImplementedError as error:
        raise InputError(f"{type(experiment).__name__} is not complete: {error or method}") from error


def _got(value: Any) -> str:
    """A value with its type, cut to a length that fits an error sentence."""
    return "None" if value is None else f"the {type(value).__name__} {shown(value)}"
