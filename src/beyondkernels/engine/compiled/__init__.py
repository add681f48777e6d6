"""The compiled backend: training steps in C++ for the networks that are trained in large numbers."""

from beyondkernels.engine.compiled.library import available as available
from beyondkernels.engine.compiled.support import advance as advance, prepare as prepare, refusal as refusal
