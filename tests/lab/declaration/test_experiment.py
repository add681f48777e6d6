from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from beyondkernels.core import InputError, load_file
from beyondkernels.lab import (
    Experiment,
    Over,
    Quantity,
    Runs,
    Shown,
    Table,
    expected,
    scale,
    setting,
    specs_of,
)
from beyondkernels.lab.declaration.texts import fill, read_text
from lab.declaration.toys import place
from refusals import refused


@dataclass(frozen=True)
class Numbers:
    alpha: float = setting(0.5, "paper")
    widths: tuple[int, ...] = setting((1, 2, 4), "paper")
    seeds: int = setting(5, "ours")

    @property
    def threshold(self) -> float:
        return 3 * self.alpha**2


class Toy(Experiment):
    id = "toy/toy"
    title = "A toy"
    summary = "What learns F alone leaves {{threshold:.3g}}."
    settings_class = Numbers
    scales = {"laptop": scale(widths=(1, 2)), "smoke": scale("laptop", alpha=0.1)}

    def runs(self, s: Numbers) -> list[Runs]:
        return [Runs(place, {"width": s.widths}), Runs(place, {"method": ["kernel"]})]


def test_scales_are_a_base_and_what_differs() -> None:
    toy = Toy()
    assert toy.settings("paper") == Numbers()
    assert toy.settings("laptop") == Numbers(widths=(1, 2))
    assert toy.settings("smoke") == Numbers(alpha=0.1, widths=(1, 2))
    with pytest.raises(InputError, match="unknown scale 'labtop', did you mean laptop"):
        toy.settings("labtop")


def test_the_summary_follows_the_settings() -> None:
    assert Toy().summary_of(Numbers()) == "What learns F alone leaves 0.75."
    assert Toy().summary_of(Numbers(alpha=1.0)) == "What learns F alone leaves 3."


def test_a_plan_is_that_of_all_its_parts() -> None:
    specs = specs_of(Toy(), Numbers(), (0, 1), {})
    assert len(specs) == 8 and expected(Toy(), Numbers(), (0, 1)) == (8, 0)

    class Twice(Toy):
        def runs(self, s: Numbers) -> list[Runs]:
            return [Runs(place, {"width": (1,)}), Runs(lambda s, at: at.with_(other=1), {"width": (1,)})]  # type: ignore[arg-type]

    with pytest.raises(InputError, match="gives two different runs the same coordinates"):
        specs_of(Twice(), Numbers(), (0,), {})


def test_notes_are_paragraphs_with_numbers_filled_in(tmp_path: Path) -> None:
    path = tmp_path / "notes.md"
    path.write_text("## Levels\n\nA constant leaves {{s.threshold:.2f}}.\n\nWidths are {{ s.widths }}.\n", "utf-8")
    text = read_text(path)
    assert (text.title, text.summary) == ("", "")
    facts = SimpleNamespace(s=Numbers())
    filled = [fill(note, facts) for note in text.notes]
    assert filled == ["## Levels\n\nA constant leaves 0.75.", "Widths are 1, 2, 4."]


def test_a_text_that_begins_with_a_heading_holds_title_and_summary(tmp_path: Path) -> None:
    path = tmp_path / "text.md"
    path.write_text("# A line is guessed\n\nIt is\neasy at {{widths}}.\n\n## Notes\n\nNone.\n", "utf-8")
    assert read_text(path) == ("A line is guessed", "It is easy at {{widths}}.", ["## Notes\n\nNone."], {})
    module = tmp_path / "guess.py"
    module.write_text(
        "from beyondkernels.lab import Experiment\n"
        "class Guess(Experiment):\n    id, text_file = 'own/guess', 'text.md'\n"
        "class Other(Guess):\n    id, title = 'own/other', 'Another'\n",
        "utf-8",
    )
    found = load_file(module)
    assert (found.Guess.title, found.Guess.summary) == ("A line is guessed", "It is easy at {{widths}}.")
    assert (found.Other.title, found.Other.summary) == ("Another", "It is easy at {{widths}}.")
    assert found.Other().notes(None) == ["## Notes\n\nNone."]


def test_claims_and_remarks_stand_in_the_text_that_is_called_as_the_module(tmp_path: Path) -> None:
    tmp_path.joinpath("learning.md").write_text(
        "# A line\n\nIs guessed.\n\nA note.\n\n"
        "## Claims\n\n- **learns** [Theorem 1, (2); bound]: With {{n}} points the error at "
        "widths {{widths}}\nis at most {{LEARNT:.0%}}\n- **other**: Never said\n\n"
        "## Causes\n\n- **at-10** [size]: {{n}} points are few\n\n## Remarks\n\n- **least**: At least {{least:g}}.\n\n"
        "## Figure error\n\n- **learns**: Of a figure\n",
        "utf-8",
    )
    module = tmp_path / "learning.py"
    module.write_text(
        "from beyondkernels.lab import AtMost, Experiment, of\n"
        "LEARNT = 0.05\n"
        "class Guess(Experiment):\n    id = 'own/guess'\n"
        "    def claims(self, s):\n"
        "        value, few = of('error'), AtMost(LEARNT)\n"
        "        return [self.claim(s, f'at-{n}', value, few, 0.1, 'learns', n=n, nowhere='no') for n in (10, 20)]\n"
        "    def remarks(self, s):\n        return [self.sentence(s, 'least', least=0.25)]\n"
        "class Titled(Experiment):\n    id, title = 'own/titled', 'Its own'\n",
        "utf-8",
    )
    found = load_file(module)
    claims = found.Guess().claims(Numbers())
    assert [(each.id, each.text, each.paper, each.nowhere) for each in claims] == [
        (f"at-{n}", f"With {n} points the error at widths 1, 2, 4 is at most 5%", 0.1, "no") for n in (10, 20)
    ]
    assert [(each.place, each.kind) for each in claims] == [("Theorem 1, (2)", "bound")] * 2
    assert [(each.cause, each.because) for each in claims] == [("size", "10 points are few"), (None, "")]
    assert found.Guess.title == "A line"
    assert found.Guess().notes(Numbers()) == ["A note.", "At least 0.25."]
    assert found.Titled().text_file == ""
    with pytest.raises(InputError, match=r"Remarks in learning\.md"):
        found.Guess().sentence(Numbers(), "lest")


def test_figures_take_the_words_they_leave_out_from_the_text(tmp_path: Path) -> None:
    tmp_path.joinpath("text.md").write_text(
        "# A line\n\nIs guessed.\n\nA note.\n\n"
        "## Figure error: Error over widths {{widths}}, k = {}\n\nShaded\nby {{threshold}}.\n\nAlt: A falling line.\n\n"
        "## Figure rate\n\nMore.\n",
        "utf-8",
    )
    module = tmp_path / "captions.py"
    module.write_text(
        "from beyondkernels.lab import Experiment, Picture\n"
        "class Guess(Experiment):\n    id, text_file = 'own/guess', 'text.md'\n"
        "    def figures(self, s):\n"
        "        own = Picture('error', caption='Its own.')\n"
        "        return [own, Picture('error'), Picture('rate', 'Rate'), Picture('none')]\n",
        "utf-8",
    )
    experiment = load_file(module).Guess()
    assert experiment.notes(Numbers()) == ["A note."]
    assert [(each.title, each.caption, each.alt) for each in experiment.pictures(Numbers())] == [
        ("Error over widths 1, 2, 4, k = {}", "Its own.", "A falling line."),
        ("Error over widths 1, 2, 4, k = {}", "Shaded by 0.75.", "A falling line."),
        ("Rate", "More.", ""),
        ("", "", ""),
    ]


@pytest.mark.parametrize("text", ["$W_{ij}$ and $\\frac{1}{2}$", "a { b } c"])
def test_single_braces_are_left_alone(text: str) -> None:
    assert fill(text, None) == text


def test_a_name_that_is_not_there_is_a_mistake() -> None:
    with pytest.raises(AttributeError, match="nothing"):
        fill("{{nothing}}", Numbers())


def test_every_note_of_the_package_can_be_filled() -> None:
    from beyondkernels.lab import CATALOGUE, SCALES, find

    for name in CATALOGUE:
        experiment = find(name)
        settings: Any = experiment.settings(SCALES[0])
        pictures = experiment.pictures(settings)
        words = [word for each in pictures for word in (each.title, each.caption, each.alt)]
        assert all("{{" not in text for text in (experiment.summary_of(settings), *experiment.notes(settings), *words))


def test_words_that_decide_are_one_of_those_there_are() -> None:
    """A word that nobody knows would turn a verdict, leave a scale unread or fail after all has been computed."""
    refused("show must be 'mean', 'first', 'largest' or a function, got 'last'", Shown, "error", show="last")
    refused("better must be '', 'less' or 'more', got 'fewer'", Quantity, "error", better="fewer")
    refused(
        "y_scale must be 'linear', 'log' or None, got 'logarithmic'", Over, "n", x="n", y="e", y_scale="logarithmic"
    )
    refused("origin must be 'paper', 'theorem' or 'ours', got 'our'", setting, 1, "our")
    refused("by must hold at least one value", Table, [], ["error"])
    refused("by must be a list, got 'width'", Table, "width", ["error"])
    refused("order must name coordinates of by", Table, ["width"], ["error"], order=["depth"])
    for name in ("scales", "speaks_at", "seconds_per_run"):
        value: Any = {"smok": scale()} if name == "scales" else {"smok": 1.0}
        refused(rf"unknown scale in T.{name} 'smok', did you mean smoke", type, "T", (Toy,), {name: value})
    wrong = type("Wrong", (Toy,), {"scales": {"smoke": scale(widhts=(1,))}})()
    refused("unknown setting in the scale smoke of Wrong 'widhts', did you mean widths", wrong.settings, "smoke")
