"""The names of algorithms on the command line."""

from __future__ import annotations

import re
from typing import Any

from onepass import ESTIMATORS

# Name -> class in onepass, which is imported when it is asked for: capped-msg -> CappedMSG.
ALGORITHMS = {re.sub("([a-z])([A-Z])", r"\1-\2", name).lower(): name for name in ESTIMATORS}


def estimator(
    algorithm: str, n_components: int | float, center: bool | None = None, seed: int = 0
) -> Any:
    """Return a new estimator; `center` None is the algorithm's own default."""
    import onepass

    options: dict[str, Any] = {} if center is None else {"center": center}
    made = getattr(onepass, ALGORITHMS[algorithm])(n_components, **options)
    return made.set_params(random_state=seed) if hasattr(made, "random_state") else made


def name_of(model: Any) -> str:
    """Return the algorithm of an estimator."""
    kind = type(model).__name__
    return next((name for name, known in ALGORITHMS.items() if known == kind), kind)
