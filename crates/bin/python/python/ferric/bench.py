"""Measures the speed of the package: `python -m ferric.bench`.

RIC and RAN of the rows for xApps run in another process, so that the CPU time is that of the xApp alone: its Python, and the
thread of its session. A rate for one core is the number of indications, or of steps, divided by the CPU time.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator

import ferric

_SERVE = """
import sys, ferric
with ferric.Demo(nodes=int(sys.argv[1]), ues=int(sys.argv[2]), speed=float(sys.argv[3])) as demo:
    print(demo.address, flush=True)
    sys.stdin.read()
"""
#: Where `tcpi_bytes_received` is in `struct tcp_info` (linux/tcp.h).
_BYTES_RECEIVED = 128


@contextlib.contextmanager
def _demo(nodes: int, ues: int, speed: float) -> Iterator[str]:
    arguments = [sys.executable, "-c", _SERVE, str(nodes), str(ues), str(speed)]
    with subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdin is not None and child.stdout is not None
        try:
            yield child.stdout.readline().strip()
        finally:
            child.stdin.close()


def _received_octets() -> int:
    """The octets that the TCP sockets of this process have received."""
    octets = 0
    for entry in os.listdir("/proc/self/fd"):
        with contextlib.suppress(OSError):
            if not os.readlink(f"/proc/self/fd/{entry}").startswith("socket:"):
                continue
            with socket.socket(fileno=os.dup(int(entry))) as link:
                if link.family == socket.AF_INET:
                    info = link.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 256)
                    octets += int.from_bytes(info[_BYTES_RECEIVED : _BYTES_RECEIVED + 8], sys.byteorder)
    return octets


def _stream(
    address: str,
    measurements: list[str],
    period_ms: int,
    whole_node: bool,
    seconds: float,
    read: Callable[[ferric.Batch], object],
) -> tuple[int, float, float, int, int]:
    """Records, CPU time, time, octets and lost records while batches are read for some seconds."""
    with (
        ferric.connect(address, name="bench") as ric,
        ric.kpm(measurements, period_ms=period_ms, whole_node=whole_node) as stream,
    ):
        stream.batch()
        records, lost, octets = 0, stream.lost, _received_octets()
        cpu, start = time.process_time(), time.monotonic()
        while time.monotonic() - start < seconds:
            batch = stream.batch(1.0)
            if batch is not None:
                records += len(batch)
                read(batch)
        cpu, elapsed = time.process_time() - cpu, time.monotonic() - start
        return records, cpu, elapsed, _received_octets() - octets, stream.lost - lost


def steps(seconds: float) -> str:
    """Steps of the slicing environment: one cell, four UEs, 10 ms of the model in a step, actions that change."""
    import numpy as np

    from ferric.gym import SlicingEnv

    env = SlicingEnv(episode_steps=1_000_000)
    env.reset(seed=1)
    actions = [np.array(weights, np.float32) for weights in ([0.4, 0.2, 0.4], [0.3, 0.3, 0.4])]
    done, cpu, start = 0, time.process_time(), time.monotonic()
    while time.monotonic() - start < seconds:
        for _ in range(100):
            env.step(actions[done & 1])
            done += 1
    cpu, elapsed = time.process_time() - cpu, time.monotonic() - start
    return f"{done / cpu:,.0f} steps of 10 ms in a second of CPU time ({done / elapsed:,.0f} by the clock)"


def small(seconds: float) -> str:
    """Indications of about 100 octets, read in batches: reports of whole nodes."""
    measurements = ["RRU.PrbTotDl", "RRU.PrbTotUl", "DRB.PdcpSduVolumeDL", "DRB.PdcpSduVolumeUL"]
    with _demo(20, 1, 30) as address:
        records, cpu, elapsed, octets, lost = _stream(
            address, measurements, 10, True, seconds, lambda batch: batch["RRU.PrbTotDl"].sum()
        )
    return (
        f"{records / cpu:,.0f} indications of {octets / records:.0f} octets in a second of CPU time "
        f"({records / elapsed:,.0f} came by the clock, {lost} lost)"
    )


def arrow(seconds: float) -> str:
    """Reports of 32 UEs with 8 measurements (format 3), to Arrow."""
    measurements = [
        "DRB.UEThpDl",
        "DRB.UEThpUl",
        "DRB.RlcSduDelayDl",
        "DRB.PdcpSduVolumeDL",
        "DRB.PdcpSduVolumeUL",
        "RRU.PrbTotDl",
        "RRU.PrbTotUl",
        "CQI",
    ]
    with _demo(4, 32, 5) as address:
        records, cpu, elapsed, octets, lost = _stream(
            address, measurements, 10, False, seconds, lambda batch: batch.to_arrow()
        )
    reports = records / 32
    return (
        f"{reports / cpu:,.0f} reports of {octets / reports:.0f} octets in a second of CPU time "
        f"({reports / elapsed:,.0f} came by the clock, {lost} lost)"
    )


def first(seconds: float) -> str:
    """The time from the call of `connect` to the first record, with a period of 100 ms: the longest of ten."""
    times = []
    with _demo(1, 32, 1) as address:
        for _ in range(10):
            start = time.monotonic()
            with ferric.connect(address) as ric, ric.kpm(["DRB.UEThpDl"], period_ms=100) as stream:
                next(stream)
                times.append(time.monotonic() - start)
    return f"{max(times) * 1e3:.0f} ms at most, {sorted(times)[5] * 1e3:.0f} ms in the middle"


def main() -> None:
    rows: dict[str, Callable[[float], str]] = {"steps": steps, "small": small, "arrow": arrow, "first": first}
    parser = argparse.ArgumentParser(prog="python -m ferric.bench", description=__doc__)
    parser.add_argument("rows", nargs="*", metavar="row", help=f"of {', '.join(rows)}; by default all")
    parser.add_argument("--seconds", type=float, default=5.0, help="for each row")
    arguments = parser.parse_args()
    unknown = [row for row in arguments.rows if row not in rows]
    if unknown:
        parser.error(f"there is no row {unknown[0]}: use {', '.join(rows)}")
    if not 0.1 <= arguments.seconds <= 600:
        parser.error("--seconds is from 0.1 to 600")
    for name in arguments.rows or rows:
        print(f"{name}: {rows[name](arguments.seconds)}", flush=True)


if __name__ == "__main__":
    main()
