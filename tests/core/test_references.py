"""References to the papers."""

import pytest

from beyondkernels.core import PAPERS, InputError, Reference


def test_the_four_papers():
    assert list(PAPERS) == ["resnet", "overparam", "features", "bfc"]
    for short, paper in PAPERS.items():
        assert paper.short == short
        assert 2018 < paper.year < 2025
        assert paper.title and paper.authors


def test_reference_reads_like_a_citation():
    assert str(Reference("resnet", "Thm 1, eq. (6.2)")) == "Allen-Zhu & Li (resnet), Thm 1, eq. (6.2)"
    assert str(Reference("features", "Theorem 26")) == "Shi, Wei & Liang (features), Theorem 26"


def test_unknown_paper():
    with pytest.raises(InputError, match=r"^unknown paper 'feature', did you mean features\?$"):
        Reference("feature", "Theorem 26")
