"""Trains the agents of all environments and judges them with other seeds: `python -m ferric.gym`.

Writes `learning.csv` (panel, series, x, y: the curves of the figure in docs/gymnasium.md) and prints the table there.
"""

from __future__ import annotations

import argparse
import csv
import pathlib

import numpy as np

from . import agents

#: The seeds of episodes that judge; those of training are 1000000 and on.
JUDGED = range(1000, 1020)
#: What the table shows besides the reward, by environment: a name, and the quantities whose mean or sum it is.
SHOWN: dict[str, list[tuple[str, str, bool]]] = {
    "Slicing": [
        ("delay of slice 1, ms", "slice 1 DRB.RlcSduDelayDl", False),
        ("delay of slice 2, ms", "slice 2 DRB.RlcSduDelayDl", False),
        ("rate of slice 3, Mbit/s", "slice 3 DRB.RlcSduTransmittedVolumeDL", False),
    ],
    "TrafficControl": [
        ("delay of the call, ms", "delay of the call", False),
        ("rate of the bearer, Mbit/s", "DRB.RlcSduTransmittedVolumeDL", False),
    ],
    "LoadBalancing": [("rate of all cells, Mbit/s", "DRB.RlcSduTransmittedVolumeDL", True)],
    "EnergySaving": [
        ("power of all cells, W", "PEE.AvgPower", True),
        ("rate of all cells, Mbit/s", "DRB.RlcSduTransmittedVolumeDL", True),
    ],
}


def _shown(results: dict[str, agents.Floats], quantity: str, is_sum: bool) -> float:
    if not is_sum:
        return float(results[quantity].mean())
    return float(sum(values.mean() for name, values in results.items() if name.endswith(quantity)))


def _write(folder: pathlib.Path, rows: list[tuple[str, str, int, float]]) -> None:
    """Writes the curves so far: a training that is stopped leaves those of the environments before."""
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / "learning.csv", "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["panel", "series", "x", "y"])
        writer.writerows((panel, series, x, f"{y:.6f}") for panel, series, x, y in rows)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m ferric.gym", description=__doc__)
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("."), help="folder of learning.csv")
    parser.add_argument("--agents", type=int, default=3, help="agents of each environment, with the seeds 1 and on")
    parser.add_argument("--rounds", type=int, help="rounds of training; by default those of the document")
    parser.add_argument("--only", choices=sorted(agents.ROUNDS), help="one environment")
    arguments = parser.parse_args()
    if arguments.agents < 1 or (arguments.rounds is not None and arguments.rounds < 1):
        parser.error("--agents and --rounds are at least 1")
    rows: list[tuple[str, str, int, float]] = []
    print("| environment | | baseline | agents, each | better than the baseline |")
    print("|---|---|---|---|---|")
    for name in [arguments.only] if arguments.only else list(agents.ROUNDS):
        without = agents.evaluate(name, agents.baseline(name), JUDGED)
        curves: list[list[float]] = []
        judged = []
        for seed in range(1, arguments.agents + 1):
            curves.append([])
            policy = agents.train(
                name, seed=seed, rounds=arguments.rounds, report=lambda _, reward: curves[-1].append(reward)
            )
            judged.append(agents.evaluate(name, policy, JUDGED))
        rewards = np.array([results["reward"] for results in judged])
        better = [f"{(of > without['reward']).sum()} of {len(JUDGED)}" for of in rewards]
        means = ", ".join(f"{of.mean():.3f}" for of in rewards)
        print(f"| {name} | reward of a step | {without['reward'].mean():.3f} | {means} | {', '.join(better)} episodes |")
        for label, quantity, is_sum in SHOWN[name]:
            each = ", ".join(f"{_shown(results, quantity, is_sum):.1f}" for results in judged)
            print(f"| | {label} | {_shown(without, quantity, is_sum):.1f} | {each} | |", flush=True)
        curve_means = np.array(curves).mean(axis=0)
        rounds = len(curve_means)
        rows += [(name, "agents in training", at + 1, float(reward)) for at, reward in enumerate(curve_means)]
        rows += [(name, "agents with other seeds", at, float(rewards.mean())) for at in (1, rounds)]
        rows += [(name, "baseline", at, float(without["reward"].mean())) for at in (1, rounds)]
        _write(arguments.out, rows)


if __name__ == "__main__":
    main()
