"""An experiment on another device: the runs that can go there do, and the request says so."""

from pathlib import Path
from typing import Any

import pytest

from beyondkernels.core import InputError
from beyondkernels.execution import SerialExecutor
from beyondkernels.lab import ask, run, stored
from beyondkernels.store import Store
from two_devices import DEVICE

OWN = f"{Path(__file__).parents[3] / 'examples' / 'own_experiment.py'}:Own"
SMALL = {"samples": (100,), "steps": 2}


def devices(request: Any) -> dict[str, str]:
    return {str(label[0]): spec.device for label, spec in request.first_round.items()}


def test_networks_go_there_and_the_rest_stays() -> None:
    there = ask(OWN, "smoke", 1, SMALL, "cuda")
    assert devices(there) == {"network": "cuda", "linear": "cpu"}
    assert set(devices(ask(OWN, "smoke", 1, SMALL)).values()) == {"cpu"}
    assert there.words().endswith(" · on cuda")
    assert there.differences["device"] == "cuda"
    assert there.command().endswith(" --device cuda")
    assert ask(OWN, "smoke", [3], SMALL, "cuda").command().endswith(" --device cuda")


def test_it_stands_in_the_store_beside_the_run_on_the_processor(store: Store) -> None:
    here = run(OWN, "smoke", seeds=1, settings=SMALL, store=store, executor=SerialExecutor(), progress=False)
    there = run(OWN, "smoke", seeds=1, settings=SMALL, device=DEVICE, store=store, executor=SerialExecutor())
    documents = store.requests()
    assert [document.get("device") for document in documents] == [None, DEVICE]
    assert [stored(document, store, OWN).rows for document in documents] == [here.rows, there.rows]
    assert {run.key for run in here.finished.values()}.isdisjoint(run.key for run in there.finished.values())


def test_a_device_that_is_not_there_is_refused_before_a_store_is_made(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"^device must be one that this machine has, got 'abc' .*bk doctor"):
        run(OWN, "smoke", device="abc", store=tmp_path / "new")
    with pytest.raises(InputError, match=r"^device must be a device's name, such as 'cpu' or 'cuda:0', got 3$"):
        ask(OWN, "smoke", device=3)  # pyright: ignore[reportArgumentType]
    assert not (tmp_path / "new").exists()
