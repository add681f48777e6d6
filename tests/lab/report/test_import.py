import subprocess
import sys


def test_drawing_leaves_torch_and_pyplot_alone():
    code = (
        "import sys; from beyondkernels.lab import report as r;"
        "r.render_svg(r.Curves(name='a', title='a', lines=[r.Line('a', [0, 1], [0, 1])]));"
        "r.html_table([{'a': 1}]);"
        "print([name for name in ('torch', 'matplotlib.pyplot') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
