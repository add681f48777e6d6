from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from beyondkernels.core import InputError, StoreError
from beyondkernels.execution import Event, LocalExecutor, SerialExecutor
from beyondkernels.lab import Experiment, Observer, Result, Runs, ask, run, store_path, stored
from beyondkernels.store import RunSpec, Store, store as store_module

USER = Path(__file__).parents[2] / "papers" / "user.py"
SERIAL = SerialExecutor()


class Log(Observer):
    """Remembers what it is told."""

    def __init__(self) -> None:
        self.rounds: list[tuple[list[str], int]] = []
        self.events: list[Event] = []

    def planned(self, request: Any, planned: Any) -> None:
        self.rounds.append((list(planned.names.values()), planned.stored))

    def happened(self, event: Event) -> None:
        self.events.append(event)


class Forbidden:
    """An executor that must not be needed."""

    def execute(self, specs: Sequence[RunSpec], store: Store) -> Any:
        raise AssertionError(f"{len(specs)} runs were asked for")


def test_rows_claims_and_events(user: Any, store: Store) -> None:
    log = Log()
    result = run(user.Plain(), "smoke", store=store, executor=SERIAL, observer=log)
    places = [(guess, seed, "finished") for guess in ("g0", "g1") for seed in (0, 1)]
    assert [(row["guess"], row["seed"], row["status"]) for row in result.rows] == places
    assert log.rounds == [(["g0 0", "g0 1", "g1 0", "g1 1"], 0)]
    assert sum(event.kind == "run" for event in log.events) == 4
    assert (result.missing, result.holds) == ({}, True)
    (claim,) = result.claims
    errors = [row["error"] for row in result.rows if row["guess"] == "g0"]
    assert claim.holds is True
    assert claim.measured == pytest.approx(sum(errors) / 2)


def test_a_second_round_builds_on_the_first(user: Any, store: Store) -> None:
    log = Log()
    result = run(user.Rounds(), "smoke", store=store, executor=SERIAL, observer=log)
    # the slope is 1.5, so of the guesses 0 and 1 the second is nearer, at the edge, and refined twice
    assert [names for names, _ in log.rounds] == [
        ["g0 0", "g0 1", "g1 0", "g1 1"],
        ["first 0", "first 1"],
        ["second 0", "second 1"],
    ]
    assert list(result.finished)[-1] == ("second", 1)
    assert [run.outcome.scalars["error"] for label, run in result.finished.items() if label[0] == "second"] == [0, 0]
    inner = run(user.Rounds(), "smoke", settings={"slope": 0.2}, store=store, executor=SERIAL)
    assert [label for label in inner.finished if label[0] in ("first", "second")] == [("first", 0), ("first", 1)]
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
    assert log.rounds[0] == (["g0 0", "g0 1", "g1 0"], 1)
    assert list(resumed.finished) == list(undisturbed.finished)
    assert resumed.rows == undisturbed.rows


def test_crashed_runs_are_missing_and_decide_nothing(user: Any, store: Store) -> None:
    result = run(user.Rounds(), "smoke", settings={"behaviour": "crash"}, store=store, executor=SERIAL)
    why = "crashed: ValueError: seed one is unlucky"
    assert result.missing == {("g0", 1): why, ("g1", 1): why}
    # seed 0 goes on to its second and third round all the same
    assert [label for label in result.finished if label[0] in ("first", "second")] == [("first", 0), ("second", 0)]
    (claim,) = result.claims
    assert (claim.holds, claim.reason) == (None, "2 of 6 runs are missing")
    assert claim.measured is not None
    assert result.holds is True
    assert "Missing runs: 2 (crashed: ValueError: seed one is unlucky)." in result.page().notes
    alone = run(user.Plain(), "smoke", seeds=[1], settings={"behaviour": "crash"}, store=store, executor=SERIAL)
    assert (alone.rows, alone.claims[0].holds, alone.claims[0].reason) == ([], None, "2 of 2 runs are missing")


def test_a_claim_fails(user: Any, store: Store) -> None:
    result = run(user.Plain(), "smoke", settings={"bound": -1}, store=store, executor=SERIAL)
    assert result.claims[0].holds is False
    assert result.holds is False


def test_a_diverged_run_is_a_result(user: Any, store: Store) -> None:
    result = run(user.Plain(), "smoke", settings={"behaviour": "diverge"}, store=store, executor=SERIAL)
    assert result.missing == {}
    assert [row["status"] for row in result.rows] == ["finished", "diverged"] * 2
    assert [row["error"] is None for row in result.rows] == [False, True] * 2
    assert (result.claims[0].holds, result.claims[0].reason) == (None, "no run gave a value")


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
    (document,) = store.requests()
    key = document["runs"][0]["key"]
    (store.path / "runs" / key[:2] / key / "done.json").unlink()
    back = stored(document, Store.open(store.path, read_only=True), f"{USER}:Plain")
    assert back.missing == {("g0", 0): "not in the store"}
    assert back.claims[0].reason == "1 of 4 runs is missing"


def test_requests_tell_what_was_asked_and_nobodys_name(user: Any, store: Store) -> None:
    run(f"{USER}:Plain", "smoke", seeds=1, store=store, executor=SERIAL, command=f"bk run {USER}:Plain --scale smoke")
    (document,) = store.requests()
    assert document["name"] == "user.py:Plain"
    assert (document["experiment"], document["scale"], document["seeds"]) == ("user/plain", "smoke", [0])
    assert document["settings"]["seeds"] == 1
    assert [run["label"] for run in document["runs"]] == [["g0", 0], ["g1", 0]]
    assert all(store.has(run["key"]) for run in document["runs"])
    assert [claim["holds"] for claim in document["claims"]] == [True]
    assert str(USER.parent) not in json.dumps(document)
    run(f"{USER}:Plain", "smoke", seeds=3, store=store, executor=SERIAL)
    run(f"{USER}:Plain", "laptop", seeds=1, store=store, executor=SERIAL)
    asked = [(len(request["seeds"]), request["scale"]) for request in store.requests()]
    assert asked == [(1, "smoke"), (3, "smoke"), (1, "laptop")]


def test_an_interrupted_call_can_be_reported(user: Any, store: Store) -> None:
    class Interrupted(Observer):
        def happened(self, event: Event) -> None:
            if event.kind == "run":
                raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(f"{USER}:Plain", "smoke", store=store, executor=SERIAL, observer=Interrupted())
    back = stored(store.requests()[-1], store, f"{USER}:Plain")
    assert (len(back.finished), len(back.missing)) == (1, 3)
    assert back.interrupted
    page = back.page()
    assert (page.missing, page.command) == (3, "bk run user.py:Plain --scale smoke")
    assert page.notes == ["A toy."]


def test_as_json_is_the_contract(user: Any, store: Store) -> None:
    result = run(user.Plain(), "smoke", seeds=[4], store=store, executor=SERIAL, command="bk run x --store /tmp/ada/s")
    document = result.as_json()
    assert json.loads(json.dumps(document, allow_nan=False)) == document
    assert list(document) == ["experiment", "scale", "seeds", "settings", "rows", "claims", "provenance"]
    assert (document["experiment"], document["scale"], document["seeds"]) == ("user/plain", "smoke", [4])
    numbers = {"samples": 5, "slope": 1.5, "guesses": [0.0, 1.0], "bound": 10.0}
    assert document["settings"] == numbers | {"behaviour": "learn", "seeds": 1}
    assert [row["bound"] for row in document["rows"]] == [None, None]  # infinite
    names = ["id", "text", "source", "kind", "place", "paper", "measured", "low", "high", "interval", "holds", "reason"]
    names += ["cause", "because", "sets", "slack", "values"]
    assert [list(claim) for claim in document["claims"]] == [names]
    made = document["provenance"]
    names = ["version", "commit", "dirty", "command", "libraries", "cpu", "seconds"]
    assert list(made) == [*names, "file", "known_by_code_only"]
    assert made["commit"] is None  # of this package, whose experiment it is not
    content = Path(user.__file__).read_bytes()
    assert made["file"] == f"{Path(user.__file__).name}, SHA-256 {hashlib.sha256(content).hexdigest()[:16]}"
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
        ({"seeds": []}, "seeds must hold at least one seed"),
        ({"seeds": [0.5]}, "seed must be a whole number, got 0.5"),
        ({"settings": {"samples": "0"}}, "samples must be at least 1, got 0"),
        ({"settings": {"sample": "3"}}, "unknown setting 'sample', did you mean samples"),
        ({"workers": 0}, "workers must be a positive whole number, got 0"),
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

    with pytest.raises(InputError, match=r"Seedless\.settings must return a frozen dataclass of settings, got"):
        ask(Seedless(), "smoke")


def test_rows_are_computed_once(user: Any, store: Store) -> None:
    calls: list[str] = []

    class Counting(user.Plain):
        def runs(self, settings: Any, /) -> Any:
            return [user.Runs(user.guessed, {"guess": ["g0", "g1"]}, self.read)]

        def read(self, settings: Any, at: Any, outcome: Any) -> Any:
            calls.append(at.label)
            return user.read(settings, at, outcome)

    result = run(Counting(), "smoke", settings={"bound": 3}, store=store, executor=SERIAL)
    assert repr(result) == "<Result user/plain · smoke scale · 2 seeds · bound=3.0: Its one claim holds>"
    _ = result.rows, result.claims, result.table, result.holds, result.as_json(), result.page(), result.to_frame()
    assert len(calls) == 4
    frame = result.to_frame()
    assert list(frame.columns) == ["guess", "seed", "status", "error", "bound"]
    assert list(frame["error"]) == [row["error"] for row in result.rows]


WRONG = {
    "settings": [
        (None, "Wrong.settings must return a frozen dataclass of settings, got None"),
        ({"seeds": 2}, "Wrong.settings must return a frozen dataclass of settings, got the dict {'seeds': 2}"),
    ],
    "runs": [
        (None, "Wrong.runs must return a list of Runs, got None"),
        ([1], "Wrong.runs must return a list of Runs, got the int 1 in it"),
        ([Runs(lambda *_: 1, {"a": [1]})], "Wrong.runs must give a RunSpec for each place, got the int 1 for a=1 0"),  # pyright: ignore
    ],
    "claims": [
        (True, "Wrong.claims must return a list of claims, got the bool True"),
        (["it holds"], "Wrong.claims must return a list of claims, got the str 'it holds' in it"),
    ],
    "table": [([], "Wrong.table must return a Table or None, got the list []")],
    "figures": [(None, "Wrong.figures must return a list of figures, got None")],
    "remarks": [("text", "Wrong.remarks must return a list of texts, got the str 'text'")],
}


@pytest.mark.parametrize(("method", "given", "sentence"), [(m, *case) for m, cases in WRONG.items() for case in cases])
def test_wrong_return_types_are_sentences(user: Any, store: Store, method: str, given: Any, sentence: str) -> None:
    wrong = type("Wrong", (user.Plain,), {method: lambda *_: given})
    with pytest.raises(InputError) as error:
        run(wrong(), "smoke", store=store, executor=SERIAL)
    assert sentence in str(error.value)
    assert store.keys() == []  # nothing was run for it


def test_a_wrong_reading_is_a_sentence(user: Any, store: Store) -> None:
    runs = user.Runs(user.guessed, {"guess": ["g0"]}, lambda *_: 3)
    wrong = type("Wrong", (user.Plain,), {"runs": lambda *_: [runs]})
    with pytest.raises(InputError, match="read must give a dict or a list of dicts, got 3"):
        run(wrong(), "smoke", store=store, executor=SERIAL)


def test_an_experiment_without_anything(user: Any) -> None:
    with pytest.raises(InputError, match="Unfinished is not complete: it has no id"):
        ask(f"{USER}:Unfinished", "smoke")
    words = {"id": "a/b", "title": "t", "summary": "s"}
    with pytest.raises(InputError, match="Bare is not complete: it has no settings_class"):
        ask(type("Bare", (Experiment,), words)(), "smoke")
    with pytest.raises(InputError, match="Bare is not complete: an experiment needs a method runs"):
        _ = ask(type("Bare", (Experiment,), {**words, "settings_class": user.Settings})(), "smoke").first_round


@pytest.mark.parametrize("word", ["id", "title", "summary", "reference"])
def test_wrong_words_are_sentences(user: Any, word: str) -> None:
    with pytest.raises(InputError, match=rf"Wrong\.{word} must be .*, got the int 3"):
        ask(type("Wrong", (user.Plain,), {word: 3})(), "smoke")
    with pytest.raises(InputError, match=r"an experiment is an id of bk list, .* got the int 3"):
        ask(3, "smoke")  # pyright: ignore[reportArgumentType]


def test_a_method_that_calls_exit_is_a_sentence(user: Any) -> None:
    with pytest.raises(InputError, match=r"Wrong\.runs calls sys\.exit; an experiment returns, or raises an error"):
        _ = ask(type("Wrong", (user.Plain,), {"runs": lambda *_: sys.exit(0)})(), "smoke").first_round


def test_a_plan_without_end_is_a_sentence(user: Any, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("beyondkernels.lab.request.runner.MOST_ROUNDS", 5)

    class More(user.Runs):
        def specs(self, settings: Any, seeds: Any, finished: Any) -> Any:
            return {("run", i): user.spec(settings, float(i), 0) for i in range(len(finished) + 1)}

    class Endless(user.Plain):
        def runs(self, settings: Any, /) -> Any:
            return [More(user.guessed, {})]

    with pytest.raises(InputError, match=r"Endless\.runs asked for new runs 5 times in a row; a plan must"):
        run(Endless(), "smoke", store=store, executor=SERIAL)
    assert len(store.keys()) == 5


def test_a_seed_named_twice_is_one_seed(user: Any) -> None:
    assert ask(user.Plain(), "smoke", [3, 0, 3]).seeds == (3, 0)
    for wrong in ("01", 1.5, {1: 2}):
        with pytest.raises(InputError, match="seeds must be a number of seeds or a list of them"):
            ask(user.Plain(), "smoke", wrong)  # pyright: ignore[reportArgumentType]


def test_published_values_stand_only_beside_the_papers_settings(tmp_path: Path) -> None:
    paper, variant = ask("features/table1", "laptop"), ask("features/table1", "laptop", changes={"relevant": 3})
    assert (paper.published, paper.departures, paper.variant) == (True, (), ())
    assert (variant.published, variant.departures, variant.variant) == (False, ("relevant",), ("relevant=3",))
    assert not ask("features/table1", "smoke").published
    assert ask("features/table1", "laptop", 1, {"readout_rate": 3}).published  # a choice of ours
    for request in (paper, variant):
        result = Result(request, {}, {})
        columns, _ = result.table
        assert any(claim.paper is not None for claim in result.claims) == request.published
        assert any(column.key.endswith("_paper") for column in columns) == request.published


def test_where_the_store_is(monkeypatch: pytest.MonkeyPatch) -> None:
    assert store_path(None) == Path("store")
    monkeypatch.setenv("BK_STORE", "elsewhere")
    assert store_path(None) == Path("elsewhere")
    assert store_path("here") == Path("here")
    with pytest.raises(InputError, match="the store must be a directory, got an empty name"):
        store_path("")


def test_progress_is_shown_unless_it_is_not_wanted(user: Any, store: Store, capsys: pytest.CaptureFixture[str]) -> None:
    run(user.Plain(), "smoke", store=store, executor=SERIAL, progress=False)
    assert capsys.readouterr() == ("", "")
    run(user.Plain(), "smoke", seeds=3, store=store, executor=SERIAL)
    shown = capsys.readouterr()
    assert shown.out == ""
    first, *lines = shown.err.splitlines()
    assert first == "user/plain: 2 runs to do, 4 stored already"
    assert [line.split("  ")[1].partition(" finished")[0] for line in lines] == ["g0 2", "g1 2"]


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


def test_a_store_that_can_only_be_read_serves_what_it_holds(user: Any, tmp_path: Path, monkeypatch) -> None:
    path = tmp_path / "store"
    first = run(user.Plain(), "smoke", store=path, executor=SERIAL)
    files = {file: file.stat().st_mtime_ns for file in path.rglob("*")}
    usual = store_module.open_directory

    def refuse(place: Path, *, create: bool, read_only: bool) -> None:
        if not read_only:
            raise StoreError(f"cannot open the store {place}: it is read-only")
        usual(place, create=create, read_only=read_only)

    monkeypatch.setattr(store_module, "open_directory", refuse)
    again = run(user.Plain(), "smoke", store=path)
    assert again.rows == first.rows
    assert {file: file.stat().st_mtime_ns for file in path.rglob("*")} == files
    with pytest.raises(StoreError, match="it is read-only; 2 runs are missing in it"):
        run(user.Plain(), "smoke", seeds=3, store=path)
    with pytest.raises(StoreError, match=r"it is read-only$"):
        run(user.Plain(), "smoke", store=tmp_path / "none")
