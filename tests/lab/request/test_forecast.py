"""``--dry-run``: how many runs, what of it is a guess, how long."""

from dataclasses import replace
from typing import Any

import pytest

from beyondkernels.execution import SerialExecutor
from beyondkernels.execution.costs import Costs, kind_of
from beyondkernels.lab import ask, dry_run, run
from beyondkernels.store import Store

SERIAL = SerialExecutor()


def test_a_plan_of_one_round(user: Any, store: Store) -> None:
    request = ask(user.Plain(), "smoke", 3)
    seen = dry_run(request, None)
    assert (seen.certain, seen.guessed, seen.open_ended, seen.stored, seen.core_seconds) == (6, 0, False, 0, 600.0)
    assert dry_run(ask(user.Plain(), "laptop", 1), None).core_seconds is None
    assert dry_run(ask(user.Plain(), "smoke", 1, {"guesses": "1,1"}), None).runs == 1  # two labels, one run
    run(user.Plain(), "smoke", seeds=2, store=store, executor=SERIAL)
    seen = dry_run(request, store)
    assert (seen.runs, seen.stored, seen.measured) == (6, 4, 2)
    assert seen.core_seconds is not None and seen.core_seconds < 100  # measured, not what the declaration says


def test_later_rounds_are_guessed(user: Any, store: Store) -> None:
    request = ask(user.Rounds(), "smoke", changes={"guesses": "0,1,2"})
    seen = dry_run(request, None)
    # the best guess is taken to be the one in the middle: refined once with each seed
    assert (seen.certain, seen.guessed, seen.open_ended) == (6, 2, False)
    done = run(request, store=store, executor=SERIAL)
    assert seen.runs == len(done.finished)
    after = dry_run(request, store)
    assert (after.runs, after.stored, after.core_seconds) == (8, 8, 0.0)


def test_what_is_stored_is_no_guess(user: Any, store: Store) -> None:
    request = ask(user.Rounds(), "smoke")
    assert dry_run(request, None).runs == 6  # of two guesses the first is taken, which is no edge to grow from
    run(user.Plain(), "smoke", store=store, executor=SERIAL)  # the first round of the other
    seen = dry_run(request, store)
    assert (seen.certain, seen.guessed, seen.stored) == (4, 4, 4)  # the second is nearer, and refined twice


def test_a_plan_that_looks_at_more_than_numbers(user: Any) -> None:
    class Look(user.Runs):
        def specs(self, settings: Any, seeds: Any, finished: Any) -> Any:
            assert not any(run.outcome.arrays["weights"] for run in finished.values())
            return super().specs(settings, seeds, finished)

    class Looking(user.Plain):
        def runs(self, settings: Any, /) -> Any:
            return [Look(user.guessed, {"guess": ["g0", "g1"]})]

    seen = dry_run(ask(Looking(), "smoke"), None)
    assert (seen.certain, seen.guessed, seen.open_ended) == (4, 0, True)


def test_kinds(user: Any) -> None:
    settings = user.Settings()
    spec = user.spec(settings, 1.0, 0)
    assert kind_of(spec) == kind_of(user.spec(settings, 2.0, 7))
    other = user.spec(replace(settings, samples=settings.samples + 1), 1.0, 0)
    assert kind_of(spec) != kind_of(other)


def test_costs_are_remembered_by_kind(user: Any, store: Store) -> None:
    run(user.Plain(), "smoke", store=store, executor=SERIAL)
    (document,) = store.requests()
    ((kind, (number, seconds)),) = document["costs"].items()
    assert (kind, number) == (kind_of(next(iter(ask(user.Plain(), "smoke").first_round.values()))), 4)
    assert seconds >= 0
    # another slope: other runs, of the same kind
    seen = dry_run(ask(user.Plain(), "smoke", changes={"slope": 0.5}), store)
    assert (seen.stored, seen.measured) == (0, 4)
    odd: Any = [{"costs": 3}, {"costs": {"a": 1, "b": [1], "c": [1, "x"], "d": [2, -1.0], "e": [2, 3.0]}}, {}]
    assert Costs.of_requests(odd).totals == {"e": (2, 6.0)}


@pytest.mark.parametrize("name", ["resnet/fig2a", "resnet/fig3", "resnet/fig4a"])
def test_the_searches_of_the_catalogue_are_foreseen(name: str) -> None:
    seen = dry_run(ask(name, "smoke"), None)
    assert seen.guessed > 0
    assert not seen.open_ended
