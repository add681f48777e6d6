"""The documentation: its links lead somewhere, and it names every package and no other."""

import dataclasses
import re
from pathlib import Path

import pytest

import beyondkernels
from beyondkernels.auditing import AuditSettings
from beyondkernels.auditing.ladder import ABOUT
from beyondkernels.core import load_file

ROOT = Path(__file__).parents[1]
PAGES = sorted([ROOT / "README.md", *ROOT.glob("docs/**/*.md")])
_LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)[^)]*\)")
_CODE = re.compile(r"```.*?```|`[^`\n]*`", re.DOTALL)


def anchor(heading: str) -> str:
    """The name under which a heading can be linked to, as GitHub makes it."""
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


def broken_links(page: Path) -> list[str]:
    """The links of a page to files or headings that are not there."""
    broken = []
    for target in _LINK.findall(_CODE.sub("", page.read_text(encoding="utf-8"))):
        if re.match(r"[a-z]+:", target):  # another place: no test goes there
            continue
        name, _, heading = target.partition("#")
        other = page.parent / name if name else page
        text = other.read_text(encoding="utf-8") if heading and other.is_file() else ""
        headings = {anchor(line) for line in re.findall(r"^#+ (.*)$", _CODE.sub("", text), re.MULTILINE)}
        if not other.exists() or (heading and heading not in headings):
            broken.append(target)
    return broken


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_lead_somewhere(page: Path) -> None:
    assert broken_links(page) == []


def test_a_broken_link_is_found(tmp_path: Path) -> None:
    (tmp_path / "there.md").write_text("# A head, and more\n")
    page = tmp_path / "page.md"
    page.write_text(
        "[a](there.md) [b](there.md#a-head-and-more) [c](https://example.org/x) `[d](code.md)` ![e](gone.svg)\n"
        "[f](there.md#gone) [g](#own) [h](#gone)\n\n## Own\n"
    )
    assert broken_links(page) == ["gone.svg", "there.md#gone", "#gone"]


def test_the_architecture_names_every_package() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    packages = text.partition("## Packages")[2].partition("\n## ")[0]
    assert tuple(re.findall(r"^\| `(\w+)` \|", packages, re.MULTILINE)) == beyondkernels.LAYERS


def test_the_page_on_audits_names_everything_there_is() -> None:
    text = (ROOT / "docs" / "audit.md").read_text(encoding="utf-8")

    def first_column(section: str) -> list[str]:
        table = text.partition(f"## {section}\n")[2].partition("\n## ")[0]
        return re.findall(r"^\| `([^`]+)` \|", table, re.MULTILINE)

    assert first_column("The ladder") == list(ABOUT)
    assert first_column("Settings") == [field.name for field in dataclasses.fields(AuditSettings)]


def test_the_code_of_the_page_on_audits_runs(capsys: pytest.CaptureFixture[str]) -> None:
    text = (ROOT / "docs" / "audit.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    exec(compile(code, "audit.md", "exec"), {})
    assert re.match("The model is (not )?trained well enough", capsys.readouterr().out)


def test_the_code_of_the_page_on_problems_runs(tmp_path: Path) -> None:
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "write-a-problem.md").read_text("utf-8"), re.DOTALL)
    assert sum("assert" in block for block in blocks) == 1  # the page checks what it says
    file = tmp_path / "product.py"
    file.write_text("\n".join(blocks), "utf-8")
    assert set(load_file(file).table.to_frame()["learner"]) == {"network", "kernel"}
