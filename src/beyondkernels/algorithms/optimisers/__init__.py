"""Optimisers that compose: rules from a gradient to a step, schedules, and the usual ones ready made."""

from beyondkernels.algorithms.optimisers.base import Chain, Change, Optimiser, chain, descend
from beyondkernels.algorithms.optimisers.recipes import adam, adamw, sgd
from beyondkernels.algorithms.optimisers.rules import Adam, ClipNorm, Decay, GradientNoise, Momentum, Rate, Shrink
from beyondkernels.algorithms.optimisers.schedules import (
    Constant,
    Cosine,
    Drops,
    Linear,
    Power,
    Schedule,
    WarmUp,
    schedule,
)

__all__ = [
    "Adam",
    "Chain",
    "Change",
    "ClipNorm",
    "Constant",
    "Cosine",
    "Decay",
    "Drops",
    "GradientNoise",
    "Linear",
    "Momentum",
    "Optimiser",
    "Power",
    "Rate",
    "Schedule",
    "Shrink",
    "WarmUp",
    "adam",
    "adamw",
    "chain",
    "descend",
    "schedule",
    "sgd",
]
