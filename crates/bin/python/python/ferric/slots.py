"""Scheduling of cells slot by slot (docs/llc.md): `python -m ferric.slots [ADDRESS]` schedules proportional fair.

A policy receives a `SlotBatch`, slots with a row for each UE, and returns resource blocks and the rows that receive them:

    >>> import ferric, ferric.slots
    >>> def only_the_first(batch):
    ...     rows = [batch.rows(at).start for at in range(len(batch)) if batch.rows(at).stop > batch.rows(at).start]
    ...     return [batch.blocks] * len(rows), rows
    >>> cell = '[[cell]]\\nduplex = "fdd"\\nbandwidth_mhz = 20\\nscs_khz = 15\\nfrequency_mhz = 2140\\n'
    >>> ues = '[[ue]]\\ncount = 2\\n[[ue.flow]]\\nkind = "greedy"\\n'
    >>> with ferric.Demo(cell + ues) as demo, ferric.SlotScheduler(demo.address, delay=40) as scheduler:
    ...     ferric.slots.run(scheduler, only_the_first, seconds=1)
    ...     print(scheduler.counts["decided"] > 0)
    True
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from . import SlotBatch, SlotScheduler

Integers = Sequence[int] | npt.NDArray[np.integer[Any]]
#: Decides about a batch: resource blocks, and the rows that receive them, in the order of their allocation.
Policy = Callable[[SlotBatch], tuple[Integers, Integers]]

#: Bounds the priority of a UE that has received nothing, in octets per slot.
_MIN_AVERAGE_OCTETS = 1e-6


def proportional_fair(batch: SlotBatch) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Serves the UEs in the order of achievable rate over average rate, each completely.

    As the xApp in Rust, `SlotBatch.proportional_fair`: each slot after the other, without the octets that earlier slots of the
    batch carry.
    """
    rates = batch.octets_per_block
    priorities = rates / np.maximum(batch.average_octets, _MIN_AVERAGE_OCTETS)
    backlogs, ues, nodes = batch.backlog_octets, batch.ue, batch.nodes
    planned: dict[tuple[str, int], int] = {}
    blocks: list[int] = []
    rows: list[int] = []
    for at, node in enumerate(nodes):
        of_slot = batch.rows(at)
        left = batch.blocks
        # equal priorities in the order of the rows
        for row in of_slot.start + np.argsort(-priorities[of_slot], kind="stable"):
            ue, rate = (node, int(ues[row])), float(rates[row])
            backlog = int(backlogs[row]) - planned.get(ue, 0)
            if left == 0 or backlog <= 0 or rate <= 0:
                continue
            share = min(int(np.ceil(backlog / rate)), left)
            left -= share
            planned[ue] = planned.get(ue, 0) + min(int(rate * share), backlog)
            blocks.append(share)
            rows.append(int(row))
    return np.array(blocks, dtype=np.int64), np.array(rows, dtype=np.int64)


def run(scheduler: SlotScheduler, policy: Policy = proportional_fair, *, seconds: float | None = None) -> None:
    """Schedules by a policy: `seconds` long, or until the session ends."""
    end = None if seconds is None else time.monotonic() + seconds
    while end is None or time.monotonic() < end:
        batch = scheduler.wait(1.0 if end is None else max(0.0, min(1.0, end - time.monotonic())))
        if batch is not None:
            scheduler.decide(batch, *policy(batch))


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m ferric.slots", description="Schedules cells proportional fair.")
    parser.add_argument("address", nargs="?", help="the RIC's address for xApps; default: FERRIC_RIC, or this host")
    parser.add_argument("--delay", type=int, default=2, help="slots from the reported one to the decided one")
    parser.add_argument("--blocks", type=int, default=106, help="resource blocks of the cells")
    parser.add_argument("--spin", type=float, default=0.0, help="seconds that shared memory polls before it sleeps")
    arguments = parser.parse_args()
    with SlotScheduler(
        arguments.address, delay=arguments.delay, blocks=arguments.blocks, spin=arguments.spin
    ) as scheduler:
        before = scheduler.counts
        while True:
            run(scheduler, seconds=1)
            counts = scheduler.counts
            print(", ".join(f"{counts[name] - before[name]} {name}" for name in counts), flush=True)
            before = counts


if __name__ == "__main__":
    main()
