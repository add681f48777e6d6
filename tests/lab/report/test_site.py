import errno
import getpass
import os
import platform
import re
from pathlib import Path

import pytest

from beyondkernels.core import InputError
from beyondkernels.lab import ExperimentPage, write_report
from beyondkernels.lab.report import files
from colours import contrast

PARITY, MINE = "e7de32fa", "1a3701cc"  # what the fixture's variants become in file names


def snapshot(directory: Path) -> dict[str, bytes]:
    return {
        path.relative_to(directory).as_posix(): path.read_bytes() for path in directory.rglob("*") if path.is_file()
    }


def test_files_of_a_report(page, tmp_path):
    index = write_report([page("Parity", "features/table1", 5), page("Mine", "other")], tmp_path / "a" / "report")
    written = snapshot(index.parent)
    kinds = ["curves", "directions", "panels", "overlaid", "dots"]
    expected = {"index.html", "report.css"}
    for name, shown in ((f"features__table1.Parity.{PARITY}", kinds), (f"other.Mine.{MINE}", kinds[:1])):
        expected |= {f"{name}/{kind}{ending}" for kind in shown for ending in (".svg", ".narrow.svg")}
        expected |= {f"{name}.html", f"{name}/rows.csv", f"{name}/rows.json"}
    assert set(written) == expected | {"features__table1.html", "other.html"}
    assert written["other.html"] == written[f"other.Mine.{MINE}.html"]
    text = written["index.html"].decode()
    assert f'href="features__table1.Parity.{PARITY}.html"' in text
    assert 'href="https://arxiv.org/abs/2206.01717"' in text
    assert text.index("features__table1.Parity") < text.index("other.Mine")


def test_the_page_says_what_was_found(page, tmp_path):
    write_report([page("Parity")], tmp_path)
    text = re.sub(r"\s+", " ", (tmp_path / "features__table1.html").read_text("utf-8"))
    for words in (
        "99.5 % is at least 95.0 %, by 4.5 points",
        '<span class="mark" aria-hidden="true">✗</span> does not hold',
        "3 seeds (0 to 2)",
        "1 of 3 claims holds, 1 fails, 1 is undecided",
    ):
        assert words in text


def test_the_same_pages_give_the_same_bytes(page, tmp_path):
    write_report([page("x")], tmp_path / "one")
    for _ in range(2):
        write_report([page("x")], tmp_path / "two")
    assert snapshot(tmp_path / "one") == snapshot(tmp_path / "two")


def test_nothing_tells_where_or_by_whom_it_was_written(page, tmp_path):
    write_report([page("x")], tmp_path)
    everything = b"\n".join(snapshot(tmp_path).values()).decode()
    for secret in (str(tmp_path), str(Path.home()), str(Path.cwd()), platform.node(), f"/{getpass.getuser()}/"):
        assert secret in ("", "/") or secret not in everything
    assert not re.search(r"20\d\d-\d\d-\d\d", everything)


def test_nothing_is_left_over_and_nothing_else_is_touched(page, tmp_path):
    (tmp_path / "mine.txt").write_text("keep")
    write_report([page("x")], tmp_path)
    assert (tmp_path / "mine.txt").read_text() == "keep"
    assert not [path for path in tmp_path.rglob("*") if path.name.startswith(".") or path.suffix == ".tmp"]


def test_a_file_in_the_way_is_one_sentence(tmp_path):
    (tmp_path / "report").write_text("I am a file")
    with pytest.raises(InputError, match=r"^the report cannot be written to .*report: (Not a directory|File exists)$"):
        write_report([ExperimentPage("a", "x")], tmp_path / "report")


def test_a_full_disk_leaves_the_old_report_whole(page, tmp_path, monkeypatch):
    write_report([page("old")], tmp_path)
    before = snapshot(tmp_path)

    def full(descriptor: int, data: bytes) -> None:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data[:10])
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(files, "_fill", full)
    with pytest.raises(InputError, match=r"the report cannot be written to .*: No space left on device"):
        write_report([page("new")], tmp_path)
    assert snapshot(tmp_path) == before


def test_an_empty_report_says_what_to_do(tmp_path):
    text = write_report([], tmp_path).read_text("utf-8")
    assert "bk list" in text
    assert sorted(snapshot(tmp_path)) == ["index.html", "report.css"]


def test_a_bare_page_has_no_empty_sections(tmp_path):
    write_report([ExperimentPage("a", "x")], tmp_path)
    text = (tmp_path / "a.html").read_text("utf-8")
    assert "<h2" not in text
    assert "It makes no claims." in text


def test_style_sheet_prints_darkens_and_fits_a_telephone(tmp_path):
    write_report([], tmp_path)
    sheet = (tmp_path / "report.css").read_text("utf-8")
    for rule in ("@media print", "prefers-color-scheme: dark", "@media (max-width: 40rem)"):
        assert rule in sheet
    assert "url(" not in sheet
    assert "@import" not in sheet


def test_text_has_enough_contrast_by_day_and_by_night(tmp_path):
    write_report([], tmp_path)
    sheet = (tmp_path / "report.css").read_text("utf-8")
    blocks = re.findall(r":root \{(.*?)\}", sheet, re.DOTALL)
    day, night = (dict(re.findall(r"--([\w-]+): (#\w{6})", block)) for block in blocks[:2])
    pairs = [(name, "page") for name in ("ink", "muted", "link", "theorem")]
    pairs += [(name, f"{name}-tint") for name in ("holds", "fails", "undecided", "theorem", "partly", "differs")]
    for colours in (day, night):
        for ink, paper in pairs:
            assert contrast(colours[ink], colours[paper]) >= 4.5, (ink, paper)
