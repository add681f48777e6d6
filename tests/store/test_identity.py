"""Identity that lasts: keys hold public names, and a component may grow."""

import importlib
import re
from pathlib import Path

import pytest

import beyondkernels
from beyondkernels.core import Component, build, canonical_json, components, describe, load_file
from beyondkernels.core.public_names import homes
from beyondkernels.execution import LocalExecutor
from beyondkernels.lab import ask
from beyondkernels.store import RunSpec, key_of, witness

ROOT = Path(beyondkernels.__file__).parent


@pytest.mark.parametrize("name", ["bfc/toy12", "features/table1", "overparam/theorem41", "resnet/fig4a"])
def test_a_description_gives_the_run_back(name):
    spec = next(iter(ask(name, "smoke").first_round.values()))
    description = describe(spec)
    assert "beyondkernels." not in canonical_json(spec)  # no module path: what moves keeps its key
    assert build(description) == spec
    assert spec.key == key_of(description)


def test_no_two_components_share_a_public_name():
    """The sources are read, so that no import order hides a second class."""
    rooms = [path.parent for folder in (ROOT, ROOT / "papers") for path in folder.glob("*/__init__.py")]
    shared = []
    for room in rooms:
        defined = {
            name
            for file in room.rglob("*.py")
            if "experiments" not in file.relative_to(room).parts and (room.name != "papers" or file.parent == room)
            for name in re.findall(r"(?m)^class (\w+)", file.read_text(encoding="utf-8"))
        }
        for name in defined:
            modules = [importlib.import_module(home) for home in homes(f"{room.name}.{name}")]
            classes = [vars(module)[name] for module in modules]
            shared += [f"{room.name}.{name}"] if sum(issubclass(cls, Component) for cls in classes) > 1 else []
    assert shared == []


def test_a_store_serves_after_a_new_field(tmp_path, toys, store, outcome, monkeypatch):
    """Of a component that is known by its revision: the file stands for one of this package."""
    for module in (components, witness):
        monkeypatch.setattr(module, "is_of_a_library", lambda value: True)
    file = write(tmp_path / "growing_line.py", "")
    before = load_file(file)
    old = RunSpec(before.Line(3), toys.Mean(), 5, 3, 0)
    store.write(old.key, old.description, outcome, {"seconds": 1.5})

    after = load_file(write(file, "origin: float = later(0.0)"))
    new = RunSpec(after.Line(3), toys.Mean(), 5, 3, 0)
    assert store.read(new.key).outcome.scalars["loss"] == 0.1
    assert build(describe(old)).problem == after.Line(3)
    other = RunSpec(after.Line(3, 2.0), toys.Mean(), 5, 3, 0)
    assert not store.has(other.key)
    monkeypatch.undo()
    other = RunSpec(after.Line(3, 2.0), toys.Mean(), 5, 3, 0)  # a key is computed once
    events = list(
        LocalExecutor(1, load=[toys.__file__, file]).execute(
            [other, RunSpec(after.Line(), toys.Mean(), 5, 3, 1)], store
        )
    )
    assert [event.status for event in events if event.kind == "run"] == ["finished", "finished"]


def test_an_edited_component_of_the_user_is_another(tmp_path, toys):
    file = write(tmp_path / "edited_line.py", "")
    first = RunSpec(load_file(file).Line(3), toys.Mean(), 5, 3, 0).key
    again = RunSpec(load_file(file).Line(3), toys.Mean(), 5, 3, 0).key
    file.write_text(file.read_text(encoding="utf-8").replace("x.sum(axis=1)", "x.prod(axis=1)"), encoding="utf-8")
    assert first == again != RunSpec(load_file(file).Line(3), toys.Mean(), 5, 3, 0).key


def write(file: Path, field: str) -> Path:
    file.write_text(
        f"""
from dataclasses import dataclass
from typing import ClassVar
from beyondkernels.core import Problem, Sample, later

@dataclass(frozen=True)
class Line(Problem):
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
