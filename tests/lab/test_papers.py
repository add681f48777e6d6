"""A fifth paper: one folder and an entry point; nothing of the library is touched."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path

FILES = {
    "toy_paper/__init__.py": """
        from beyondkernels.core.rooms import lazily
        __getattr__, __dir__ = lazily(__name__, ("problems",))
    """,
    "toy_paper/paper.py": """
        from beyondkernels.core import Paper
        PAPER = Paper("toy", "Ada", "On guessing", 2030, "3001.00001", "toy_paper", {"first": "first:First"})
    """,
    "toy_paper/published.toml": "[figure1]\nslope = 1.5\n",
    "toy_paper/problems.py": """
        from dataclasses import dataclass
        from beyondkernels.core import Problem, Sample

        @dataclass(frozen=True)
        class Line(Problem):
            slope: float = 1.5
            in_dim = out_dim = 1

            def sample(self, n, stream):
                x = stream.uniform(n, 1)
                return Sample(x, self.slope * x)
    """,
    "toy_paper/experiments/__init__.py": "",
    "toy_paper/experiments/first.py": """
        from dataclasses import dataclass
        import beyondkernels as bk
        from beyondkernels.core import Checked
        from beyondkernels.lab import Experiment, Runs, setting
        from beyondkernels.store import RunSpec
        from toy_paper.paper import PAPER

        @dataclass(frozen=True)
        class Numbers(Checked):
            samples: int = setting(20, "paper")
            seeds: int = setting(2, "paper")

        class First(Experiment):
            id, title, summary = "toy/first", "A line is guessed", "It is easy."
            settings_class, reference, speaks_at = Numbers, PAPER.at("Figure 1"), ("smoke", "laptop", "paper")

            def runs(self, s):
                return [Runs(self.spec, {"ridge": (0.01,)}, lambda s, at, outcome: dict(outcome.scalars))]

            @staticmethod
            def spec(s, at):
                learner = bk.kernels.KernelRidge(bk.kernels.Gaussian(1.0), (at.ridge,))
                return RunSpec(bk.toy.Line(PAPER.printed("figure1")["slope"]), learner, s.samples, 10, at.seed)
    """,
    "toy_paper-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: toy-paper\nVersion: 1.0\n",
    "toy_paper-1.0.dist-info/entry_points.txt": "[beyondkernels.papers]\ntoy = toy_paper.paper:PAPER\n",
}


def test_a_paper_of_others_is_found_by_its_entry_point(tmp_path: Path) -> None:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(textwrap.dedent(text), encoding="utf-8")
    program = (
        f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n"
        "import beyondkernels as bk\n"
        "result = bk.run('toy/first', 'smoke', store='store', workers=1, progress=False)\n"
        "print(len(result.rows), result.missing, bk.toy.Line().slope, str(result.request.experiment.reference))\n"
        "try: bk.run('toy/second', 'smoke', progress=False)\n"
        "except bk.core.InputError as error: print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=tmp_path, check=False)
    assert done.returncode == 0, done.stderr
    rows, unknown = done.stdout.splitlines()
    assert rows == "2 {} 1.5 Ada (toy), Figure 1"
    assert unknown.startswith("unknown experiment 'toy/second'")
