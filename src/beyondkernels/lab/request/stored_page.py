"""A page from what a store says by itself, for an experiment whose file this call did not name.

A store may come from somebody else, so no file that it names is ever loaded.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from beyondkernels.lab.catalogue import CATALOGUE
from beyondkernels.lab.report import Claim, ExperimentPage, Setting
from beyondkernels.lab.report.views import KINDS
from beyondkernels.store import MissingRunError, Store

HOW_TO_SEE_ALL = "bk report FILE.py:NAME, with the file that defines the experiment, makes the full page."
"""What a page that is made from the store alone tells its reader."""


def is_known(document: Mapping[str, Any]) -> bool:
    """Whether a stored request is of an experiment of this package, so that no user's file is needed to read it."""
    return document["experiment"] in CATALOGUE


def page_from_store(document: Mapping[str, Any], store: Store) -> ExperimentPage:
    """The claims of a request as they were stored, and a row for each of its runs.

    Arguments:
        document: a request as the store keeps it.
        store: the store.
    """
    rows, missing = _rows(document, store)
    differences = document.get("differences")
    return ExperimentPage(
        id=document["experiment"],
        title=document["experiment"],
        scale=document["scale"],
        seeds=document["seeds"],
        claims=[_claim(claim) for claim in document["claims"]],
        rows=rows,
        settings=[Setting(name, value) for name, value in document["settings"].items()],
        provenance=document["provenance"],
        missing=missing,
        notes=[f"This page shows what the store holds: claims as they were stored. {HOW_TO_SEE_ALL}"],
        # the store checks the kinds of the fields that it needs itself, and this is not one of them
        variant=differences if isinstance(differences, dict) else {},
    )


def _rows(document: Mapping[str, Any], store: Store) -> tuple[list[dict[str, Any]], int]:
    rows, missing = [], 0
    for run in document["runs"]:
        try:
            outcome = store.read(run["key"]).outcome
        except MissingRunError:
            missing += 1
            continue
        rows.append({"run": " ".join(map(str, run["label"])), "status": outcome.status, **outcome.scalars})
    return rows, missing


def _claim(claim: Mapping[str, Any]) -> Claim:
    """A stored claim; whatever in it is of another kind than a claim holds is left out."""
    holds, paper = claim.get("holds"), claim.get("paper")
    return Claim(
        id=str(claim.get("id", "")),
        text=str(claim.get("text", "")),
        paper=paper if isinstance(paper, str) else _number(paper),
        holds=holds if isinstance(holds, bool) else None,
        interval=str(claim.get("interval", "")),
        reason=str(claim.get("reason", "")),
        measured=_number(claim.get("measured")),
        low=_number(claim.get("low")),
        high=_number(claim.get("high")),
        **_source(claim.get("kind"), claim.get("place")),
    )


def _source(kind: object, place: object) -> dict[str, Any]:
    """Whose claim it is, as far as what is stored makes sense."""
    return {"kind": kind, "place": str(place)} if kind in KINDS else {}


def _number(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        return float(value) if math.isfinite(value) else None
    except OverflowError:  # a whole number beyond all floats
        return None
