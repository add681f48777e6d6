"""What an experiment is: a declaration that sees no store, executor, path or command line."""

from __future__ import annotations

import bisect
import dataclasses
import inspect
import itertools
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar

from beyondkernels.core import Checked, Reference, unknown
from beyondkernels.lab.declaration.pictures import Picture
from beyondkernels.lab.declaration.quantities import Quantities, Quantity
from beyondkernels.lab.declaration.rows import Rows
from beyondkernels.lab.declaration.runs import Runs
from beyondkernels.lab.declaration.statements import Statement
from beyondkernels.lab.declaration.tables import Table
from beyondkernels.lab.declaration.texts import Item, Text, fill, read_sentences, read_text
from beyondkernels.lab.declaration.values import Value
from beyondkernels.lab.report.claims import Condition

SCALES = ("smoke", "laptop", "paper")
"""``smoke`` runs in seconds, ``laptop`` in minutes on two cores, ``paper`` is the paper's own setting."""

THREE_SETS = MappingProxyType({"laptop": (0, 500, 1000)})
"""Where the sets of seeds begin of an experiment that takes minutes: the second and third were never tuned on."""


@dataclasses.dataclass(frozen=True)
class Scale(Checked):
    """A scale as data: another scale, and what differs from it.

    Arguments:
        base: the other scale.
        differs: the settings that differ, by name.
    """

    base: str
    differs: Mapping[str, Any]


def scale(base: str = "paper", **differs: Any) -> Scale:
    """A scale that differs from another in some settings: ``scale("laptop", samples=100)``."""
    return Scale(base, differs)


class Experiment:
    """A figure, table or theorem of a paper: the runs it needs, its claims, its table and its pictures.

    A subclass sets ``id`` (such as ``mine/first``), ``title`` and ``summary`` or a ``text_file`` with them,
    ``settings_class`` (a frozen dataclass of :func:`setting` fields, ``seeds`` among them, whose defaults are the
    largest scale), and ``reference`` where there is one. It declares ``runs``, and over the table of their rows
    ``claims``, ``table`` and ``figures``. ``examples/own_experiment.py`` is a whole one;
    ``docs/add-an-experiment.md`` explains the parts.
    """

    id: str
    title: str
    summary: str
    settings_class: Callable[[], Any]
    reference: ClassVar[Reference] = Reference(None, "an experiment of one's own")
    scales: ClassVar[Mapping[str, Scale]] = {}
    """What differs from the defaults at a scale; a scale that is not named has the numbers as they are."""
    speaks_at: ClassVar[Sequence[str]] = ("laptop", "paper")
    """The scales at which claims say anything."""
    seed_sets: ClassVar[Mapping[str, Sequence[int]]] = MappingProxyType({})
    """By scale, where its sets of seeds begin; each set has as many as the setting ``seeds`` says. Unless given there
    is one set, which begins at 0."""
    scaled: ClassVar[bool] = True
    """Whether its scales differ; otherwise nothing is said of a scale, and claims always speak."""
    command: ClassVar[str] = "run"
    """The command that runs it."""
    text_file: ClassVar[str] = ""
    """A Markdown file beside the module: a heading, which is the title, the summary below it, the notes, and a section
    ``## Figure NAME: TITLE`` with caption and ``Alt: …`` for figures that leave their words to it. Before these, the
    sections ``## Claims``, ``## Causes`` and ``## Remarks`` have what :meth:`claim` and :meth:`sentence` say. A file
    without a heading of the first level holds notes alone. Names between double braces are settings. By default it is
    the file that is called as the module is, if there is one and the class has no title of its own."""
    quantities: Mapping[str, Quantity] = MappingProxyType({})
    """What the columns of the rows are, coordinates and measured numbers: how tables and axes write them, and what
    values they can have. Columns that every experiment has, such as ``test_loss``, need no entry."""
    seconds_per_run: ClassVar[Mapping[str, float]] = {}
    """By scale, what one run takes on one core, roughly: for ``--dry-run``."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        for word in ("scales", "speaks_at", "seconds_per_run", "seed_sets"):
            for name in vars(cls).get(word, ()):
                if name not in SCALES:  # nothing would ever look it up
                    unknown(f"scale in {cls.__name__}.{word}", name, SCALES)
        if not cls.text_file and "title" not in vars(cls) and (file := _text_beside(cls)).is_file():
            cls.text_file = file.name
        if "text_file" in vars(cls):
            text = cls._text()
            for name, words in (("title", text.title), ("summary", text.summary)):
                if words and name not in vars(cls):
                    setattr(cls, name, words)

    @classmethod
    def _text(cls) -> Text:
        return read_text(cls._text_path())

    @classmethod
    def _text_path(cls) -> Path:
        home = next(each for each in cls.__mro__ if "text_file" in vars(each))
        return Path(inspect.getfile(home)).with_name(cls.text_file)

    def sentence(self, settings: Any, name: str, /, **more: Any) -> str:
        """A sentence of the text file: an item ``- **NAME**: SENTENCE`` of ``## Remarks``.

        Names between double braces in it are settings (or whatever :meth:`facts` gives), or constants of this module.

        Arguments:
            settings: the settings.
            name: the item's name.
            more: what further names in the sentence stand for.
        """
        return self._filled(settings, "Remarks", name, more).words

    def _filled(self, settings: Any, section: str, name: str, more: Mapping[str, Any]) -> Item:
        written = read_sentences(self._text_path())[section]
        if name not in written:
            unknown(f"item of {section} in {self.text_file}", name, list(written))
        module = vars(sys.modules[type(self).__module__])
        known = {each: constant for each, constant in module.items() if each.isupper()} | dict(more)
        return Item(*(fill(part, self.facts(settings), known) for part in written[name]))

    def claim(
        self,
        settings: Any,
        name: str,
        value: Value,
        condition: Condition,
        paper: float | str | None = None,
        sentence: str = "",
        /,
        **more: Any,
    ) -> Statement:
        """A claim whose sentence stands in the text file, with its kind and place, and its cause should it fail.

        Arguments:
            settings: the settings.
            name: the claim's id, by which the item of ``## Claims`` and that of ``## Causes`` are found.
            value: what it is about.
            condition: the test that decides it.
            paper: what the paper has.
            sentence: the items' own name, where several claims share one.
            more: other arguments of the claim, and what further names in the sentence stand for.
        """
        item = sentence or name
        text, mark = self._filled(settings, "Claims", item, more)
        place, _, kind = mark.rpartition("; ")
        given: dict[str, Any] = {"kind": kind or "expectation", "place": place}
        causes = read_sentences(self._text_path())["Causes"]
        if reason := next((each for each in (name, item) if each in causes), ""):
            given["because"], given["cause"] = self._filled(settings, "Causes", reason, more)
        fields = {field.name for field in dataclasses.fields(Statement)}
        given |= {key: more[key] for key in more if key in fields}
        return Statement(name, text, value, condition, paper, **given)

    def runs(self, settings: Any, /) -> Sequence[Runs]:
        """The runs, over coordinates."""
        raise NotImplementedError("an experiment needs a method runs")

    def claims(self, settings: Any, /) -> Sequence[Statement]:
        """What the paper says, as sentences over the rows."""
        return ()

    def table(self, settings: Any, /) -> Table | None:
        """The table a reader sees; without one, the rows as they are."""
        return None

    def figures(self, settings: Any, /) -> Sequence[Picture]:
        """The pictures, the most telling one first."""
        return ()

    def facts(self, settings: Any, /) -> Any:
        """Where the names in the summary and the notes are looked up: the settings, unless there is more to say."""
        return settings

    def remarks(self, settings: Any, /) -> Sequence[str]:
        """Notes that have to be computed, such as how a theorem's hypotheses stand."""
        return ()

    def finding(self, settings: Any, rows: Rows, /) -> str:
        """What was found, in a few sentences that are computed from the rows; the page begins with them."""
        return ""

    def opening(self, settings: Any, rows: Rows, /) -> str:
        """What a reader has to know before anything else, in Markdown: the page begins with it."""
        return ""

    def call(self, seeds: Sequence[int], changes: Mapping[str, Any]) -> str:
        """How to run it from Python if it stands in no file, so that no command knows it; nothing if one does.

        Arguments:
            seeds: which.
            changes: settings that are not the usual ones.
        """
        return ""

    def speaks(self, scale: str) -> bool:
        """Whether claims say anything at a scale."""
        return not self.scaled or scale in self.speaks_at

    def usual_seeds(self, scale: str, count: int) -> tuple[int, ...]:
        """The seeds that are reported at a scale.

        Arguments:
            scale: the scale.
            count: how many there are in a set.
        """
        return tuple(first + i for first in self.seed_sets.get(scale, (0,)) for i in range(count))

    def sets_of(self, seeds: Sequence[int]) -> list[list[int]]:
        """Seeds by the sets that they belong to; a seed belongs to the last set that begins before it."""
        firsts = sorted({0, *itertools.chain(*self.seed_sets.values())})
        return [list(each) for _, each in itertools.groupby(sorted(seeds), lambda seed: bisect.bisect(firsts, seed))]

    def settings(self, scale: str) -> Any:
        """The numbers at a scale; an unknown scale is bad input, where there are scales."""
        if not self.scaled:
            return self.settings_class()
        if scale not in SCALES:
            unknown("scale", scale, SCALES)
        found = self.scales.get(scale)
        if found is None:
            return self.settings_class()
        base = self.settings_class() if found.base == scale else self.settings(found.base)
        names = [field.name for field in dataclasses.fields(base)]
        for name in found.differs:
            if name not in names:
                unknown(f"setting in the scale {scale} of {type(self).__name__}", name, names)
        return dataclasses.replace(base, **found.differs)

    def notes(self, settings: Any) -> list[str]:
        """The notes of the text file with their numbers filled in, then what :meth:`remarks` computes."""
        written = self._text().notes if self.text_file else []
        return [*(fill(note, self.facts(settings)) for note in written), *self.remarks(settings)]

    def pictures(self, settings: Any) -> list[Picture]:
        """The figures; words that a declaration leaves out are those of its section ``## Figure NAME`` in the text."""
        written, facts = self._text().figures if self.text_file else {}, self.facts(settings)

        def worded(picture: Picture) -> Picture:
            there = written.get(picture.name, {})
            missing = {word: fill(text, facts) for word, text in there.items() if not getattr(picture, word)}
            return dataclasses.replace(picture, **missing)

        return [worded(picture) for picture in self.figures(settings)]

    @property
    def declared(self) -> Quantities:
        """The quantities, with those that every experiment has."""
        return Quantities(self.quantities)

    def summary_of(self, settings: Any) -> str:
        """The summary with the settings' numbers in it."""
        return fill(self.summary, self.facts(settings))


def _text_beside(cls: type) -> Path:
    """Where the text of a class's module stands, if it has one; a module without a file has none."""
    return Path(getattr(sys.modules.get(cls.__module__), "__file__", None) or "none").with_suffix(".md")
