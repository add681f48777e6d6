"""``bk store``, and opening a store that is there already."""

from __future__ import annotations

import time

from beyondkernels.cli.display import count
from beyondkernels.core import InputError
from beyondkernels.lab import store_path
from beyondkernels.store import Store


def open_store(given: str | None, *, writing: bool = False) -> Store:
    """The store that is named, or the usual one.

    Arguments:
        given: what ``--store`` says.
        writing: whether anything in it may be changed.
    """
    path = store_path(given)
    if not path.exists():
        raise InputError(f"there is no store at {path} yet; bk run makes one, --store DIR names another")
    return Store.open(path, create=False, read_only=not writing)


def verify(given: str | None, put_aside: bool) -> bool:
    """Say what is damaged in a store, and whether anything still is.

    Arguments:
        given: what ``--store`` says.
        put_aside: whether to move it into the quarantine.
    """
    store = open_store(given, writing=put_aside)
    findings = store.verify()
    for finding in findings:
        print(f"{printable(finding.key)}: {printable(finding.what)}")
    advice = "; bk store verify --put-aside moves them into the quarantine, bk run makes them again" if findings else ""
    if put_aside:
        advice = f", {store.put_aside(findings)} put aside"
    waiting = len(store.checkpoints.keys())
    beside = f", {count(waiting, 'checkpoint')}" if waiting else ""
    print(f"{count(len(store.keys()), 'run')}{beside}, {len(findings)} damaged{advice}")
    return bool(findings) and not put_aside


def show_quarantine(given: str | None, empty: bool) -> None:
    """List what was put aside, or remove it.

    Arguments:
        given: what ``--store`` says.
        empty: whether to remove it.
    """
    quarantine = open_store(given, writing=empty).quarantine
    if empty:
        print(f"{count(quarantine.empty(), 'thing')} removed from the quarantine")
        return
    entries = quarantine.entries()
    for entry in entries:
        day = time.strftime("%Y-%m-%d", time.localtime(entry.changed))
        print(f"{printable(entry.name)}  {entry.bytes / 2**20:.1f} MiB  {day}")
    advice = "; bk store quarantine --empty removes them for good" if entries else ""
    print(f"{count(len(entries), 'thing')} in the quarantine{advice}")


def printable(text: str) -> str:
    """A text from a store, without anything that a terminal would act on."""
    return "".join(letter if letter.isprintable() else "?" for letter in text)
