"""``bk.audit``: an audit in one call."""

from __future__ import annotations

import contextlib
import dataclasses
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from beyondkernels.auditing.checkpoints import unlike_fresh
from beyondkernels.auditing.experiment import Audit
from beyondkernels.auditing.given_weights import GivenAudit, GivenResult
from beyondkernels.auditing.ladder import workers_that_fit
from beyondkernels.auditing.result import AuditResult
from beyondkernels.auditing.settings import AuditSettings
from beyondkernels.core import require, require_positive
from beyondkernels.core.errors import warn
from beyondkernels.execution import Executor, LocalExecutor, SerialExecutor
from beyondkernels.lab import run
from beyondkernels.lab.declaration.user_files import source_file
from beyondkernels.networks import FromCopy
from beyondkernels.networks.from_copy import ModelWarning
from beyondkernels.store import PROCESSOR, Store
from beyondkernels.store.device import device_name

if TYPE_CHECKING:
    import torch


def audit(
    model: Any,
    train: Any,
    test: Any = None,
    *,
    weights: Any = None,
    name: str | None = None,
    parts: str | Sequence[str] | None = None,
    seeds: int | Sequence[int] = 3,
    store: str | Path | Store | None = None,
    workers: int = 1,
    device: str | torch.device = PROCESSOR,
    progress: bool = True,
    **options: Any,
) -> AuditResult:
    """Say how much of a model's accuracy comes from learning features, when they appear, where, and what they are.

    The model is trained anew with each seed, and so is everything it is compared with: see :class:`Audit`. The answer
    has ``sentence``, ``health``, ``ladder``, ``when``, ``layers``, ``frozen``, ``correction`` and ``directions``,
    ``write(out)`` writes a page, and a notebook shows it.

    Arguments:
        model: a ``torch.nn.Module``, a network, or a named function of (in_dim, out_dim) that makes a module.
        train: training data in any form that :func:`beyondkernels.fit` takes, or a problem.
        test: test data, or the fraction of the data that is put aside; a fifth unless given.
        weights: None draws the weights anew and trains the model. ``given`` trains nothing and says what the features
            of the weights are worth that the module has; a state dict, or the path of a file that holds one, stands
            for other weights: see :class:`GivenAudit`.
        name: what to call it.
        parts: some of ``ladder``, ``when``, ``where`` and ``what``; all unless given.
        seeds: how many, or which.
        store: where runs are kept, so that an audit that is interrupted goes on; None keeps nothing.
        workers: worker processes. More than one needs a function that makes the module, in a file that can be imported.
        device: where networks train.
        progress: whether to show how far it is.
        options: how to train (``epochs``, ``rate``, ``loss``, … or ``algorithm``) and how to read data, as in
            :func:`beyondkernels.fit`; ``blocks`` for the paths of the model's blocks; fields of :class:`AuditSettings`.

    >>> import torch
    >>> import beyondkernels as bk
    >>> X = torch.linspace(-1, 1, 200).reshape(100, 2)
    >>> model = torch.nn.Sequential(torch.nn.Linear(2, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1))
    >>> found = bk.audit(model, (X, X.sum(1)), parts=["ladder"], seeds=2, epochs=2, progress=False)
    >>> found.ladder["rung"].tolist()[0], found.ladder["rung"].tolist()[-1]
    ('constant', 'model')
    """
    require_positive("workers", workers)
    known = {each.name for each in fields(AuditSettings)}
    settings = {key: options.pop(key) for key in list(options) if key in known}
    if parts is not None:
        settings["parts"] = parts
    for key in ("parts", "without"):  # one name is a list of one
        if isinstance(settings.get(key), str):
            settings[key] = (settings[key],)
    if weights is None:
        experiment = Audit(model, train, test, name=name, settings=settings, **options)
        _warn_of_trained(experiment)
    else:
        experiment = GivenAudit(model, train, test, weights=weights, name=name, settings=settings, **options)
    with contextlib.ExitStack() as ending:
        folder = Path(ending.enter_context(tempfile.TemporaryDirectory()))
        executor = ending.enter_context(executing(experiment, experiment.settings_class(), workers))
        kept = folder / "store" if store is None else store
        result = AuditResult if weights is None else GivenResult
        return result(
            run(experiment, seeds=seeds, device=device_name(device), store=kept, progress=progress, executor=executor)
        )


def _warn_of_trained(experiment: Audit) -> None:
    """Say that weights are drawn anew where they are clearly no fresh draw, as those of a trained model."""
    network = experiment.subject.network
    if not isinstance(network, FromCopy) or not network.fresh_start:
        return
    if names := unlike_fresh(network):
        warn(
            f"{network.name} seems to be trained or to start in a way of its own ({', '.join(names[:3])}): its "
            "weights are drawn anew by reset_parameters and trained. weights='given' says what they are worth as they "
            "are, and bk.networks.FromCopy.of(model, fresh_start=False) trains on from them",
            ModelWarning,
        )


@contextlib.contextmanager
def executing(
    experiment: Audit, settings: AuditSettings, workers: int, name: str = "", command: str | None = None
) -> Iterator[Executor]:
    """What performs the runs of an audit.

    Arguments:
        experiment: the audit. For worker processes its data are put into a file while they are needed.
        settings: how it is run.
        workers: how many at most; fewer if they would take more memory than the settings allow. 1 is this process.
        name: the file that defines it, ``path/file.py:NAME``.
        command: the command line, kept with the runs.
    """
    experiment.workers = workers = workers_that_fit(workers, experiment.subject, settings)
    if workers == 1:
        yield SerialExecutor(command)
        return
    require(
        not isinstance(experiment.subject.network, FromCopy),
        "workers must be 1 for a module, which only this process has; give a named function of (in_dim, out_dim) that "
        f"makes it, got workers={workers}",
    )
    with tempfile.TemporaryDirectory() as folder:
        shared = experiment.subject.problem.shared(Path(folder))
        experiment.subject = dataclasses.replace(experiment.subject, problem=shared)
        experiment.rehearsals = tuple(
            dataclasses.replace(each, problem=each.problem.shared(Path(folder))) for each in experiment.rehearsals
        )
        yield LocalExecutor(workers, load=source_file(name, experiment), command=command)
