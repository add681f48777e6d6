"""Keys outlive the code: a store written by an earlier version still serves."""

import json
from pathlib import Path

import pytest

from beyondkernels.core import build, canonical_json, components, describe, load_file
from beyondkernels.runs import LocalExecutor, RunSpec
from beyondkernels.runs.keys import key_of

FIRST_KEYS = json.loads(Path(__file__).with_name("keys_of_the_first_stores.json").read_text())
"""Runs of all nine experiments at smoke scale, by key, as version 0.1 stored them: every class is among them."""


@pytest.mark.parametrize("key", FIRST_KEYS)
def test_runs_of_the_first_stores_keep_their_keys(key):
    spec = build(FIRST_KEYS[key])
    assert isinstance(spec, RunSpec)
    assert json.loads(canonical_json(spec)) == FIRST_KEYS[key]
    assert spec.key == key == key_of(FIRST_KEYS[key])


def test_a_store_serves_after_a_move_and_a_new_field(tmp_path, toys, store, outcome, monkeypatch):
    before = load_file(write(tmp_path / "before_the_move.py", "Line", "", ""))
    old = RunSpec(before.Line(3), toys.Mean(), 5, 3, 0)
    store.write(old.key, describe(old), outcome, {"seconds": 1.5})

    monkeypatch.delitem(components._REGISTRY, "beyondkernels_user.before_the_move:Line")  # as in another process
    identity = 'identity: ClassVar[str] = "beyondkernels_user.before_the_move:Line"'
    file = write(tmp_path / "after_the_move.py", "Ray", identity, "origin: float = later(0.0)")
    after = load_file(file)
    new = RunSpec(after.Ray(3), toys.Mean(), 5, 3, 0)
    assert store.read(new.key).outcome.scalars["loss"] == 0.1
    assert build(describe(old)).problem == after.Ray(3)
    other = RunSpec(after.Ray(3, 2.0), toys.Mean(), 5, 3, 0)
    assert not store.has(other.key)
    events = list(
        LocalExecutor(1, load=[toys.__file__, file]).execute([other, RunSpec(after.Ray(), toys.Mean(), 5, 3, 1)], store)
    )
    assert [event.status for event in events if event.kind == "run"] == ["finished", "finished"]


def write(file: Path, name: str, identity: str, field: str) -> Path:
    file.write_text(
        f"""
from dataclasses import dataclass
from typing import ClassVar
from beyondkernels.core import Problem, Sample, later

@dataclass(frozen=True)
class {name}(Problem):
    {identity}
    dim: int = 3
    {field}
    out_dim: ClassVar[int] = 1
    in_dim = property(lambda self: self.dim)

    def sample(self, n, stream):
        x = stream.generator().standard_normal((n, self.dim))
        return Sample(x, x.sum(axis=1))
""",
        encoding="utf-8",
    )
    return file
