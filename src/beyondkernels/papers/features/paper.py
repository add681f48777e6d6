"""Which paper this is, and where its experiments are declared."""

from __future__ import annotations

from beyondkernels.core.papers import Paper

PAPER = Paper(
    short="features",
    authors="Shi, Wei & Liang",
    title=(
        "A Theoretical Analysis on Feature Learning in Neural Networks: Emergence from "
        "Inputs and Advantage over Fixed Features"
    ),
    year=2022,
    arxiv="2206.01717",
    package="beyondkernels.papers.features",
    experiments={
        "fig15": "fig15:Fig15",
        "lemma5": "lemma5:Lemma5",
        "lemma6": "lemma6:Lemma6",
        "table1": "table1:Table1",
        "table1-strong": "table1_strong:Table1Strong",
        "table2": "table2:Table2",
        "table3": "table3:Table3",
        "table4": "table4:Table4",
        "table5": "table5:Table5",
        "table6": "table6:Table6",
        "tables": "overview:Overview",
        "theorem1": "theorem1:Theorem1",
        "theorem2": "theorem2:Theorem2",
        "theorem4": "theorem4:Theorem4",
        "theorem34": "theorem34:Theorem34",
        "two-gaussians": "two_gaussians:TwoGaussians",
        "unstructured": "unstructured:Unstructured",
    },
)
