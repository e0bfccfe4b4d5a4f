"""The paper's algorithms: one file per rule, and the solver that takes it through a stream."""

from onepass.algorithms.capped_msg import CappedMSG
from onepass.algorithms.grouse import Grouse
from onepass.algorithms.incremental import Incremental
from onepass.algorithms.meg import MEG
from onepass.algorithms.msg import MSG
from onepass.algorithms.oja import Oja
from onepass.algorithms.rule import Rule

__all__ = ["MEG", "MSG", "CappedMSG", "Grouse", "Incremental", "Oja", "Rule"]
