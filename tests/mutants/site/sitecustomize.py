"""Let `onepass` come from PYTHONPATH: an editable installation would answer before it."""

import sys

sys.meta_path[:] = [
    finder for finder in sys.meta_path if type(finder).__name__ != "ScikitBuildRedirectingFinder"
]
