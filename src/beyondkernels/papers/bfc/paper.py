"""Which paper this is, and where its experiments are declared."""

from __future__ import annotations

from beyondkernels.core.papers import Paper

PAPER = Paper(
    short="bfc",
    authors="Allen-Zhu & Li",
    title="Backward Feature Correction: How Deep Learning Performs Deep Learning",
    year=2020,
    arxiv="2001.04413",
    package="beyondkernels.papers.bfc",
    experiments={
        "agnostic": "agnostic:Agnostic",
        "classification": "classification:Classification",
        "descent": "descent:Descent",
        "gap": "gap:Gap",
        "layerwise": "layerwise:Layerwise",
        "pretraining": "pretraining:Pretraining",
        "printed": "printed:Printed",
        "search": "search:Search",
        "theorem1": "theorem1:Theorem1",
        "theorem2": "theorem2:Theorem2",
        "theoremI1": "theorem_i1:TheoremI1",
        "theoremI6": "theorem_i6:TheoremI6",
        "toy12": "toy12:Toy12",
        "toy61": "toy61:Toy61",
    },
)
