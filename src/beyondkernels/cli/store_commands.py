"""The commands of ``bk store``."""

from __future__ import annotations

from typing import Annotated

import typer

from beyondkernels.cli.arguments import JsonOption, StoreOption, help_without_command
from beyondkernels.cli.guard import MISSING, guarded, interruptible, printing

store_app = typer.Typer(help="Look after a store of runs.")


@store_app.callback(invoke_without_command=True)
def _store(context: typer.Context) -> None:
    help_without_command(context)


@store_app.command("verify")
@guarded
@interruptible
def _verify(
    store: StoreOption = None,
    put_aside: Annotated[bool, typer.Option("--put-aside", help="Move what is damaged into the quarantine.")] = False,
) -> int:
    """Check every file against its checksum.

    Runs, requests and checkpoints are read, and nothing is changed unless --put-aside says so.
    """
    from beyondkernels.cli.stores import verify

    return MISSING if verify(store, put_aside) else 0


@store_app.command("quarantine")
@guarded
@interruptible
def _quarantine(
    store: StoreOption = None,
    empty: Annotated[bool, typer.Option("--empty", help="Remove all of it, for good.")] = False,
) -> None:
    """List what was damaged and put aside, or remove it."""
    from beyondkernels.cli.stores import show_quarantine

    show_quarantine(store, empty)


@store_app.command("prune")
@guarded
@interruptible
def _prune(
    days: Annotated[str | None, typer.Option(metavar="N", help="Days after which one counts as old [30].")] = None,
    store: StoreOption = None,
) -> None:
    """Remove checkpoints that nobody will use.

    A checkpoint is the state of a run that was ended in the middle; the next bk run goes on from it. Nobody will use
    one that is damaged, that belongs to a stored run, or that is old.
    """
    from beyondkernels.cli.display import count
    from beyondkernels.cli.options import whole
    from beyondkernels.cli.stores import open_store

    age = whole("--days", days)
    opened = open_store(store, writing=True)
    removed = opened.prune() if age is None else opened.prune(age)
    print(f"{count(removed, 'checkpoint')} removed, {len(opened.checkpoints.keys())} left")


@store_app.command("ls")
@guarded
@printing
def _store_list(
    store: StoreOption = None,
    experiment: Annotated[
        str | None, typer.Option(metavar="ID", help="Only runs that this experiment asked for.")
    ] = None,
    problem: Annotated[str | None, typer.Option(metavar="WORD", help="Only problems with this in their name.")] = None,
    learner: Annotated[str | None, typer.Option(metavar="WORD", help="Only learners with this in their name.")] = None,
    status: Annotated[str | None, typer.Option(metavar="WORD", help="Only finished, diverged or damaged runs.")] = None,
    seeds: Annotated[str | None, typer.Option(metavar="N|LIST", help="Only these seeds: 5, 5..9 or 3,7,11.")] = None,
    as_json: JsonOption = False,
) -> None:
    """List runs, the newest first."""
    from beyondkernels.cli.display import console
    from beyondkernels.cli.options import seeds_of
    from beyondkernels.cli.store_list import Filters, list_runs

    given = seeds_of("--seeds", seeds)
    which = tuple(range(given)) if isinstance(given, int) else given
    list_runs(store, Filters(experiment, problem, learner, status, which), as_json, console())


@store_app.command("size")
@guarded
@printing
def _size(store: StoreOption = None) -> None:
    """Say how much a store holds."""
    from beyondkernels.cli.stores import open_store

    size = open_store(store).size()
    ended = ", ".join(f"{count} {status}" for status, count in sorted(size.statuses.items()))
    print(f"runs        {size.runs} ({ended or 'none yet'})")
    print(f"disk space  {size.bytes / 2**20:.1f} MiB")
    print(f"work        {size.seconds / 60:.1f} core-minutes")
    print(f"requests    {size.requests}")
    print(f"quarantine  {size.quarantined} damaged and put aside")
    print(f"checkpoints {size.checkpoints} of runs that are not over, {size.checkpoint_bytes / 2**20:.1f} MiB")
