import os
import stat
import time

import pytest

from beyondkernels.core import InputError
from beyondkernels.lab import write_report
from beyondkernels.lab.report import files
from beyondkernels.lab.report.files import write_atomically


def test_temporary_names_cannot_be_guessed(tmp_path, monkeypatch):
    seen = []
    fill = files._fill

    def watched(descriptor, data):
        seen.extend(path.name for path in tmp_path.iterdir() if path.name.endswith(".tmp"))
        fill(descriptor, data)

    monkeypatch.setattr(files, "_fill", watched)
    for _ in range(5):
        write_atomically(tmp_path / "a.json", "{}")
    assert len(set(seen)) == 5
    assert not any(str(os.getpid()) == part for name in seen for part in name.split("."))


def test_a_link_in_the_way_is_not_followed(tmp_path, monkeypatch):
    victim = tmp_path / "victim"
    victim.write_text("mine")
    monkeypatch.setattr(files.secrets, "token_hex", lambda _: "guessed")
    (tmp_path / ".a.json.guessed.tmp").symlink_to(victim)
    with pytest.raises(FileExistsError):
        write_atomically(tmp_path / "a.json", "{}")
    assert victim.read_text() == "mine"
    (tmp_path / "b.json").symlink_to(victim)
    write_atomically(tmp_path / "b.json", "new")
    assert victim.read_text() == "mine"
    assert (tmp_path / "b.json").read_text() == "new"


def test_what_a_killed_process_left_is_removed_and_nothing_else(tmp_path):
    dead, alive, other = (tmp_path / name for name in (".a.json.12ab.tmp", ".a.json.34cd.tmp", ".b.json.12ab.tmp"))
    for path in (dead, alive, other):
        path.write_text("half")
    long_ago = time.time() - 3600
    os.utime(dead, (long_ago, long_ago))
    os.utime(other, (long_ago, long_ago))
    write_atomically(tmp_path / "a.json", "{}")
    assert {path.name for path in tmp_path.iterdir()} == {"a.json", alive.name, other.name}


def test_files_have_the_modes_of_ordinary_files(tmp_path):
    plain = tmp_path / "plain"
    plain.write_text("x")
    write_atomically(tmp_path / "ours", "x")
    assert stat.S_IMODE((tmp_path / "ours").stat().st_mode) == stat.S_IMODE(plain.stat().st_mode)


def test_a_folder_that_leads_elsewhere_is_refused(page, tmp_path):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    out = write_report([page("x")], tmp_path / "report").parent
    [folder] = [path for path in out.iterdir() if path.is_dir()]
    folder.rename(tmp_path / "old")
    folder.symlink_to(elsewhere)
    with pytest.raises(InputError, match="in it is a link"):
        write_report([page("x")], out)
    assert not list(elsewhere.iterdir())
