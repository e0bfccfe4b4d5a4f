"""``onepass info``, ``report`` and ``merge``: what a model is, and several as one."""

from __future__ import annotations

import os
import re
from dataclasses import asdict
from typing import Any

import click
import numpy as np

import onepass
from onepass.cli import messages
from onepass.cli.data import as_options, open_for, prepare_output, warn_of_repeats
from onepass.cli.errors import Failure, say
from onepass.cli.memory import shown
from onepass.cli.options import algorithm_name
from onepass.cli.page import Points, check_page, write_page
from onepass.estimators.saving import open_model
from onepass.report.summary import (
    counted,
    drift,
    expectation,
    known_variances,
    method_words,
    missing_entries,
    remarks,
    rows_read,
    shortened,
)

REFERENCE = """\
R. Arora, A. Cotter and N. Srebro: Stochastic optimization of PCA with capped MSG. Advances in
Neural Information Processing Systems 26 (NIPS 2013). doi:10.48550/arXiv.1307.1674

@inproceedings{arora2013stochastic,
  author    = {Arora, Raman and Cotter, Andrew and Srebro, Nathan},
  title     = {Stochastic Optimization of {PCA} with Capped {MSG}},
  booktitle = {Advances in Neural Information Processing Systems 26},
  year      = {2013},
  doi       = {10.48550/arXiv.1307.1674}
}"""


def info(
    model: str | None,
    components: int | None,
    loadings: int | None,
    as_csv: bool,
    cite: bool,
    as_json: bool,
) -> None:
    """Show what a model is."""
    if cite:
        say(REFERENCE)
        return
    if model is None:
        raise click.UsageError("Missing argument 'MODEL'.")
    fitted = open_model(model)
    most = messages.MOST_COMPONENTS if components is None else components
    if as_csv:
        found = messages.loadings(fitted, loadings) if loadings else messages.components(fitted)
        messages.print_csv([row for row in found if row["component"] < (components or np.inf)])
        return
    if as_json:
        messages.print_json(messages.facts(fitted, model) | _details(fitted, model))
        return
    names, origin = getattr(fitted, "feature_names_in_", None), fitted.origin_
    prepared = [f"{name}={value}" for name, value in origin.options().items()]
    params = {name: value for name, value in fitted.get_params().items() if name != "n_components"}
    count = f"{fitted.n_features_in_:,}"
    lines = {
        "model": f"{model} ({shown(os.path.getsize(model))})",
        "algorithm": algorithm_name(fitted.algorithm_),
        "learned from": rows_read(fitted),
        "columns": count if names is None else f"{count}: {shortened(list(map(str, names)))}",
        "missing": missing_entries(fitted) or "nothing",
        "prepared by": "  ".join(prepared),
        "read with": as_options(origin.reading, origin.na),
        "parameters": "  ".join(f"{name}={value}" for name, value in params.items()),
        "captures": expectation(fitted),
        "method": method_words(fitted),
        "learns": "" if fitted.learner_ else "no longer: it was made for transforming only",
    }
    messages.print_table([(name, text) for name, text in lines.items() if text], left=2)
    for remark in ("", *remarks(fitted), drift(fitted), ""):
        say(remark)
    messages.print_components(fitted, most)
    if loadings:
        messages.print_loadings(fitted, loadings, most)


def _details(fitted: Any, path: str) -> dict[str, Any]:
    """Return everything else that is known of a model, for `print_json`."""
    names, sure = getattr(fitted, "feature_names_in_", None), fitted.model_.standard_errors
    of_columns = {"mean": "mean_", "variance": "var_", "scale": "scale_"}
    return {
        "params": fitted.get_params(),
        "feature_names": None if names is None else [str(name) for name in names],
        "bytes": os.path.getsize(path),
        "version": onepass.__version__,
        "learns": fitted.learner_ is not None,
        "prepared": asdict(fitted.origin_.preparation) | {"mapped": fitted.origin_.mapped},
        "components": fitted.components_,
        "components_error": messages.finite_all(sure.components),
        "explained_variance": fitted.explained_variance_,
        "explained_variance_error": messages.finite_all(sure.variances),
        "angle": messages.finite_all(sure.angles),
        "degrees_of_freedom": messages.finite(sure.degrees),
        "long_rows": messages.finite(fitted.model_.long_rows),
        "drift": messages.finite_all(np.array([sure.drift.statistic, sure.drift.probability])),
        "known_variances": known_variances(fitted),
        "noise_variance": messages.finite(fitted.noise_variance_),
        **{
            name: getattr(fitted, attribute)
            for name, attribute in of_columns.items()
            if hasattr(fitted, attribute)
        },
        "missing_share": fitted.missing_share_,
        "na": list(fitted.origin_.na),
        "reading": dict(fitted.origin_.reading),
        "error_threshold": messages.finite(fitted.model_.error_threshold(0.99)),
    }


def report(
    model: str,
    data: tuple[str, ...],
    output: str | None,
    color: str | None,
    label: str | None,
    **reading: Any,
) -> None:
    """Write a page about a model, and about rows if there are any."""
    output = f"{os.path.splitext(model)[0]}.html" if output is None else output
    check_page(output, [model])
    fitted = onepass.load(model)
    source = open_for(fitted, model, data, reading) if data else None
    if source is not None:
        prepare_output(output, source.paths)
    points = Points(source, color, label)
    write_page(fitted, output, source, points, title=model)
    say(f"{output}: a page with pictures of the model")


def merge(models: tuple[str, ...], output: str) -> None:
    """Combine models into one."""
    prepare_output(output, models)
    warn_of_repeats(models)
    loaded = [onepass.load(path) for path in models]
    try:
        merged = onepass.merge(*loaded)
    except ValueError as error:  # which counts the models from 1
        raise Failure(
            re.sub(r"\bmodel (\d+)", lambda found: models[int(found[1]) - 1], str(error))
        ) from error
    merged.save(output)
    say(
        f"{output}: {counted(merged.n_components_, 'component')} from "
        f"{counted(merged.n_samples_seen_, 'row')} of {counted(len(models), 'model')}"
    )
