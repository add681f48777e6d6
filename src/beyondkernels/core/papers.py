"""Papers, places in them, and the numbers they print."""

from __future__ import annotations

import functools
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import resources
from typing import Any


@dataclass(frozen=True)
class Paper:
    """A paper and the package that holds its problems, networks, theory and experiments.

    Arguments:
        short: its short name here, which begins the ids of its experiments.
        authors: as a reference names them.
        title: in full.
        year: of the version that is followed.
        arxiv: its number at arXiv.
        package: the importable package; a file ``published.toml`` in it holds the numbers that the paper prints.
        experiments: for each experiment, the module in ``package.experiments`` and the class: ``module:Class``.

    >>> paper = Paper("mine", "Ada", "On features", 2030, "3001.00001", "my_paper", {"table1": "table1:Table1"})
    >>> paper.address, paper.catalogue
    ('https://arxiv.org/abs/3001.00001', {'mine/table1': 'my_paper.experiments.table1:Table1'})
    """

    short: str
    authors: str
    title: str
    year: int
    arxiv: str
    package: str
    experiments: Mapping[str, str] = field(hash=False)

    @property
    def address(self) -> str:
        """The paper's page on arXiv."""
        return f"https://arxiv.org/abs/{self.arxiv}"

    @property
    def catalogue(self) -> dict[str, str]:
        """Where each experiment is declared, by its id."""
        return {f"{self.short}/{name}": f"{self.package}.experiments.{home}" for name, home in self.experiments.items()}

    def at(self, where: str) -> Reference:
        """A place in the paper.

        >>> print(Paper("mine", "Ada", "On features", 2030, "3001.00001", "my_paper", {}).at("§2, Table 1"))
        Ada (mine), §2, Table 1
        """
        return Reference(self, where)

    def printed(self, name: str) -> dict[str, Any]:
        """What the paper prints in a table or figure."""
        return _published(self.package)[name]

    def printed_by_method(self, name: str, quantity: str, case: str = "") -> dict[str, float | None]:
        """A printed column by method; None where nothing is printed.

        Arguments:
            name: of the table.
            quantity: which column.
            case: which part of a table that has several, such as ``d = 100``; no part of that name has no column.
        """
        table = self.printed(name)
        if case:
            table = table.get(case, {"methods": (), quantity: ()})
        return {
            method: None if value != value else value
            for method, value in zip(table["methods"], table[quantity], strict=True)
        }


@dataclass(frozen=True)
class Reference:
    """A place in a paper or, without a paper, any words about where an experiment comes from."""

    paper: Paper | None
    where: str

    def __str__(self) -> str:
        return self.where if self.paper is None else f"{self.paper.authors} ({self.paper.short}), {self.where}"


@functools.cache
def _published(package: str) -> dict[str, Any]:
    return tomllib.loads(resources.files(package).joinpath("published.toml").read_text(encoding="utf-8"))
