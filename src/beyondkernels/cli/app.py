"""The commands of ``bk``: thin, each hands over to a module of its own."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from beyondkernels.cli.arguments import (
    SEEDS,
    DebugOption,
    JsonOption,
    StoreOption,
    WorkersOption,
    help_without_command,
)
from beyondkernels.cli.guard import FAILED, Commands, guarded, interruptible, printing
from beyondkernels.cli.store_commands import store_app

app = typer.Typer(
    cls=Commands,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="When, how and why do neural networks learn features that no kernel can match?",
    epilog="Begin with: bk demo",
)
app.add_typer(store_app, name="store")


def _experiments(incomplete: str) -> list[str]:
    """What Tab offers for an experiment."""
    from beyondkernels.lab.catalogue import CATALOGUE

    return [name for name in CATALOGUE if name.startswith(incomplete)]


def _papers(incomplete: str) -> list[str]:
    """What Tab offers for a paper or an experiment."""
    from beyondkernels.lab.catalogue import CATALOGUE

    names = {name.partition("/")[0] for name in CATALOGUE}
    return [*sorted(name for name in names if name.startswith(incomplete)), *_experiments(incomplete)]


def _scales(incomplete: str) -> list[str]:
    """What Tab offers for a scale."""
    return [name for name in ("smoke", "laptop", "paper") if name.startswith(incomplete)]


Experiments = Annotated[
    list[str] | None, typer.Argument(metavar="EXPERIMENT", hidden=True, autocompletion=_experiments)
]
ScaleOption = Annotated[
    str | None, typer.Option(metavar="smoke|laptop|paper", help="How large [laptop].", autocompletion=_scales)
]
SetOption = Annotated[list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Change a setting.")]
DeviceOption = Annotated[str | None, typer.Option(metavar="NAME", help="Where networks train, such as cuda [cpu].")]
JsonFileOption = Annotated[
    Path | None, typer.Option("--json", metavar="FILE", help="Write rows and claims here; - is standard output.")
]
PageOption = Annotated[Path, typer.Option(metavar="DIR", help="Where to write the page.")]


@app.callback(invoke_without_command=True)
def _main(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version and stop.")] = False,
) -> None:
    if version:
        import beyondkernels

        print(f"bk {beyondkernels.__version__}")
        raise typer.Exit
    help_without_command(context)


@app.command("help", hidden=True)
def _help(context: typer.Context) -> None:
    """Show this message."""
    print(context.parent.get_help() if context.parent else "")


@app.command("list")
@guarded
@printing
def _list(
    word: Annotated[str | None, typer.Argument(metavar="WORD", hidden=True, autocompletion=_papers)] = None,
    as_json: JsonOption = False,
) -> None:
    """List the experiments.

    With a WORD, those of a paper, such as features, or those that have the word in their id or title.
    """
    from beyondkernels.cli.display import console
    from beyondkernels.cli.show import list_experiments

    list_experiments(word, as_json, console())


@app.command("demo")
@guarded
@interruptible
def _demo(
    workers: WorkersOption = None,
    store: StoreOption = None,
    out: PageOption = Path("report"),
) -> int:
    """Show within a minute what a network learns and kernels do not.

    It is bk run with the settings that it prints, and then bk report.
    """
    from beyondkernels.cli.demo import demo
    from beyondkernels.cli.options import whole

    return demo(whole("--workers", workers), store, out)


@app.command("run", epilog="Exit codes: 0 fine, 1 a claim fails under --check, 2 bad input, 3 runs missing or crashed.")
@guarded
@interruptible
def _run(
    names: Experiments = None,
    scale: ScaleOption = None,
    seeds: Annotated[str | None, typer.Option(metavar="N|LIST", help=SEEDS.format("experiment"))] = None,
    sets: SetOption = None,
    config: Annotated[Path | None, typer.Option(metavar="FILE.toml", help="Options from a file.")] = None,
    workers: WorkersOption = None,
    store: StoreOption = None,
    device: DeviceOption = None,
    json_file: JsonFileOption = None,
    check: Annotated[bool, typer.Option("--check", help="Exit with 1 if a claim fails.")] = False,
    dry: Annotated[bool, typer.Option("--dry-run", help="Only say how many runs it takes, and how long.")] = False,
    debug: DebugOption = False,
) -> int:
    """Run experiments and print their tables and claims.

    EXPERIMENT is an id of bk list, or path/file.py:NAME for one of your own. Runs that are stored already are not done
    again: an interrupted command goes on where it stopped. The scale smoke only tests the machinery; laptop shows the
    paper's effect within minutes; paper has the paper's own settings.
    """
    from beyondkernels.cli.options import Options, from_file, from_words, seeds_of, whole
    from beyondkernels.cli.run import run_experiments

    numbers = seeds_of("--seeds", seeds), whole("--workers", workers)
    given = Options(scale, *numbers, store, device, from_words(sets or []))
    options = given if config is None else given.over(from_file(config))
    return run_experiments(names or [], options, json_file, check, dry, debug)


@app.command("audit", epilog="Exit codes: 0 fine, 2 bad input, 3 runs missing or crashed.")
@guarded
@interruptible
def _audit(
    name: Annotated[str | None, typer.Argument(metavar="FILE.py:NAME", hidden=True)] = None,
    seeds: Annotated[str | None, typer.Option(metavar="N|LIST", help=SEEDS.format("audit"))] = None,
    sets: SetOption = None,
    workers: WorkersOption = None,
    store: StoreOption = None,
    device: DeviceOption = None,
    json_file: JsonFileOption = None,
    out: PageOption = Path("report"),
    debug: DebugOption = False,
) -> int:
    """Audit your own model: how much of it is features, when, where.

    FILE.py defines NAME = beyondkernels.auditing.Audit(model, train, test, epochs=20). The audit compares the model
    with kernels and fixed features, says when its features appear and in which layers, and writes a page. Runs that are
    stored already are not done again: an interrupted command goes on where it stopped.
    """
    from beyondkernels.cli.audit import audit
    from beyondkernels.cli.options import Options, from_words, seeds_of, whole

    numbers = seeds_of("--seeds", seeds), whole("--workers", workers)
    return audit(name, Options(None, *numbers, store, device, from_words(sets or [])), json_file, out, debug)


@app.command("report")
@guarded
@interruptible
def _report(
    names: Experiments = None,
    store: StoreOption = None,
    out: Annotated[Path, typer.Option(metavar="DIR", help="Where to write the pages.")] = Path("report"),
    debug: Annotated[bool, typer.Option("--debug", help="Show why a page is left out.")] = False,
) -> int:
    """Write static pages from stored runs; nothing is trained.

    Every scale and variant of an EXPERIMENT has its page. Without an EXPERIMENT, there are pages for all that the store
    holds. An experiment of your own is named by its file, path/file.py:NAME.
    """
    from beyondkernels.cli.report import report

    return report(names or [], store, out, debug)


@app.command("show")
@guarded
@printing
def _show(
    name: Annotated[
        str | None, typer.Argument(metavar="EXPERIMENT|RUN", hidden=True, autocompletion=_experiments)
    ] = None,
    store: StoreOption = None,
    keys: Annotated[bool, typer.Option("--keys", help="List the keys of an experiment's runs.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Show an experiment, or a stored run.

    For an EXPERIMENT: its settings at each scale, its claims, and what the store holds of it. For a RUN, named by its
    key or the key's first digits: what was run, and what came of it.
    """
    from beyondkernels.cli.display import console
    from beyondkernels.cli.show import show

    show(name, store, keys, as_json, console())


@app.command(
    "results", epilog="Exit codes: 0 fine, 1 something is out of date under --check, 2 bad input, 3 runs missing."
)
@guarded
@interruptible
def _results(
    names: Experiments = None,
    scale: ScaleOption = None,
    workers: WorkersOption = None,
    store: StoreOption = None,
    out: Annotated[Path | None, typer.Option(metavar="DIR", help="Where results are kept [with the code].")] = None,
    check: Annotated[bool, typer.Option("--check", help="Only say what is out of date; exit with 1 if so.")] = False,
) -> int:
    """Keep results with the code: make what is missing or out of date.

    Without an EXPERIMENT, all of bk list. A result is a JSON file with its figures beside it; the tables of the README
    beside the folder are made from them. A result belongs to the code as long as settings, seeds, claims and the runs
    it needs are the same. Stored runs are not done again. To have a result made again, remove its file.
    """
    from beyondkernels.cli.options import Options, whole
    from beyondkernels.cli.results import keep_results

    return keep_results(names or [], Options(scale, None, whole("--workers", workers), store), out, check)


def _kernels(incomplete: str) -> list[str]:
    """What Tab offers for a kernel."""
    from beyondkernels.certificates import KERNELS

    return [name for name in (*KERNELS, "any") if name.startswith(incomplete)]


@app.command("certify", epilog="Exit codes: 0 fine, 2 bad input.")
@guarded
@printing
def _certify(
    kernel: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Such as gaussian; any for all kernels.", autocompletion=_kernels),
    ] = None,
    d: Annotated[str | None, typer.Option("--d", metavar="D", help="The dimension of the cube.")] = None,
    k: Annotated[str | None, typer.Option("--k", metavar="K", help="The degree of the parity, at least 2.")] = None,
    n: Annotated[str | None, typer.Option("--n", metavar="N", help="The number of training points.")] = None,
    alpha: Annotated[str | None, typer.Option(metavar="A", help="The factor of the parity [0.3].")] = None,
    seed: Annotated[str | None, typer.Option(metavar="S", help="Of the training points and targets [0].")] = None,
    verify: Annotated[bool, typer.Option("--verify", help="Compute it again by another route.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Say what a kernel cannot learn, whatever its weights.

    The targets are those of Theorem 2 of the resnet paper: signs of K coordinates, and A times their product. The
    certificate has the exact risk of the best predictor with this kernel on N random training points.
    """
    from beyondkernels.cli.certify import print_certificate

    print_certificate(kernel, {"--d": d, "--k": k, "--n": n}, alpha, seed, verify, as_json)


@app.command("bench")
@guarded
@interruptible
def _bench(
    name: Annotated[str | None, typer.Argument(metavar="NAME", hidden=True)] = None,
    json_file: Annotated[Path | None, typer.Option("--json", metavar="FILE", help="Write the rows here.")] = None,
) -> None:
    """Benchmark against the usual alternatives.

    NAME is kernels, engine or audit. Times are of one process on one core, taken in turns; a busy machine spoils them.
    """
    from beyondkernels.cli.bench import run_benchmark

    run_benchmark(name, json_file)


@app.command("doctor")
@guarded
def _doctor(store: StoreOption = None) -> int:
    """Say whether this machine is ready."""
    from beyondkernels.cli.doctor import examine

    return 0 if examine(store) else FAILED
