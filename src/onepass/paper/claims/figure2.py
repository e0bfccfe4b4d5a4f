"""Section 5.2: individual and many runs on the orthogonal distribution."""

from __future__ import annotations

from onepass.paper import figure2
from onepass.paper.claims.claim import COMPARABLE, Claim
from onepass.paper.runs import Arrays


def about_figure2(results: dict[int, Arrays]) -> list[Claim]:
    """Section 5.2: individual and many runs on the orthogonal distribution."""
    count = len(results[1]["MSG"])
    stuck = {
        (name, k): float(figure2.stuck(run, name).mean())
        for k, run in results.items()
        for name in figure2.ALGORITHMS
    }
    learned = {
        (name, k): float(figure2.learned(run, name).mean())
        for k, run in results.items()
        for name in figure2.ALGORITHMS
    }
    average = {
        (name, k): float(figure2.average_over_run(run["marks"], run[name]).mean())
        for k, run in results.items()
        for name in figure2.ALGORITHMS
    }

    def by_k(values: dict[tuple[str, int], float], name: str, form: str = ".0%") -> str:
        return ", ".join(f"{values[name, k]:{form}} (k={k})" for k in results)

    capped = {k: average["Capped MSG", k] / average["MSG", k] for k in results}
    entropy = {k: average["Warmuth-Kuzmin", k] / average["MSG", k] for k in results}
    return [
        Claim(
            "The incremental algorithm gets stuck for k in {1,4}",
            "Figure 2",
            "some of the runs are stuck for k=1 and for k=4",
            f"stuck in {by_k(stuck, 'Incremental')} of {count} runs",
            stuck["Incremental", 1] > 0 and stuck["Incremental", 4] > 0,
        ),
        Claim(
            "MSG and Warmuth and Kuzmin's algorithm do not get stuck",
            "Figure 2",
            "no run is stuck",
            f"MSG {by_k(stuck, 'MSG')}; Warmuth-Kuzmin {by_k(stuck, 'Warmuth-Kuzmin')}",
            all(stuck[name, k] == 0 for name in ("MSG", "Warmuth-Kuzmin") for k in results),
        ),
        Claim(
            "Capped MSG with K=k+1 does not get stuck on it",
            "Figure 2",
            "no run is stuck",
            f"stuck in {by_k(stuck, 'Capped MSG')} of {count} runs",
            all(stuck["Capped MSG", k] == 0 for k in results),
        ),
        Claim(
            "MSG, Warmuth-Kuzmin and Capped MSG go on to converge towards the optimum",
            "Figure 2",
            "at least 90% of the runs of each end as near to it as batch PCA of the same rows",
            f"MSG {by_k(learned, 'MSG')}; Warmuth-Kuzmin {by_k(learned, 'Warmuth-Kuzmin')}; "
            f"Capped MSG {by_k(learned, 'Capped MSG')}",
            all(
                learned[name, k] >= 0.9
                for name in ("MSG", "Warmuth-Kuzmin", "Capped MSG")
                for k in results
            ),
        ),
        Claim(
            "MSG and Warmuth and Kuzmin's algorithm behave similarly",
            "Figure 2",
            f"average suboptimality over the run within a factor of {COMPARABLE:g}",
            "Warmuth-Kuzmin over MSG: " + ", ".join(f"{v:.2f} (k={k})" for k, v in entropy.items()),
            all(1 / COMPARABLE <= value <= COMPARABLE for value in entropy.values()),
        ),
        Claim(
            "... and are barely faster than Capped MSG",
            "Figure 2",
            f"average suboptimality over the run of Capped MSG at most {COMPARABLE:g} times MSG's",
            "Capped MSG over MSG: " + ", ".join(f"{v:.1f} (k={k})" for k, v in capped.items()),
            all(value <= COMPARABLE for value in capped.values()),
        ),
    ]
