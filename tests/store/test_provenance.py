import getpass
import json
import platform
from pathlib import Path

import numpy as np
import pytest

import beyondkernels
from beyondkernels.store import provenance as provenance_of
from beyondkernels.store.provenance import _commit, scrub_command, scrub_text


def test_provenance_is_complete_and_tells_nothing_private():
    given = provenance_of(f"{Path.cwd()}/.venv/bin/bk run features/table1 --store={Path.home()}/store")
    assert list(given) == ["version", "commit", "dirty", "command", "libraries", "cpu", "python", "seconds"]
    assert given["version"] == beyondkernels.__version__
    assert given["command"] == "bk run features/table1"
    assert given["libraries"]["numpy"] == np.__version__
    assert given["libraries"]["torch"].startswith("2.")
    assert given["python"] == platform.python_version()
    assert given["seconds"] is None
    text = json.dumps({name: value for name, value in given.items() if name != "cpu"})
    assert platform.node() not in text
    assert str(Path.home()) not in text
    assert getpass.getuser() not in text.split('"')
    assert provenance_of()["command"] is None


@pytest.mark.parametrize(
    ("command", "scrubbed"),
    [
        ("bk run resnet/fig2a --set alpha=0.3", "bk run resnet/fig2a --set alpha=0.3"),
        ("/usr/bin/bk run /home/ada/mine.py:BEST --config ../../ada/c.toml", "bk run mine.py:BEST --config c.toml"),
        ("bk run x --store '/home/ada lovelace/my store'", "bk run x"),
        ("bk report --out=~/ada/report --store ~ada/store/", "bk report --out=report"),
        ("bk run 'see /home/ada/x and /tmp/y'", "bk run 'see x and y'"),
        (r"bk run --store 'C:\Users\ada\store' x", "bk run x"),
        ("bk run file:///home/ada/x", "bk run file:x"),
        ("bk run ./../../home/ada/mine.py:BEST", "bk run mine.py:BEST"),
        ("bk run a/../../home/ada/x --store ada --check", "bk run x --check"),
        ("bk run ada/mine.py:BEST --json=ada/out.json", "bk run mine.py:BEST --json=out.json"),
        ("bk run x --set file=./../../home/ada/data.csv", "bk run x --set file=data.csv"),
        ("bk run x --set files=a,../../home/ada/data.csv", "bk run x --set files=a,data.csv"),
        ("bk run x --set range=0..1 --set 'share=a/b'", "bk run x --set range=0..1 --set share=a/b"),
        ("bk run x --store", "bk run x"),
    ],
)
def test_paths_in_commands_are_reduced(command, scrubbed):
    assert scrub_command(command) == scrubbed


def test_path_behind_an_open_quote_is_reduced():
    assert "open" in scrub_command("bk run '/home/ada/open")
    assert "ada" not in scrub_command("bk run '/home/ada/open")


def test_paths_in_sentences_are_reduced():
    assert scrub_text("[Errno 2] no file: '/home/ada/a b.txt'") == "[Errno 2] no file: 'a b.txt'"
    assert scrub_text('no "/home/ada lovelace/x", no /tmp/y') == 'no "x", no y'
    assert scrub_text("no file ../../home/ada/x, no 'a/../../ada/y', no './../ada lovelace/z'") == (
        "no file x, no 'y', no 'z'"
    )
    assert scrub_text("a/b is 1/2, and/or ./c") == "a/b is 1/2, and/or ./c"


def test_commit_is_what_the_checkout_says():
    root = Path(beyondkernels.__file__).resolve().parents[2]
    commit, dirty = _commit(root)
    if (root / ".git").is_file():
        pytest.skip("the commit of a linked worktree is kept elsewhere")
    if not (root / ".git").is_dir():
        assert (commit, dirty) == (None, None)
        return
    head = (root / ".git" / "HEAD").read_text().strip()
    if head.startswith("ref: "):
        reference = head.removeprefix("ref: ")
        loose, packed = root / ".git" / reference, root / ".git" / "packed-refs"
        if loose.exists():
            head = loose.read_text().strip()
        else:
            lines = packed.read_text().splitlines() if packed.exists() else []
            head = next((line.split()[0] for line in lines if line.endswith(f" {reference}")), None)
    assert commit == head
    assert isinstance(dirty, bool) == (commit is not None)


def test_commit_of_a_copy_outside_its_checkout_is_unknown(tmp_path, monkeypatch):
    git = tmp_path / "bin" / "git"
    git.parent.mkdir()
    git.write_text(
        "#!/bin/sh\ntest \"$GIT_DIR\" = '' || exit 9\ncase $3 in rev-parse) echo abc;; *) echo ' M x';; esac\n"
    )
    git.chmod(0o755)
    monkeypatch.setenv("PATH", f"{git.parent}:/usr/bin:/bin")
    monkeypatch.setenv("GIT_DIR", "elsewhere")
    root = tmp_path / "root"
    (root / "src" / "beyondkernels").mkdir(parents=True)
    assert _commit(root) == (None, None)
    (root / ".git").mkdir()
    assert _commit(root) == ("abc", True)
    git.write_text("#!/bin/sh\ncase $3 in rev-parse) echo abc;; esac\n")
    assert _commit(root) == ("abc", False)
    git.write_text("#!/bin/sh\nexit 128\n")
    assert _commit(root) == (None, None)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert _commit(root) == (None, None)
