"""Distributions that know their own second moment, so that suboptimality on them is exact."""

from onepass.sources.synthetic.distribution import Distribution
from onepass.sources.synthetic.elliptical import Gaussian, StudentT
from onepass.sources.synthetic.orthogonal import Orthogonal
from onepass.sources.synthetic.toy import Toy

__all__ = ["Distribution", "Gaussian", "Orthogonal", "StudentT", "Toy"]
