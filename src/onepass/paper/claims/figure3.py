"""Section 6: MNIST."""

from __future__ import annotations

from collections.abc import Sequence

from onepass.paper.claims.claim import CLEARLY, COMPARABLE, MUCH, SLIGHTLY, Claim
from onepass.paper.figure3_summary import Summary


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
            "average suboptimality over MSG's at least 10% larger for k=4 and k=8 than for k=1",
            say(entropy),
            all(entropy[k] >= CLEARLY * entropy[1] for k in high),
        ),
        Claim(
            "For k in {4,8} it tends to have a larger k_t' than MSG",
            where,
            "root mean square of k_t' at least 10% above MSG's",
            f"Warmuth-Kuzmin over MSG: {say(wider)}" + summary.cut("Warmuth-Kuzmin"),
            all(value >= CLEARLY for value in wider.values()),
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
