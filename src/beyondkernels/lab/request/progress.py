"""The display of a request: that of its runs, and a line at the beginning of each round."""

from __future__ import annotations

from beyondkernels.execution import progress
from beyondkernels.execution.costs import Round
from beyondkernels.lab.request.request import Request


class Observer(progress.Watch):
    """Is told how a request goes; by default says nothing."""

    def planned(self, request: Request, planned: Round) -> None:
        """Told what a round is to do, before it begins."""


class Display(progress.Display, Observer):
    """Shows how far a request is and how long the rest may take."""

    rounds = 0

    def planned(self, request: Request, planned: Round) -> None:
        self.close()
        self.rounds += 1
        self.name = request.experiment.id
        which = f"{self.name}{f', round {self.rounds}' if self.rounds > 1 else ''}"
        runs = f"{len(planned.names)} run{'' if len(planned.names) == 1 else 's'}"
        self.line(f"{which}: {runs} to do, {planned.stored} stored already")
        self.begin(planned)
