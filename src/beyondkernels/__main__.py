"""``python -m beyondkernels`` is ``bk``."""

from beyondkernels.cli import main

main()
