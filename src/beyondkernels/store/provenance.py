"""With what a result was made: versions, commit, command, processor; no user, host or absolute path."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import re
import shlex
import shutil
import subprocess
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any

from beyondkernels import __version__

LIBRARIES = ("torch", "numpy", "scipy", "scikit-learn", "matplotlib")

_TEXT = (str, "a text")
_KINDS: dict[str, tuple[Any, str]] = {
    **dict.fromkeys(("version", "commit", "command", "cpu", "python"), _TEXT),
    "dirty": (bool, "true or false"),
    "libraries": (dict, "a table"),
    "seconds": (int | float, "a number"),
}
_FILE_OPTIONS = ("--json", "--out", "--config")
# from the root or from home, or by way of a folder above
_TELLING = re.compile(r"(?:~[^/\\]*)?[/\\].*|[A-Za-z]:[/\\].*|(?:[^,]*[/\\])?\.\.(?:[/\\].*)?", re.DOTALL)
_PATH_IN_TEXT = re.compile(
    r"""(?<=')(?:~?/|[A-Za-z]:\\|(?:\.+/)*\.\./)[^'\n]*(?=')"""  # quoted, maybe with spaces
    r"""|(?<=")(?:~?/|[A-Za-z]:\\|(?:\.+/)*\.\./)[^"\n]*(?=")"""
    r"""|(?<![\w./\\-])(?:~?/|[A-Za-z]:\\|(?:[\w.-]+/)*\.\./)[^\s'"`,;()]*"""
)


def provenance(command: str | None = None) -> dict[str, Any]:
    """What to keep beside a result.

    Arguments:
        command: the command line that asked for it; the store is left out, paths are reduced to their last part.
    """
    commit, dirty = _commit(Path(__file__).resolve().parents[3])
    return {
        "version": __version__,
        "commit": commit,
        "dirty": dirty,
        "command": None if command is None else scrub_command(command),
        "libraries": libraries(),
        "cpu": processor(),
        "python": platform.python_version(),
        "seconds": None,
    }


def flaw_in(made: Any) -> str | None:
    """What is wrong with a provenance that somebody else may have written; None if nothing is.

    >>> flaw_in({"commit": None, "seconds": 1.5}), flaw_in({"seconds": "long"})
    (None, 'seconds must be a number, got a str')
    """
    if not isinstance(made, dict):
        return f"it must be a table, got a {type(made).__name__}"
    for name, (kinds, words) in _KINDS.items():
        value = made.get(name)
        # For Python true and false are whole numbers, for a reader of this file they are not.
        if value is not None and (not isinstance(value, kinds) or (isinstance(value, bool) and kinds is not bool)):
            return f"{name} must be {words}, got a {type(value).__name__}"
    return None


def scrub_command(command: str) -> str:
    """A command line that tells nothing of its place: no store, and of paths to files only the last part.

    >>> scrub_command("/home/ada/.venv/bin/bk run features/table1 --store=/tmp/ada/store --json out/a.json")
    'bk run features/table1 --json a.json'
    """
    try:
        words = shlex.split(command)
    except ValueError:  # an open quote
        # Half understood is better than kept as it is: paths are what must not get through.
        words = command.split()
    kept, before = [], ""
    for word in words:
        option, equals, value = word.partition("=")
        if "--store" not in (option, before):  # where runs are kept is no part of how they are made
            is_file = before in _FILE_OPTIONS or ".py:" in word or word.endswith(".py")
            if option in _FILE_OPTIONS and equals:
                word = f"{option}={_last(value)}"
            kept.append(_last(word) if is_file else _scrub_word(word))
        before = word
    return shlex.join(kept)


def scrub_text(text: str) -> str:
    """A sentence whose paths from the root, from home or by way of a folder above are reduced to their last part.

    >>> scrub_text("no file /home/ada/data.csv, look elsewhere")
    'no file data.csv, look elsewhere'
    """
    return _PATH_IN_TEXT.sub(lambda match: _last(match.group()), text)


def _scrub_word(word: str) -> str:
    name, equals, value = word.partition("=")
    if not equals:
        name, value = "", word
    elif _TELLING.fullmatch(name):
        name, equals, value = "", "", word
    return name + equals + (_last(value) if _TELLING.fullmatch(value) else scrub_text(value))


def _last(path: str) -> str:
    return PureWindowsPath(path).name if "\\" in path else PurePosixPath(path).name


def _commit(root: Path) -> tuple[str | None, bool | None]:
    """Commit and state of the checkout this package runs from; nothing if it runs from anywhere else."""
    git = shutil.which("git")
    # an installed copy may lie inside somebody else's repository: only our own counts
    if git is None or not (root / ".git").exists() or not (root / "src" / "beyondkernels").is_dir():
        return None, None
    commit = _git(git, root, "rev-parse", "HEAD")
    if commit is None:
        return None, None
    # Only what can change a number: notes and results beside the code leave a checkout clean.
    status = _git(git, root, "status", "--porcelain", "--", "src", "pyproject.toml")
    return commit, None if status is None else status != ""


def _git(git: str, root: Path, *arguments: str) -> str | None:
    # Inside a hook git sets variables that would point this call to another repository.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    environment["GIT_OPTIONAL_LOCKS"] = "0"  # looking must not write into the repository
    try:
        answer = subprocess.run(
            [git, "-C", str(root), *arguments],
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=10,
            check=True,
        )
    except (OSError, subprocess.SubprocessError, UnicodeDecodeError):
        return None
    return answer.stdout.strip()


def libraries() -> dict[str, str]:
    """The versions of the libraries that compute."""
    versions = {}
    for name in LIBRARIES:
        try:
            versions[name] = importlib.metadata.version(name)  # importing torch only to ask would take seconds
        except importlib.metadata.PackageNotFoundError:
            continue
    return versions


def processor() -> str:
    """The processor's model, such as ``AMD EPYC 7B13``; its architecture where the system does not tell."""
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines():
            name, colon, value = line.partition(":")
            if colon and name.strip() == "model name":
                return value.strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()
