"""Settings shared by all tests."""

import os
import signal

from hypothesis import Phase, settings

# The first example may compile kernels, so no deadline. Examples are the same in every run, so
# that a change is judged by what it changes; `HYPOTHESIS_PROFILE=search` looks for new ones, and
# `mutants` does not look for simpler ones once a test has failed.
repeatable = settings(deadline=None, derandomize=True, database=None)
settings.register_profile("repeatable", repeatable)
settings.register_profile("mutants", repeatable, phases=(Phase.explicit, Phase.generate))
settings.register_profile("search", deadline=None, max_examples=1000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "repeatable"))

# A shell that starts tests in the background has them ignore Ctrl-C, or nohup a hang-up, and the
# command line rightly keeps to that. The tests of signals need the usual handlers.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
if hasattr(signal, "SIGHUP") and signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
