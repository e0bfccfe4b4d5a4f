"""Running mean and second moment of the rows."""

from onepass.moments.exact import ExactMoment
from onepass.moments.mean import Mean
from onepass.moments.moment import Moment, Shifted, WholeMoment
from onepass.moments.sketched import SketchedMoment
from onepass.moments.tracked import TrackedMoment

__all__ = [
    "ExactMoment",
    "Mean",
    "Moment",
    "Shifted",
    "SketchedMoment",
    "TrackedMoment",
    "WholeMoment",
]
