"""Where every run diverged at once, rows are still read, and no claim on them is decided in the paper's favour."""

import pytest

from beyondkernels.core import Outcome
from beyondkernels.lab import CATALOGUE, find
from papers.judging import finish

EXACT = "exact-slope", "exact-order", "not-target"
"""Claims on what is computed, without a run."""
# those of bfc/theoremI1 on kernels are not trained and do not diverge
NAMES = [name for name in CATALOGUE if name.startswith("bfc/") and name != "bfc/theoremI1"]


@pytest.mark.parametrize("name", NAMES)
def test_a_diverged_run_is_no_number(name: str) -> None:
    experiment = find(name)
    read = finish(experiment, experiment.settings("smoke"), (0, 1, 2), lambda *_: Outcome("diverged", {"steps": 1.0}))
    measured = [claim for claim in read.claims if not claim.id.startswith(EXACT)]
    assert measured and not any(claim.holds for claim in measured)
