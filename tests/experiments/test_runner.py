from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from beyondkernels.core import InputError
from beyondkernels.experiments import Observer, ask, dry_run, run, store_path, stored
from beyondkernels.runs import Event, LocalExecutor, RunSpec, SerialExecutor, Store

USER = Path(__file__).with_name("user.py")
SERIAL = SerialExecutor()


class Log(Observer):
    """Remembers what it is told."""

    def __init__(self) -> None:
        self.rounds: list[tuple[list[str], int]] = []
        self.events: list[Event] = []

    def planned(self, request: Any, todo: Any, stored: int) -> None:
        self.rounds.append((list(todo.values()), stored))

    def happened(self, event: Event) -> None:
        self.events.append(event)


class Forbidden:
    """An executor that must not be needed."""

    def execute(self, specs: Sequence[RunSpec], store: Store) -> Any:
        raise AssertionError(f"{len(specs)} runs were asked for")


def test_rows_claims_and_events(user: Any, store: Store) -> None:
    log = Log()
    result = run(user.Plain(), "smoke", store=store, executor=SERIAL, observer=log)
    assert [(row["guess"], row["seed"], row["status"]) for row in result.rows] == [
        ("g0", 0, "finished"),
        ("g0", 1, "finished"),
        ("g1", 0, "finished"),
        ("g1", 1, "finished"),
    ]
    assert log.rounds == [(["guess g0 0", "guess g0 1", "guess g1 0", "guess g1 1"], 0)]
    assert sum(event.kind == "run" for event in log.events) == 4
    assert (result.missing, result.holds) == ({}, True)
    (claim,) = result.claims
    errors = [row["error"] for row in result.rows]
    assert claim.holds is True
    assert claim.measured == pytest.approx(sum(errors) / 4)


def test_a_second_round_builds_on_the_first(user: Any, store: Store) -> None:
    log = Log()
    result = run(user.Rounds(), "smoke", store=store, executor=SERIAL, observer=log)
    # the slope is 1.5, so of the guesses 0 and 1 the second is nearer, at the edge, and refined twice
    assert [names for names, _ in log.rounds] == [
        ["guess g0 0", "guess g0 1", "guess g1 0", "guess g1 1"],
        ["refined first 0", "refined first 1"],
        ["refined second 0", "refined second 1"],
    ]
    assert list(result.finished)[-1] == ("refined", "second", 1)
    assert [run.outcome.scalars["error"] for label, run in result.finished.items() if label[1] == "second"] == [0, 0]
    inner = run(user.Rounds(), "smoke", settings={"slope": 0.2}, store=store, executor=SERIAL)
    assert [label for label in inner.finished if label[0] == "refined"] == [
        ("refined", "first", 0),
        ("refined", "first", 1),
    ]
    again = Log()
    assert run(user.Rounds(), "smoke", store=store, executor=Forbidden(), observer=again).rows == result.rows
    assert again.rounds == [([], 4), ([], 2), ([], 2)]


def test_what_is_stored_comes_back_in_the_plans_order(user: Any, store: Store) -> None:
    undisturbed = run(user.Rounds(), "smoke", store=Store.open(store.path.with_name("other")), executor=SERIAL)
    request = ask(user.Rounds(), "smoke")
    last = list(request.first_round.values())[-1]
    assert [event.status for event in SERIAL.execute([last], store) if event.kind == "run"] == ["finished"]
    log = Log()
    resumed = run(request, store=store, executor=SERIAL, observer=log)
    assert log.rounds[0] == (["guess g0 0", "guess g0 1", "guess g1 0"], 1)
    assert list(resumed.finished) == list(undisturbed.finished)
    assert resumed.rows == undisturbed.rows


def test_crashed_runs_are_missing_and_decide_nothing(user: Any, store: Store) -> None:
    result = run(user.Rounds(), "smoke", settings={"behaviour": "crash"}, store=store, executor=SERIAL)
    why = "crashed: ValueError: seed one is unlucky"
    assert result.missing == {("guess", "g0", 1): why, ("guess", "g1", 1): why}
    # seed 0 goes on to its second and third round all the same
    assert [label for label in result.finished if label[0] == "refined"] == [
        ("refined", "first", 0),
        ("refined", "second", 0),
    ]
    (claim,) = result.claims
    assert (claim.holds, claim.reason) == (None, "2 of 6 runs are missing")
    assert claim.measured is not None
    assert result.holds is True
    assert "Missing runs: 2 (crashed: ValueError: seed one is unlucky)." in result.page().notes
    alone = run(user.Plain(), "smoke", seeds=[1], settings={"behaviour": "crash"}, store=store, executor=SERIAL)
    assert (alone.rows, alone.claims[0].holds, alone.claims[0].reason) == ([], None, "no run gave a value")


def test_a_claim_fails(user: Any, store: Store) -> None:
    result = run(user.Plain(), "smoke", settings={"bound": -1}, store=store, executor=SERIAL)
    assert result.claims[0].holds is False
    assert result.holds is False


def test_a_diverged_run_is_a_result(user: Any, store: Store) -> None:
    result = run(user.Plain(), "smoke", settings={"behaviour": "diverge"}, store=store, executor=SERIAL)
    assert result.missing == {}
    assert [row["status"] for row in result.rows] == ["finished", "diverged"] * 2
    assert [row["error"] is None for row in result.rows] == [False, True] * 2
    assert (result.claims[0].holds, result.claims[0].reason) == (None, "2 of 4 runs gave no value")


def test_workers_find_the_users_components(user: Any, store: Store) -> None:
    result = run(f"{USER}:Plain", "smoke", store=store, workers=1)
    assert len(result.rows) == 4
    direct = run(user.Plain(), "smoke", store=Store.open(store.path.with_name("other")), executor=SERIAL)
    assert result.rows == direct.rows


def test_stored_equals_run(user: Any, store: Store) -> None:
    name = f"{USER}:Rounds"
    ran = run(name, "smoke", settings={"slope": "0.7", "guesses": "0.5,1"}, store=store, executor=SERIAL)
    (document,) = store.requests()
    back = stored(document, store, name)
    assert back.as_json() == ran.as_json()
    assert list(back.finished) == list(ran.finished)
    assert (back.request.name, back.request.scale, back.request.seeds) == (name, "smoke", (0, 1))
    assert vars(back.request.settings) == vars(ran.request.settings)
    assert (back.page().rows, back.page().claims) == (ran.page().rows, ran.page().claims)
    assert back.page().command == "bk run user.py:Rounds --scale smoke --set slope=0.7 --set guesses=0.5,1.0"


def test_stored_says_what_is_missing(user: Any, store: Store) -> None:
    run(f"{USER}:Plain", "smoke", store=store, executor=SERIAL)
    document = store.read_request("user/plain")
    key = document["runs"][0]["key"]
    (store.path / "runs" / key[:2] / key / "done.json").unlink()
    back = stored(document, Store.open(store.path, read_only=True), f"{USER}:Plain")
    assert back.missing == {("guess", "g0", 0): "not in the store"}
    assert back.claims[0].reason == "1 of 4 runs is missing"


def test_requests_tell_what_was_asked_and_nobodys_name(user: Any, store: Store) -> None:
    run(f"{USER}:Plain", "smoke", seeds=1, store=store, executor=SERIAL, command=f"bk run {USER}:Plain --scale smoke")
    document = store.read_request("user/plain", "smoke")
    assert document["name"] == "user.py:Plain"
    assert (document["experiment"], document["scale"], document["seeds"]) == ("user/plain", "smoke", [0])
    assert document["settings"]["seeds"] == 1
    assert [run["label"] for run in document["runs"]] == [["guess", "g0", 0], ["guess", "g1", 0]]
    assert all(store.has(run["key"]) for run in document["runs"])
    assert [claim["holds"] for claim in document["claims"]] == [True]
    assert str(USER.parent) not in json.dumps(document)
    run(f"{USER}:Plain", "smoke", seeds=3, store=store, executor=SERIAL)
    run(f"{USER}:Plain", "laptop", seeds=1, store=store, executor=SERIAL)
    assert [(len(request["seeds"]), request["scale"]) for request in store.requests()] == [
        (1, "smoke"),
        (3, "smoke"),
        (1, "laptop"),
    ]


def test_an_interrupted_call_can_be_reported(user: Any, store: Store) -> None:
    class Interrupted(Observer):
        def happened(self, event: Event) -> None:
            if event.kind == "run":
                raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(f"{USER}:Plain", "smoke", store=store, executor=SERIAL, observer=Interrupted())
    back = stored(store.read_request("user/plain"), store, f"{USER}:Plain")
    assert (len(back.finished), len(back.missing)) == (1, 3)
    assert back.page().notes[-1] == "Missing runs: 3 (not in the store)."


def test_dry_run_counts(user: Any, store: Store) -> None:
    request = ask(user.Plain(), "smoke", 3)
    assert dry_run(request, None) == {"runs": 6, "stored": 0, "core_seconds": 600.0}
    run(user.Plain(), "smoke", seeds=2, store=store, executor=SERIAL)
    assert dry_run(request, store) == {"runs": 6, "stored": 4, "core_seconds": 200.0}
    assert dry_run(ask(user.Plain(), "laptop", 1), store)["core_seconds"] is None
    twice = ask(user.Plain(), "smoke", 1, {"guesses": "1,1"})
    assert dry_run(twice, store)["runs"] == 1


def test_as_json_is_the_contract(user: Any, store: Store) -> None:
    result = run(user.Plain(), "smoke", seeds=[4], store=store, executor=SERIAL, command="bk run x --store /tmp/ada/s")
    document = result.as_json()
    assert json.loads(json.dumps(document, allow_nan=False)) == document
    assert list(document) == ["experiment", "scale", "seeds", "settings", "rows", "claims", "provenance"]
    assert (document["experiment"], document["scale"], document["seeds"]) == ("user/plain", "smoke", [4])
    assert document["settings"] == {
        "samples": 5,
        "slope": 1.5,
        "guesses": [0.0, 1.0],
        "bound": 10.0,
        "behaviour": "learn",
        "seeds": 1,
    }
    assert [row["bound"] for row in document["rows"]] == [None, None]  # infinite
    names = ["id", "text", "paper", "measured", "low", "high", "interval", "holds", "reason"]
    assert [list(claim) for claim in document["claims"]] == [names]
    assert list(document["provenance"]) == ["version", "commit", "dirty", "command", "libraries", "cpu", "seconds"]
    assert document["provenance"]["command"] == "bk run x"
    assert document["provenance"]["seconds"] >= 0


def test_page(user: Any, store: Store) -> None:
    page = run(user.Plain(), "smoke", seeds=[0, 1, 2], store=store, executor=SERIAL).page()
    assert (page.id, page.scale, page.seeds) == ("user/plain", "smoke", (0, 1, 2))
    assert page.command == "bk run user/plain --scale smoke --seeds 3"
    assert {s.name: (s.value, s.origin) for s in page.settings}["samples"] == (5, "ours")
    assert {s.name: (s.value, s.origin) for s in page.settings}["seeds"] == (3, "paper")
    assert [figure.name for figure in page.figures] == ["error"]
    assert page.notes == ["A toy."]


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"scale": "labtop"}, "unknown scale 'labtop'"),
        ({"seeds": 0}, "seeds must be positive, got 0"),
        ({"seeds": -2}, "seeds must be positive, got -2"),
        ({"seeds": []}, "seeds must hold at least one seed"),
        ({"seeds": [0.5]}, "seed must be a whole number, got 0.5"),
        ({"settings": {"seeds": "0"}}, "seeds must be positive, got 0"),
        ({"settings": {"samples": "0"}}, "samples must be at least 1, got 0"),
        ({"settings": {"sample": "3"}}, "unknown setting 'sample', did you mean samples"),
        ({"workers": 0}, "workers must be a positive whole number, got 0"),
        ({"workers": -1}, "workers must be a positive whole number, got -1"),
    ],
)
def test_bad_input_is_refused_before_a_store_is_made(user: Any, tmp_path: Path, options: Any, sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        run(user.Plain(), **{"scale": "smoke", **options}, store=tmp_path / "store")
    assert list(tmp_path.iterdir()) == []


def test_settings_without_seeds_are_refused(user: Any) -> None:
    class Seedless(user.Plain):
        def settings(self, scale: str) -> Any:
            return object()

    with pytest.raises(InputError, match="the settings of user/plain must have a field seeds"):
        ask(Seedless(), "smoke")


def test_where_the_store_is(monkeypatch: pytest.MonkeyPatch) -> None:
    assert store_path(None) == Path("store")
    monkeypatch.setenv("BK_STORE", "elsewhere")
    assert store_path(None) == Path("elsewhere")
    assert store_path("here") == Path("here")
    with pytest.raises(InputError, match="the store must be a directory, got an empty name"):
        store_path("")


def test_local_workers_are_the_default(user: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[LocalExecutor] = []

    def execute(executor: LocalExecutor, specs: Sequence[RunSpec], store: Store) -> Any:
        asked.append(executor)
        return SERIAL.execute(specs, store)

    monkeypatch.setattr(LocalExecutor, "execute", execute)
    run(user.Plain(), "smoke", store=tmp_path / "store")
    run(f"{USER}:Plain", "laptop", store=tmp_path / "store", workers=3)
    assert [executor.workers for executor in asked] == [None, 3]
    assert {tuple(executor.load) for executor in asked} == {(str(USER),)}
