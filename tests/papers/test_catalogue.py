import dataclasses
import subprocess
import sys
from pathlib import Path
from typing import Any, get_args

import pytest

from beyondkernels.core import InputError
from beyondkernels.lab import CATALOGUE, PAPERS, SCALES, Experiment, departures, find, stated
from beyondkernels.lab.declaration.user_files import source_file
from beyondkernels.lab.report.pages import Origin
from beyondkernels.papers.features.paper import PAPER as FEATURES
from refusals import refused

USER = Path(__file__).with_name("user.py")


@pytest.mark.parametrize("name", CATALOGUE)
def test_declaration(name: str) -> None:
    experiment = find(name)
    assert experiment.id == name
    assert experiment.reference.paper == PAPERS[name.split("/")[0]]
    assert all(text.strip() == text != "" for text in (experiment.title, experiment.summary))
    assert set(experiment.seconds_per_run) == set(SCALES)
    assert source_file(name, experiment) == ()


@pytest.mark.parametrize("name", CATALOGUE)
def test_settings_at_every_scale(name: str) -> None:
    experiment = find(name)
    for scale in SCALES:
        settings = experiment.settings(scale)
        assert settings.seeds > 0
        with pytest.raises(dataclasses.FrozenInstanceError):
            settings.seeds = 1
        for field in dataclasses.fields(settings):
            assert field.metadata["origin"] in get_args(Origin)
    # at the paper's scale every number is what its field's origin says it is
    assert experiment.settings("paper") == type(experiment.settings("paper"))()


@pytest.mark.parametrize("name", CATALOGUE)
def test_claims_without_rows_have_words_and_say_nothing(name: str) -> None:
    experiment = find(name)
    for scale in SCALES:
        claims = stated(experiment, experiment.settings(scale), scale)
        assert claims
        assert len({claim.id for claim in claims}) == len(claims)
        for claim in claims:
            assert claim.text
            assert claim.text.isprintable()  # pages leave out letters that Unicode does not know, such as U+1D506
            assert (claim.holds, claim.measured, claim.low, claim.high) == (None, None, None, None)
            assert bool(claim.reason) == (scale not in experiment.speaks_at)


@pytest.mark.parametrize("name", CATALOGUE)
def test_only_smoke_departs_from_the_paper(name: str) -> None:
    experiment = find(name)
    paper = experiment.settings("paper")
    for scale in ("laptop", "paper"):
        assert departures(experiment.settings(scale), paper) == ()


def test_declarations_do_not_import_torch() -> None:
    program = (
        "import sys\n"
        "from beyondkernels.lab import CATALOGUE, SCALES, find, stated\n"
        "for name in CATALOGUE:\n"
        "    for scale in SCALES:\n"
        "        e, settings = find(name), find(name).settings(scale)\n"
        "        stated(e, settings, scale), e.table(settings), e.summary_of(settings)\n"
        "print(sorted({'torch', 'matplotlib', 'sklearn', 'scipy', 'numpy', 'pandas'} & set(sys.modules)))"
    )
    answer = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert answer.stdout == "[]\n"


def test_unknown_names_get_the_nearest() -> None:
    refused("unknown experiment 'features/tabel1', did you mean features/table1", find, "features/tabel1")
    refused("bk list lists all", find, "zzz")


def test_experiments_of_a_users_file(user: Any, tmp_path: Path) -> None:
    experiment = find(f"{USER}:Plain")
    assert isinstance(experiment, Experiment)
    assert experiment.id == "user/plain"
    assert find(f"{USER}:INSTANCE").id == "user/plain"
    assert source_file(f"{USER}:Plain", experiment) == (str(USER),)
    assert source_file("user/plain", user.Plain()) == (str(USER),)
    for name, sentence in {
        f"{USER}:Plane": r"user.py defines no experiment 'Plane'; say user.py:Plain or user.py:Rounds or",
        f"{USER}:Slope": "user.py defines no experiment 'Slope'",
        f"{USER}": "user.py defines several experiments; say user.py:Plain",
        f"{USER}:Unfinished": "user.py:Unfinished is not complete: it has no id",
        f"{tmp_path}/none.py:Plain": "no file",
        f"{tmp_path}/nothing.py:Plain": "nothing.py defines no experiment",
        f"{tmp_path}/broken.py:Plain": "broken.py cannot be imported: SyntaxError",
        f"{tmp_path}/wordless.py:Wordless": "wordless.py:Wordless is not complete: it has no id",
    }.items():
        (tmp_path / "nothing.py").write_text("")
        (tmp_path / "broken.py").write_text("def")
        (tmp_path / "wordless.py").write_text(
            "from beyondkernels.lab import Experiment\n"
            "class Wordless(Experiment):\n"
            "    settings = runs = claims = lambda self, *_: []\n"
        )
        with pytest.raises(InputError, match=sentence):
            find(name)


def test_printed_numbers_of_table1() -> None:
    # train accuracy, test accuracy, cosine as the paper's Table 1 prints them, line by line
    table = {
        "Network": (100.0, 100.0, 0.997),
        "NTK": (84.0, 86.4, None),
        "RF": (74.7, 76.0, 0.114),
        "One Step": (51.3, 52.2, 0.848),
        "Two Step": (100.0, 100.0, 0.997),
        "Network w/o structure": (100.0, 52.0, 0.253),
    }
    for i, quantity in enumerate(("train_accuracy", "test_accuracy", "cosine")):
        assert FEATURES.printed_by_method("table1", quantity) == {method: line[i] for method, line in table.items()}
    lists = FEATURES.printed("table1")
    assert {len(values) for values in lists.values()} == {len(table)}
