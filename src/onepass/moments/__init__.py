"""Running mean and second moment of the rows."""

from onepass.moments.mean import Mean
from onepass.moments.second_moment import SecondMoment
from onepass.moments.tracked import TrackedMoment

__all__ = ["Mean", "SecondMoment", "TrackedMoment"]
