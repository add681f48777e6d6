"""The commands of ``bk``: thin, each hands over to a module of its own."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from beyondkernels.cli.guard import FAILED, MISSING, Commands, guarded, interruptible, printing

app = typer.Typer(
    cls=Commands,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    help="When, how and why do neural networks learn features that no kernel can match?",
    epilog="Begin with: bk run features/table1 --scale smoke",
)
store_app = typer.Typer(help="Look after a store of runs.")
app.add_typer(store_app, name="store")

StoreOption = Annotated[
    str | None, typer.Option("--store", metavar="DIR", help="Where runs are kept [BK_STORE or ./store].")
]


@app.callback(invoke_without_command=True)
def _main(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version and stop.")] = False,
) -> None:
    if version:
        import beyondkernels

        print(f"bk {beyondkernels.__version__}")
        raise typer.Exit
    _help_without_command(context)


@store_app.callback(invoke_without_command=True)
def _store(context: typer.Context) -> None:
    _help_without_command(context)


def _help_without_command(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        print(context.get_help())


@app.command("list")
@guarded
@printing
def _list(as_json: Annotated[bool, typer.Option("--json", help="As JSON on standard output.")] = False) -> None:
    """List the experiments."""
    from beyondkernels.cli.display import console
    from beyondkernels.cli.show import list_experiments

    list_experiments(as_json, console())


@app.command("run", epilog="Exit codes: 0 fine, 1 a claim fails under --check, 2 bad input, 3 runs missing or crashed.")
@guarded
@interruptible
def _run(
    names: Annotated[list[str] | None, typer.Argument(metavar="EXPERIMENT", hidden=True)] = None,
    scale: Annotated[str | None, typer.Option(metavar="smoke|laptop|paper", help="How large [laptop].")] = None,
    seeds: Annotated[str | None, typer.Option(metavar="N", help="How many seeds [the experiment's].")] = None,
    sets: Annotated[list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Change a setting.")] = None,
    config: Annotated[Path | None, typer.Option(metavar="FILE.toml", help="Options from a file.")] = None,
    workers: Annotated[str | None, typer.Option(metavar="N", help="Worker processes [one for each core].")] = None,
    store: StoreOption = None,
    json_file: Annotated[
        Path | None, typer.Option("--json", metavar="FILE", help="Write rows and claims here.")
    ] = None,
    check: Annotated[bool, typer.Option("--check", help="Exit with 1 if a claim fails.")] = False,
    dry: Annotated[bool, typer.Option("--dry-run", help="Only say how many runs it would take.")] = False,
) -> int:
    """Run experiments and print their tables and claims.

    EXPERIMENT is an id of bk list, or path/file.py:NAME. Runs that are stored already are not done again.
    """
    from beyondkernels.cli.options import Options, from_file, from_words, whole
    from beyondkernels.cli.run import run_all

    given = Options(scale, whole("--seeds", seeds), whole("--workers", workers), store, from_words(sets or []))
    options = given if config is None else given.over(from_file(config))
    return run_all(names or [], options, json_file, check, dry)


@app.command("report")
@guarded
@interruptible
def _report(
    names: Annotated[list[str] | None, typer.Argument(metavar="EXPERIMENT", hidden=True)] = None,
    store: StoreOption = None,
    out: Annotated[Path, typer.Option(metavar="DIR", help="Where to write the pages.")] = Path("report"),
) -> int:
    """Write static pages from stored runs; nothing is trained.

    Without an EXPERIMENT, pages are written for all that the store holds.
    """
    from beyondkernels.cli.report import report

    return report(names or [], store, out)


@app.command("show")
@guarded
@printing
def _show(
    name: Annotated[str | None, typer.Argument(metavar="EXPERIMENT|RUN", hidden=True)] = None,
    store: StoreOption = None,
) -> None:
    """Show an experiment or a stored run.

    A RUN is named by its key or the first digits of it; bk show EXPERIMENT lists the keys.
    """
    from beyondkernels.cli.display import console
    from beyondkernels.cli.show import show

    show(name, store, console())


@app.command("bench")
@guarded
@interruptible
def _bench(
    name: Annotated[str | None, typer.Argument(metavar="NAME", hidden=True)] = None,
    json_file: Annotated[Path | None, typer.Option("--json", metavar="FILE", help="Write the rows here.")] = None,
) -> None:
    """Measure how fast we are against what else could be used.

    NAME is kernels or engine. Times are of one process on one core, taken in turns; a busy machine spoils them.
    """
    from beyondkernels.cli.bench import run_benchmark

    run_benchmark(name, json_file)


@app.command("doctor")
@guarded
def _doctor(store: StoreOption = None) -> int:
    """Say whether this machine is ready."""
    from beyondkernels.cli.doctor import examine

    return 0 if examine(store) else FAILED


@store_app.command("verify")
@guarded
@interruptible
def _verify(
    store: StoreOption = None,
    put_aside: Annotated[bool, typer.Option("--put-aside", help="Move what is damaged into the quarantine.")] = False,
) -> int:
    """Read every run, request and checkpoint and check it against its checksums."""
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


@store_app.command("rebuild")
@guarded
@interruptible
def _rebuild(store: StoreOption = None) -> None:
    """Remove the index of an earlier version; stores have none any more."""
    from beyondkernels.cli.stores import remove_index

    remove_index(store)


@store_app.command("prune")
@guarded
@interruptible
def _prune(
    days: Annotated[str | None, typer.Option(metavar="N", help="Days after which one counts as old [30].")] = None,
    store: StoreOption = None,
) -> None:
    """Remove checkpoints nobody will use: damaged, of stored runs, or old.

    A checkpoint is the state of a run that was ended in the middle, with which the next bk run goes on.
    """
    from beyondkernels.cli.options import whole
    from beyondkernels.cli.stores import open_store

    age = whole("--days", days)
    opened = open_store(store, writing=True)
    removed = opened.prune() if age is None else opened.prune(age)
    print(f"{removed} checkpoints removed, {len(opened.checkpoints.keys())} left")


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
