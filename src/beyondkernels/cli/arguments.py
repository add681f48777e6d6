"""Options that several commands have."""

from __future__ import annotations

from typing import Annotated

import typer

StoreOption = Annotated[
    str | None, typer.Option("--store", metavar="DIR", help="Where runs are kept [BK_STORE or ./store].")
]
WorkersOption = Annotated[
    str | None, typer.Option("--workers", metavar="N", help="Worker processes [one for each core].")
]

JsonOption = Annotated[bool, typer.Option("--json", help="As JSON on standard output.")]
DebugOption = Annotated[bool, typer.Option("--debug", help="Show whole tracebacks of your own code.")]
SEEDS = "How many seeds, or which: 5, 5..9 or 3,7,11 [as the {} says]."
"""The help of ``--seeds``, with a word for what is run."""


def help_without_command(context: typer.Context) -> None:
    """Print the help of a group of commands if none of them is named."""
    if context.invoked_subcommand is None:
        print(context.get_help())
