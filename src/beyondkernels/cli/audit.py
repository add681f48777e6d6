"""``bk audit``."""

from __future__ import annotations

import shlex
import sys
from dataclasses import fields
from pathlib import Path

from rich.text import Text

from beyondkernels.algorithms import Recipe
from beyondkernels.auditing import Audit
from beyondkernels.auditing.entry import executing
from beyondkernels.cli.display import console, show_result
from beyondkernels.cli.guard import MISSING
from beyondkernels.cli.options import Options
from beyondkernels.cli.output import is_standard_output, require_writable, write_document
from beyondkernels.core import InputError, require
from beyondkernels.execution.executor import processors
from beyondkernels.lab import Display, ask, line_text, run, store_path, write_report
from beyondkernels.networks import FromCopy
from beyondkernels.store import PROCESSOR

_TRAINING = {field.name for field in fields(Recipe)}
"""Arguments of an audit that stand in its file."""


def audit(name: str | None, options: Options, json_file: Path | None, out: Path, debug: bool = False) -> int:
    """Run an audit that a file defines, print what it has found, and write its page.

    Arguments:
        name: ``path/file.py:NAME``.
        options: seeds, settings, workers, store and device.
        json_file: where rows and claims are written.
        out: where the page is written.
        debug: whether to show whole tracebacks of runs that crashed.
    """
    if not name:
        raise InputError(
            "no audit is named; say bk audit path/file.py:NAME, where the file has NAME = Audit(model, train, test)"
        )
    for key in dict(options.settings):
        require(
            key not in _TRAINING,
            f"{key} says how the model is trained and is no setting; change it in the file, Audit(…, {key}=…)",
        )
    request = ask(name, seeds=options.seeds, changes=dict(options.settings), device=options.device or PROCESSOR)
    experiment = request.experiment
    if not isinstance(experiment, Audit):
        raise InputError(f"{name} is an experiment, not an Audit; bk run {name} runs it")
    if json_file is not None:
        require_writable(json_file)
    alone = isinstance(experiment.subject.network, FromCopy)  # other processes do not have the module
    workers = options.workers or (1 if alone else processors())
    command = shlex.join(["bk", *sys.argv[1:]])
    with (
        executing(experiment, request.settings, workers, request.name, command) as executor,
        Display(console(stderr=True)) as display,
    ):
        result = run(request, store=options.store, command=command, observer=display, executor=executor)
    shown = console(stderr=is_standard_output(json_file))
    show_result(result, shown, debug=debug)
    if result.finding:
        shown.print(Text(f"\n{line_text(result.finding)}"))
    if json_file is not None:
        write_document(json_file, {"schema": 1, "results": [result.as_json()]}, "the runs are stored")
    print(f"runs are kept in {store_path(options.store)}", file=sys.stderr)
    print(f"report: {write_report([result.page()], out)}", file=sys.stderr if is_standard_output(json_file) else None)
    return MISSING if result.missing else 0
