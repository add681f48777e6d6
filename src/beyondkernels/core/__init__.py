"""Random streams, components and their identity, error sentences, references to papers."""

from typing import TYPE_CHECKING, Any

from beyondkernels.core.components import Component, build, canonical_json, describe, digest, later, load_file
from beyondkernels.core.contracts import (
    Case,
    Checkpoint,
    Ended,
    Learner,
    Measured,
    Outcome,
    Problem,
    Progress,
    Sample,
    Saved,
    Tensors,
)
from beyondkernels.core.declarations import speaks_for
from beyondkernels.core.errors import (
    DivergedError,
    InputError,
    StoreError,
    UncacheableError,
    require,
    require_between,
    require_positive,
    require_whole,
    shown,
    unknown,
)
from beyondkernels.core.fields import Checked
from beyondkernels.core.points import Shape, batch_shape, on_device, shape_of, size_of, vectors
from beyondkernels.core.references import PAPERS, Paper, Reference
from beyondkernels.core.rounding import settled

if TYPE_CHECKING:
    from beyondkernels.core.scores import accuracy, are_classes, hits
    from beyondkernels.core.streams import Stream, seeded_globally

__all__ = [
    "PAPERS",
    "Case",
    "Checked",
    "Checkpoint",
    "Component",
    "DivergedError",
    "Ended",
    "InputError",
    "Learner",
    "Measured",
    "Outcome",
    "Paper",
    "Problem",
    "Progress",
    "Reference",
    "Sample",
    "Saved",
    "Shape",
    "StoreError",
    "Stream",
    "Tensors",
    "UncacheableError",
    "accuracy",
    "are_classes",
    "batch_shape",
    "build",
    "canonical_json",
    "describe",
    "digest",
    "hits",
    "later",
    "load_file",
    "on_device",
    "require",
    "require_between",
    "require_positive",
    "require_whole",
    "seeded_globally",
    "settled",
    "shape_of",
    "shown",
    "size_of",
    "speaks_for",
    "unknown",
    "vectors",
]


def __getattr__(name: str) -> Any:
    if name in ("Stream", "seeded_globally", "accuracy", "are_classes", "hits"):  # torch takes a second to import
        from beyondkernels.core import scores, streams

        return getattr(streams if name in ("Stream", "seeded_globally") else scores, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
