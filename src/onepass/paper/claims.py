"""Every claim of the text about its experiments, and what was measured here.

A claim is a sentence of the paper, a condition that stands for it, the numbers, and whether they
meet the condition. Conditions are stated in `expected`; nothing is forced.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass

import numpy as np

from onepass.paper import figure1, figure2, theorem1
from onepass.paper.figure3_summary import Summary
from onepass.paper.runs import Arrays

AROUND = 3  # "around 15" is 12 to 18
SLIGHTLY = 1.5
COMPARABLE = 2.0
MUCH = 2.0


@dataclass(frozen=True)
class Claim:
    """A sentence of the paper against what was measured."""

    claim: str
    where: str
    expected: str
    measured: str
    holds: bool

    def to_json(self) -> dict[str, str | bool]:
        """Return the entry of ``claims.json``."""
        return asdict(self)


def about_toy(wrong: Arrays) -> list[Claim]:
    """Section 5.2: the 5/9, and Capped MSG."""
    share, count = wrong["Incremental"].mean(), len(wrong["Incremental"])
    error = np.sqrt(5 / 9 * 4 / 9 / count)
    capped = int(wrong["Capped MSG"].sum())
    return [
        Claim(
            "The incremental algorithm with k=1 converges to [1,0] with probability 5/9",
            "Section 5.2",
            f"5/9 = 0.556, within 3 standard errors ({3 * error:.3f})",
            f"{share:.4f} of {count} runs",
            bool(abs(share - 5 / 9) <= 3 * error),
        ),
        Claim(
            "Capped MSG with K > k does not get stuck in such situations",
            "Section 5.2",
            "no run ends at [1,0]",
            f"{capped} of {count} runs",
            capped == 0,
        ),
    ]


def about_figure1(results: dict[str, Arrays]) -> list[Claim]:
    """Section 4: rank and spectrum of MSG."""
    ranks = {name: figure1.settled(run["ranks"]) for name, run in results.items()}
    middle = {name: float(np.median(found)) for name, found in ranks.items()}
    extras = figure1.extras(results["text"]["spectrum"])
    stays = results["text"]["stays"]
    rise = int(np.diff(results["text"]["ranks"], prepend=0).max())
    low, high = np.quantile(ranks["text"], [0.05, 0.95])
    return [
        Claim(
            "MSG maintains a subspace of dimension around 15 (k=4, p as in the text)",
            "Figure 1, left",
            f"median rank {15 - AROUND} to {15 + AROUND}",
            f"median {middle['text']:.0f}, 90% of the time {low:.0f} to {high:.0f}",
            abs(middle["text"] - 15) <= AROUND,
        ),
        Claim(
            "The same with probabilities proportional to tau^-i instead of tau^(-i/2), as in a "
            "later file of the first author",
            "Figure 1, left",
            f"median rank {15 - AROUND} to {15 + AROUND}",
            f"median {middle['signed']:.0f}",
            abs(middle["signed"] - 15) <= AROUND,
        ),
        Claim(
            "The ranks are typically much lower than the dimensionality",
            "Section 4",
            f"median rank at most 2/3 of d={figure1.D}",
            f"median {middle['text']:.0f}, largest {int(results['text']['ranks'].max())}",
            middle["text"] <= 2 / 3 * figure1.D,
        ),
        Claim(
            "Each MSG update increases the rank by at most 1",
            "Section 4",
            "at most 1 at every row",
            f"largest increase {rise} in {len(results['text']['ranks'])} rows",
            rise <= 1,
        ),
        Claim(
            "Many of the extra dimensions are wasted on very small eigenvalues",
            "Figure 1, right",
            "more than half of the eigenvalues beyond the k largest are below 0.05",
            f"{(extras < 0.05).mean():.0%} are below 0.05; median {np.median(extras):.4f}",
            bool((extras < 0.05).mean() > 0.5),
        ),
        Claim(
            "They correspond to directions that leave only a handful of iterations after entering",
            "Figure 1, right",
            "the median direction that leaves stays for at most d=32 rows",
            f"median {np.median(stays):.0f} rows, 90% at most {np.quantile(stays, 0.9):.0f} "
            f"({len(stays)} visits)",
            bool(np.median(stays) <= figure1.D),
        ),
    ]


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


def about_theorem1(results: dict[str, Arrays]) -> list[Claim]:
    """Section 3.1: the bound, as the proof gives it and as it is printed."""
    run, excess = results["regret"], results["printed"]["excess"]
    last = int(run["horizons"][-1])
    worst = np.unravel_index(excess.argmax(), excess.shape)
    share = results["printed"]["shares"][worst[0]]
    T = results["printed"]["horizons"][worst[1]]
    claims = [
        Claim(
            f"The regret of MSG with {what} is at most {bound:g} sqrt(kT)",
            "Theorem 1 (its proof)" if bound == 1 else "beyond the paper",
            f"at most {bound:g} on every sequence and for every T up to {last}",
            f"largest {run[name].max():.2f} of {run[name].size} runs",
            bool(run[name].max() <= bound),
        )
        for (name, bound), what in zip(
            theorem1.BOUNDS.items(), ("eta = sqrt(k/T)", "AdaGrad-norm steps"), strict=True
        )
    ]
    claims.append(
        Claim(
            "The expected excess of the averaged iterate is at most sqrt(k/T)/2",
            "Theorem 1 (as printed)",
            "at most 0.5 sqrt(k/T) on every distribution",
            f"{excess.max():.2f} sqrt(k/T) for k=1, T={T} and rows e_1 with probability {share:g}, "
            "else e_2. The proof gives sqrt(k/T): both of its terms are half of that",
            bool(excess.max() <= 0.5),
        )
    )
    return claims


def about_tails(fourth: float, where: str) -> Claim:
    """Section 2: what the analysis assumes of the rows, E|x|^2 being 1."""
    return Claim(
        "A bounded fourth moment, E|x|^4 <= 1, as the analysis requires",
        where,
        f"at most {COMPARABLE:g}, where 1 is the least possible",
        f"E|x|^4 = {fourth:.2f}",
        fourth <= COMPARABLE,
    )


def about_figure3(summary: Summary, where: str) -> list[Claim]:
    """Section 6: MNIST."""
    progress, runtime, rank = summary.average, summary.at_equal_cost, summary.rank
    paper_five, ks = summary.paper, summary.ks
    others = [name for name in paper_five if name != "Incremental"]
    costed = ("MSG", "Capped MSG", "Warmuth-Kuzmin")

    def ratio(
        over: str,
        under: str,
        values: dict[tuple[str, int], float] = progress,
        chosen: Sequence[int] = ks,
    ) -> dict[int, float]:
        return {k: values[over, k] / values[under, k] for k in chosen}

    def say(values: dict[int, float]) -> str:
        return ", ".join(f"{value:.2f} (k={k})" for k, value in values.items())

    def best(values: dict[tuple[str, int], float], names: tuple[str, ...]) -> str:
        return ", ".join(f"{min(names, key=lambda name: values[name, k])} (k={k})" for k in ks)

    high = [k for k in ks if k > 1]
    msg, capped = ratio("MSG", "Incremental"), ratio("Capped MSG", "Incremental", runtime)
    cost = {k: (rank["MSG", k] / rank["Capped MSG", k]) ** 2 for k in ks}
    entropy = ratio("Warmuth-Kuzmin", "MSG")
    wider = ratio("Warmuth-Kuzmin", "MSG", rank, high)
    grouse = ratio("Grassmannian SGD", "Warmuth-Kuzmin", progress, high)
    worse = {
        k: progress["Grassmannian SGD", k] / max(progress["MSG", k], progress["Capped MSG", k])
        for k in ks
    }
    return [
        Claim(
            "The incremental algorithm makes the most progress per iteration",
            where,
            "it has the lowest average suboptimality over the run of the five, for every k",
            f"lowest: {best(progress, paper_five)}; incremental over the best other: "
            + say(
                {k: progress["Incremental", k] / min(progress[n, k] for n in others) for k in ks}
            ),
            all(progress["Incremental", k] <= min(progress[n, k] for n in others) for k in ks),
        ),
        Claim(
            "... and is also the fastest of all algorithms",
            where,
            "lowest suboptimality after an estimated runtime of T k^2, its own whole pass",
            f"lowest: {best(runtime, (*costed, 'Incremental'))}; incremental over the best other: "
            + say({k: runtime["Incremental", k] / min(runtime[n, k] for n in costed) for k in ks}),
            all(runtime["Incremental", k] <= min(runtime[n, k] for n in costed) for k in ks),
        ),
        Claim(
            "MSG is comparable to the incremental algorithm in progress per iteration",
            where,
            f"average suboptimality within a factor of {COMPARABLE:g}",
            f"MSG over incremental: {say(msg)}",
            all(1 / COMPARABLE <= value <= COMPARABLE for value in msg.values()),
        ),
        Claim(
            "MSG often keeps a slightly larger representation than the incremental algorithm",
            where,
            f"root mean square of k_t' between k and {COMPARABLE:g} k",
            ", ".join(f"{rank['MSG', k]:.1f} (k={k})" for k in ks) + summary.cut("MSG"),
            all(k <= rank["MSG", k] <= COMPARABLE * k for k in ks),
        ),
        Claim(
            "Capped MSG is significantly faster than MSG",
            where,
            f"estimated runtime of a pass at least {MUCH:g} times smaller",
            f"MSG over Capped MSG: {say(cost)}",
            all(value >= MUCH for value in cost.values()),
        ),
        Claim(
            "Capped MSG is almost as fast as the incremental algorithm",
            where,
            f"at equal estimated runtime at most {SLIGHTLY:g} times its suboptimality",
            f"Capped MSG over incremental: {say(capped)}",
            all(value <= SLIGHTLY for value in capped.values()),
        ),
        Claim(
            "Warmuth and Kuzmin's algorithm fares well with k=1",
            where,
            f"average suboptimality at most {SLIGHTLY:g} times MSG's",
            f"{entropy[1]:.2f}",
            entropy[1] <= SLIGHTLY,
        ),
        Claim(
            "... but its performance drops for higher k",
            where,
            "average suboptimality over MSG's is larger for k=4 and k=8 than for k=1",
            say(entropy),
            all(entropy[k] > entropy[1] for k in high),
        ),
        Claim(
            "For k in {4,8} it tends to have a larger k_t' than MSG",
            where,
            "root mean square of k_t' above MSG's",
            f"Warmuth-Kuzmin over MSG: {say(wider)}" + summary.cut("Warmuth-Kuzmin"),
            all(value > 1 for value in wider.values()),
        ),
        Claim(
            "Grassmannian SGD performs better than Warmuth and Kuzmin's algorithm (k in {4,8})",
            where,
            "lower average suboptimality",
            f"Grassmannian SGD over Warmuth-Kuzmin: {say(grouse)}",
            all(value < 1 for value in grouse.values()),
        ),
        Claim(
            "... but much worse than MSG and Capped MSG",
            where,
            f"average suboptimality at least {MUCH:g} times theirs",
            f"over the worse of the two: {say(worse)}",
            all(value >= MUCH for value in worse.values()),
        ),
    ]
