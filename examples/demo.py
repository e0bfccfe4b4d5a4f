"""Make a file with gaps and outliers, and run the commands of onepass on it, one after another.

``make demo`` runs it. Files go to ``build/demo``, or to the folder that is given.
"""

import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np

ROWS, HELD_OUT = 3000, 600
GAPS, BROKEN = 0.08, 0.015  # shares of cells that are empty, and of rows that are broken
SENSORS = ("temperature", "pressure", "flow", "vibration")
CROSSED = (5, 14)  # the sensors whose wires touch while something is broken
PLACES = ("inlet", "pump", "boiler", "outlet")


def readings(rng: np.random.Generator) -> np.ndarray:
    """Return readings of 16 sensors that follow load, weather and wear, shape (n, 16)."""
    hours = np.arange(ROWS + HELD_OUT)
    causes = [
        3.0 * np.sin(2 * np.pi * hours / 24) + rng.normal(size=len(hours)),
        2.0 * np.sin(2 * np.pi * hours / 700 + 1.0) + 0.5 * rng.normal(size=len(hours)),
        hours / 1500 + 0.3 * rng.normal(size=len(hours)),
    ]
    weights = rng.normal(size=(3, len(SENSORS) * len(PLACES)))
    noise = 0.5 * rng.normal(size=(len(hours), weights.shape[1]))
    return 50.0 + np.transpose(causes) @ weights + noise


def write(path: Path, rows: np.ndarray, first_hour: int = 0) -> None:
    """Write rows as csv with an hour in front; gaps are empty cells."""
    names = ["hour", *(f"{sensor} {place}" for place in PLACES for sensor in SENSORS)]
    lines = [
        ",".join([f"{first_hour + i}", *("" if np.isnan(x) else f"{x:.2f}" for x in row)])
        for i, row in enumerate(rows)
    ]
    path.write_text("\n".join([",".join(names), *lines]) + "\n")


def run(folder: Path, command: str) -> None:
    """Print a command and run it."""
    print(f"\n\033[1m$ {command}\033[0m", flush=True)
    program = Path(sys.executable).with_name("onepass")
    subprocess.run([program, *shlex.split(command)[1:]], cwd=folder, check=True)


def main(folder: Path) -> None:
    """Run the demo."""
    rng = np.random.default_rng(0)
    folder.mkdir(parents=True, exist_ok=True)
    whole = readings(rng)
    plant, held_out = whole[:ROWS].copy(), whole[ROWS:]
    broken = rng.random(ROWS) < BROKEN
    plant[np.ix_(broken, CROSSED)] += rng.normal(0.0, 80.0, size=(broken.sum(), 1)) * [1.0, -1.0]
    plant[rng.random(plant.shape) < GAPS] = np.nan
    write(folder / "plant.csv", plant)
    write(folder / "next.csv", held_out, ROWS)
    print(
        f"plant.csv: {ROWS:,} hours of {plant.shape[1]} sensors, as data often are: {GAPS:.0%} of "
        f"the cells are empty,\nand in {broken.sum()} hours something was broken. next.csv: the "
        f"{HELD_OUT} hours after that, all in order."
    )
    run(folder, "onepass fit plant.csv -k 3 --exclude hour -o plant.onepass")
    print("\nA few long rows hold most of the variance. Do these components describe new rows?")
    run(folder, "onepass score plant.onepass next.csv")
    print("\nBound the influence of long rows, and write a page with pictures:")
    run(
        folder,
        "onepass fit plant.csv -k 3 --exclude hour --robust -o robust.onepass "
        "--report plant.html --label hour",
    )
    run(folder, "onepass score robust.onepass next.csv")
    print("\nIn which hours was something broken?")
    run(
        folder,
        "onepass score robust.onepass plant.csv --rows broken.csv --keep hour --only-outliers "
        "--quantile 0.98",
    )
    hours = np.loadtxt(folder / "broken.csv", delimiter=",", skiprows=1, usecols=1, dtype=int)
    print(f"{broken[hours].sum()} of the {broken.sum()} are among these {len(hours)} hours.")
    print("\nWhat was in the gaps?")
    run(folder, "onepass impute robust.onepass plant.csv -o whole.csv")
    filled = np.loadtxt(folder / "whole.csv", delimiter=",", skiprows=1)[:, 1:]
    gaps = np.isnan(plant) & ~broken[:, None]
    errors = [
        np.sqrt(np.mean((guess - whole[:ROWS])[gaps] ** 2))
        for guess in (np.broadcast_to(np.nanmean(plant, axis=0), plant.shape), filled)
    ]
    print(f"Off by {errors[1]:.2f} on average; the means of columns by {errors[0]:.2f}.")
    print(f"\n\033[1mThe page, for a browser: {(folder / 'plant.html').resolve()}\033[0m")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "build/demo"))
