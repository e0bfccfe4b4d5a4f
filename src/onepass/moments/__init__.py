"""Running mean and second moment of the rows."""

from onepass.moments.mean import Mean
from onepass.moments.second_moment import SecondMoment

__all__ = ["Mean", "SecondMoment"]
