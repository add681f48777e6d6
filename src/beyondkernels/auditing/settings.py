"""The numbers of an audit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from beyondkernels.core.constraints import at_least, between, not_empty, positive
from beyondkernels.core.fields import Checked
from beyondkernels.lab import Count, Seeds, setting

Part = Literal["ladder", "when", "where", "what"]

PARTS: tuple[Part, ...] = ("ladder", "when", "where", "what")
"""The questions of an audit, in the order in which a page answers them."""


@dataclass(frozen=True)
class AuditSettings(Checked):
    """How thorough an audit is. Every field can be changed with ``--set``."""

    parts: Annotated[tuple[Part, ...], not_empty] = setting(PARTS, "ours", "the questions that are asked")
    without: tuple[str, ...] = setting((), "ours", "rungs of the ladder that are left out")
    snapshots: Annotated[int, at_least(3)] = setting(10, "ours", "steps at which kernels and layers are looked at")
    points: Count = setting(500, "ours", "training points, and test points, of the kernels over training")
    exact_points: Count = setting(20_000, "ours", "training points up to which kernel rungs are solved exactly")
    memory: Annotated[float, positive] = setting(16.0, "ours", "gigabytes for the kernels of all workers together")
    frozen_after: Annotated[float, between(0, 1, "()")] = setting(
        0.1, "ours", "the fraction of training after which features are frozen"
    )
    tolerance: Annotated[float, between(0, 100, "()")] = setting(
        1.0, "ours", "how many points of the score count as no difference"
    )
    most_blocks: Count = setting(6, "ours", "blocks that are frozen and corrected one by one, spread over the depth")
    probes: bool = setting(True, "ours", "whether other training rules are tried on training points")
    tune: bool = setting(False, "ours", "whether learning rates are searched on training points")
    seeds: Seeds = setting(3, "ours", "each draws a start, batches and, of a distribution, samples")
