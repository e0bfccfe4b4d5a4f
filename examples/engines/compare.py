"""Compare what an engine learns with one pass: python compare.py COMMAND..., for `make engines`.

The command is given the path of a model to write, and the paths of eight parquet files.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import parquet

import onepass

ROWS, COLUMNS, FILES = 200_000, 20, 8
LARGEST = 1e-10  # relative difference: what merging in another order may round


def main(command: list[str]) -> None:
    """Run the command on generated rows, and stop with an error if its model is another one."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(ROWS, COLUMNS)) * np.geomspace(5, 0.5, COLUMNS) + rng.normal(
        size=COLUMNS
    )
    with tempfile.TemporaryDirectory() as folder:
        paths = [f"{folder}/{number}.parquet" for number in range(FILES)]
        for path, part in zip(paths, np.array_split(rows, FILES), strict=True):
            parquet.write_table(pa.table({f"c{j}": part[:, j] for j in range(COLUMNS)}), path)
        output = f"{folder}/model.onepass"
        subprocess.run([*command, output, *paths], check=True)
        found = onepass.load(output)
    expected = onepass.PCA(5).fit(rows)
    differences = {
        name: np.max(np.abs(getattr(found, name) - getattr(expected, name)))
        / np.max(np.abs(getattr(expected, name)))
        for name in ("mean_", "components_", "explained_variance_")
    }
    listed = ", ".join(f"{name} {value:.0e}" for name, value in differences.items())
    (name,) = [Path(word).name for word in command if word.endswith(".py")]
    print(f"{name}: {found.n_samples_seen_:,} rows; differs by {listed}")
    if found.n_samples_seen_ != ROWS or max(differences.values()) > LARGEST:
        sys.exit("the model is not that of one pass")


if __name__ == "__main__":
    main(sys.argv[1:])
