"""The one category of warnings."""


class OnepassWarning(UserWarning):
    """A result that may not be what was wanted; the message says why and what to do."""
