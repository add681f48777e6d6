"""Which paper this is, and where its experiments are declared."""

from __future__ import annotations

from beyondkernels.core.papers import Paper

PAPER = Paper(
    short="resnet",
    authors="Allen-Zhu & Li",
    title="What Can ResNet Learn Efficiently, Going Beyond Kernels?",
    year=2019,
    arxiv="1905.10337",
    package="beyondkernels.papers.resnet",
    experiments={
        "coupling": "coupling:Coupling",
        "fig2a": "fig2:Fig2a",
        "fig2b": "fig2:Fig2b",
        "fig3": "fig3:Fig3",
        "fig4a": "fig4:Fig4a",
        "fig4b": "fig4:Fig4b",
        "scaling": "scaling:Scaling",
        "theorem1": "theorem1:Theorem1",
        "theorem2": "theorem2:Theorem2",
        "theorem3": "theorem3:Theorem3",
    },
)
