"""Settings shared by all tests."""

import os

from hypothesis import settings

# The first example may compile kernels, so no deadline. Examples are the same in every run, so
# that a change is judged by what it changes; `HYPOTHESIS_PROFILE=search` looks for new ones.
settings.register_profile("repeatable", deadline=None, derandomize=True, database=None)
settings.register_profile("search", deadline=None, max_examples=1000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "repeatable"))
