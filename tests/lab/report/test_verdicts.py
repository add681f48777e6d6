import itertools

import pytest

from beyondkernels.lab import STATES, Claim, count_verdicts, state_of, verdict_sentence


def counted(holds, fails, silent):
    given = [True] * holds + [False] * fails + [None] * silent
    return count_verdicts([Claim(str(i), "", holds=value) for i, value in enumerate(given)])


@pytest.mark.parametrize(
    ("numbers", "state", "sentence"),
    [
        ((9, 0, 0), "holds", "All 9 claims hold"),
        ((1, 0, 0), "holds", "Its one claim holds"),
        ((1, 1, 1), "partly", "1 of 3 claims holds, 1 fails, 1 is undecided"),
        ((0, 3, 0), "fails", "None of 3 claims holds, 3 fail"),
        ((0, 0, 4), "undecided", "None of 4 claims is decided"),
        ((2, 0, 2), "holds", "2 of 4 claims hold, 2 are undecided"),
        ((0, 0, 0), "undecided", "It makes no claims"),
    ],
)
def test_states_and_sentences(numbers, state, sentence):
    assert state_of(counted(*numbers)) == state
    assert verdict_sentence(counted(*numbers)) == sentence
    assert state_of(counted(*numbers), complete=False) == "unfinished"


def test_every_state_has_a_mark_of_its_own_shape():
    marks = [mark for mark, _ in STATES.values()]
    assert len(set(marks)) == len(marks)
    for numbers in itertools.product(range(3), repeat=3):
        assert state_of(counted(*numbers)) in STATES
