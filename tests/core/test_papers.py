"""Papers and places in them."""

from beyondkernels.core import Reference
from beyondkernels.lab.papers import PAPERS, paper_of


def test_every_paper_is_complete():
    assert {"bfc", "features", "overparam", "resnet"} <= {*PAPERS}
    for short, paper in PAPERS.items():
        assert (paper.short, paper_of(short)) == (short, paper)
        assert 2018 < paper.year < 2025
        assert paper.title and paper.authors and paper.experiments


def test_reference_reads_like_a_citation():
    assert str(PAPERS["resnet"].at("Thm 1, eq. (6.2)")) == "Allen-Zhu & Li (resnet), Thm 1, eq. (6.2)"
    assert str(PAPERS["features"].at("Theorem 26")) == "Shi, Wei & Liang (features), Theorem 26"
    assert str(Reference(None, "an experiment of one's own")) == "an experiment of one's own"
