"""The papers' figures, tables and theorems, each a declaration."""

from beyondkernels.experiments.catalogue import CATALOGUE, find
from beyondkernels.frame import SCALES, Experiment, setting

__all__ = ["CATALOGUE", "SCALES", "Experiment", "find", "setting"]
