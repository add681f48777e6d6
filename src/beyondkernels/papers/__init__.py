"""The papers, one folder each. A paper imports the library; no paper imports another, and the library imports none.

A folder with a module ``paper`` in it is a paper; nothing else has to know of it. A package elsewhere is one, too, if
its distribution has an entry point in the group ``beyondkernels.papers`` that names its ``Paper``.
"""
