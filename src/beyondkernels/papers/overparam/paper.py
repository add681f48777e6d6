"""Which paper this is, and where its experiments are declared."""

from __future__ import annotations

from beyondkernels.core.papers import Paper

PAPER = Paper(
    short="overparam",
    authors="Allen-Zhu, Li & Liang",
    title=("Learning and Generalization in Overparameterized Neural Networks, Going Beyond Two Layers"),
    year=2019,
    arxiv="1811.04918",
    package="beyondkernels.papers.overparam",
    experiments={
        "conv": "conv:Conv",
        "coupling": "coupling:Coupling",
        "dimension-free": "dimension_free:DimensionFree",
        "existence": "existence:Existence",
        "indicator": "indicator:Indicator",
        "landscape": "landscape:Landscape",
        "rademacher": "rademacher:Rademacher",
        "randomness": "randomness:Randomness",
        "smoothing": "smoothing:Smoothing",
        "theorem41": "theorem41:Theorem41",
        "theorem42": "theorem42:Theorem42",
        "theorem43": "theorem43:Theorem43",
    },
)
