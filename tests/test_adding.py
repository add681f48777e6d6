"""The experiment that ``docs/add-an-experiment.md`` builds: it runs, and its tests pass."""

import re
from pathlib import Path

import pytest

import beyondkernels as bk
from beyondkernels.core import load_file
from beyondkernels.execution import SerialExecutor
from beyondkernels.lab import SCALES, find, stated

PAGE = (Path(__file__).parents[1] / "docs" / "add-an-experiment.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE, flags=re.DOTALL)


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page's blocks as the files it says they are."""
    directory = tmp_path_factory.mktemp("adding")
    (directory / "parity.py").write_text("\n\n".join(blocks("python")), encoding="utf-8")
    (note,) = blocks("markdown")
    (directory / "parity.md").write_text(note, encoding="utf-8")
    return directory / "parity.py"


def test_it_runs_and_its_own_tests_pass(file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module = load_file(file)
    run = bk.run

    def quietly(*args, progress: bool, **kwargs):
        assert not progress
        return run(*args, executor=SerialExecutor(), **kwargs)

    monkeypatch.setattr(bk, "run", quietly, raising=False)
    module.test_parity(tmp_path)
    module.test_claims_can_fail()
    result = run(f"{file}:Parity", "smoke", store=tmp_path / "store", executor=SerialExecutor(), progress=False)
    page = result.page()
    assert page.summary == "The label is the parity of 3 patterns among ten."
    assert "The learning rate is searched from 0.5 on." in page.notes[0].replace("\n", " ")
    assert [figure.name for figure in page.figures] == ["accuracy"]
    assert {column.heading for column in page.columns} >= {"N", "Method", "Test accuracy", "Learning rate"}
    assert all(claim.measured is not None for claim in result.claims if claim.id != "crossing")


def test_every_scale_is_sound(file: Path) -> None:
    experiment = find(f"{file}:Parity")
    for scale in SCALES:
        settings = experiment.settings(scale)
        assert len(stated(experiment, settings, scale)) == 8
        assert experiment.runs(settings)


def test_the_commands_name_the_file(file: Path) -> None:
    (commands,) = blocks("sh")
    assert set(re.findall(r"\S+\.py:\w+", commands)) == {f"{file.name}:Parity"}
