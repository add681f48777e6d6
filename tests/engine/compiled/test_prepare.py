"""Before the first run starts: what this machine lacks is said in one sentence, and nothing is trained or stored."""

import dataclasses
from collections.abc import Iterator
from pathlib import Path

import pytest

import beyondkernels as bk
from beyondkernels import networks
from beyondkernels.algorithms import GradientDescent, Squared
from beyondkernels.engine import TrainedNetwork
from beyondkernels.engine.compiled import compiler, library
from beyondkernels.execution import LocalExecutor, SerialExecutor
from beyondkernels.store import RunSpec, Store
from refusals import refused

LEARNER = TrainedNetwork(
    networks.FullyConnected(
        width=4, depth=2, activation="relu", parameterisation=networks.Parameterisation("standard")
    ),
    GradientDescent(steps=2, learning_rate=0.1, loss=Squared()),
)
SPECS = [
    RunSpec(
        bk.features.DictionaryParity(dim=6, patterns=4, relevant=3),
        dataclasses.replace(LEARNER, backend=backend),
        8,
        4,
        seed=0,
    )
    for backend in ("eager", "compiled")
]


@pytest.fixture
def nothing_compiled(tmp_path, monkeypatch) -> Iterator[Path]:
    monkeypatch.setenv("BK_CACHE", str(tmp_path / "cache"))
    library.library.cache_clear()
    yield tmp_path / "cache"
    library.library.cache_clear()


@pytest.mark.parametrize("executor", [SerialExecutor(), LocalExecutor(1)], ids=["serial", "local"])
def test_without_a_compiler_no_run_is_started(executor, nothing_compiled, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("CXX", raising=False)
    store = Store.open(tmp_path / "store")
    refused(r"needs a C\+\+ compiler, and none was found .* install .* backend='eager'", executor.execute, SPECS, store)
    assert list(store.keys()) == []
    assert [event.status for event in executor.execute(SPECS[:1], store) if event.kind == "run"] == ["finished"]


@pytest.mark.skipif(compiler.find_compiler() is None, reason="there is no C++ compiler here")
def test_each_learner_prepares_its_own_library(nothing_compiled):
    dataclasses.replace(LEARNER, backend="eager").prepare()
    assert not nothing_compiled.exists()
    dataclasses.replace(LEARNER, backend="compiled").prepare()
    linearised = dataclasses.replace(LEARNER, network=networks.Linearised(LEARNER.network), backend="compiled")
    linearised.prepare()
    assert sorted(path.name.partition("-")[0] for path in nothing_compiled.iterdir()) == ["descent", "linearised"]
