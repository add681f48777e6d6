"""The four papers, and references to places in them."""

from __future__ import annotations

from dataclasses import dataclass

from beyondkernels.core.errors import unknown


@dataclass(frozen=True)
class Paper:
    """A paper: its short name here, its authors, title and year, and its number at arXiv.

    >>> PAPERS["resnet"].address
    'https://arxiv.org/abs/1905.10337'
    """

    short: str
    authors: str
    title: str
    year: int
    arxiv: str

    @property
    def address(self) -> str:
        """Where it can be read."""
        return f"https://arxiv.org/abs/{self.arxiv}"


PAPERS = {
    paper.short: paper
    for paper in (
        Paper(
            "resnet", "Allen-Zhu & Li", "What Can ResNet Learn Efficiently, Going Beyond Kernels?", 2019, "1905.10337"
        ),
        Paper(
            "overparam",
            "Allen-Zhu, Li & Liang",
            "Learning and Generalization in Overparameterized Neural Networks, Going Beyond Two Layers",
            2019,
            "1811.04918",
        ),
        Paper(
            "features",
            "Shi, Wei & Liang",
            "A Theoretical Analysis on Feature Learning in Neural Networks: "
            "Emergence from Inputs and Advantage over Fixed Features",
            2022,
            "2206.01717",
        ),
        Paper(
            "bfc",
            "Allen-Zhu & Li",
            "Backward Feature Correction: How Deep Learning Performs Deep Learning",
            2020,
            "2001.04413",
        ),
    )
}


OWN = "own"
"""The name to use instead of a paper, for a user's own experiment."""


@dataclass(frozen=True)
class Reference:
    """A place in a paper, or, with the paper ``own``, any words about where a user's experiment comes from.

    >>> print(Reference("features", "App. E.1, Table 1"))
    Shi, Wei & Liang (features), App. E.1, Table 1
    """

    paper: str
    where: str

    def __post_init__(self) -> None:
        if self.paper not in (OWN, *PAPERS):
            unknown("paper", self.paper, [OWN, *PAPERS])

    def __str__(self) -> str:
        if self.paper == OWN:
            return self.where
        return f"{PAPERS[self.paper].authors} ({self.paper}), {self.where}"
