"""Programs with faults: what raises, closes, forks or ends while streams are open."""

import asyncio
import os
import subprocess
import sys
import threading

import pytest

import ferric
import ferric.aio


@pytest.fixture(scope="module")
def demo():
    with ferric.Demo(ues=4) as demo:
        yield demo


def run(demo, code):
    """A program that has `ric`, a session."""
    text = f"import os, sys, threading, time, ferric\nric = ferric.connect({demo.address!r})\n{code}"
    return subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, timeout=60)


def test_callback_that_raises_ends_its_task_only(demo):
    """The exception reaches who awaits the task; session and other streams go on."""

    async def main(ric):
        async def react(stream, act):
            async for m in ferric.aio.read(stream):
                if act(m):
                    return m

        with ric.kpm(["CQI"], period_ms=100) as one, ric.kpm(["CQI"], period_ms=100) as other:
            wrong = asyncio.create_task(react(one, lambda m: 1 / 0))
            with pytest.raises(ZeroDivisionError):
                await wrong
            assert (await react(other, lambda m: True)).ue.startswith("amf:")
            assert (await react(one, lambda m: True)).ue.startswith("amf:"), "the stream is not lost"

    with demo.connect() as ric:
        asyncio.run(asyncio.wait_for(main(ric), 30))
        assert len(ric.nodes()) == 1


def test_exception_in_a_with_block_closes_the_session(demo):
    with pytest.raises(ZeroDivisionError):
        with demo.connect() as ric:
            1 / 0
    with pytest.raises(ferric.errors.Closed):
        ric.nodes()


def test_handles_outlive_nothing_of_a_closed_session(demo):
    ric = demo.connect()
    with ric.kpm(["CQI"], period_ms=100) as stream:
        ue = ric.ue(next(stream).ue)
    node, slices, tc, feed = ric.nodes()[0], ric.slices, ric.tc, ric.events()
    ric.close()
    calls = [
        lambda: ue.handover("003804001"),
        lambda: ue.cell,
        lambda: ue.identity(),
        lambda: node.query(["O-NRCellDU"]),
        lambda: node.kpm(["CQI"]),
        lambda: slices.list(),
        lambda: slices.set({1: 50}),
        lambda: tc.pace(True),
        lambda: ric.quota("1", max=50),
        lambda: ric.kpm(["CQI"]),
        lambda: ric.handover_requests(),
    ]
    for call in calls:
        with pytest.raises(ferric.errors.Closed) as caught:
            call()
        assert caught.value.code == "closed"
    # a feed ends
    assert [event for event, _ in feed] in ([], ["node-up"])


def test_arbiter_that_no_rule_names_is_refused(demo):
    """A RIC without rules on conflicts has no arbiters; the session goes on."""
    with demo.connect(name="judge") as ric:
        for _ in range(2):
            with pytest.raises(ferric.errors.RefusedByRic) as caught:
                ric.conflict_questions()
            assert caught.value.code == "refused-by-ric"
        assert len(ric.nodes()) == 1


def test_forked_child_may_open_a_session_of_its_own(demo):
    with demo.connect() as ric, ric.kpm(["CQI"], period_ms=100) as stream:
        child = os.fork()
        if child == 0:
            try:
                for call in (lambda: next(stream), lambda: ric.kpm(["CQI"]), lambda: ric.slices.list()):
                    try:
                        call()
                    except (ferric.errors.Forked, StopIteration):
                        continue
                    os._exit(2)
                with ferric.connect(demo.address) as own:
                    os._exit(0 if len(own.nodes()) == 1 else 3)
            finally:
                os._exit(1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert next(stream).ue.startswith("amf:"), "the parent's stream goes on"


def test_interpreter_ends_while_a_thread_waits_for_a_record(demo):
    code = """
stream = ric.kpm(["CQI"], period_ms=60000)
threading.Thread(target=lambda: next(stream), daemon=True).start()
time.sleep(0.5)
print("ends")
"""
    ended = run(demo, code)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "ends\n", "")


def test_interpreter_ends_in_the_middle_of_a_loop(demo):
    ended = run(demo, "for m in ric.kpm(['CQI'], period_ms=100):\n    sys.exit(7)")
    assert (ended.returncode, ended.stderr) == (7, "")
    ended = run(demo, "for m in ric.kpm(['CQI'], period_ms=100):\n    1 / 0")
    assert ended.returncode == 1 and "ZeroDivisionError" in ended.stderr and "panicked" not in ended.stderr


def test_garbage_collected_session_ends(demo):
    threads = set(os.listdir("/proc/self/task"))
    for _ in range(3):
        ric = demo.connect()
        stream = ric.kpm(["CQI"], period_ms=100)
        next(stream)
        del ric, stream
    assert set(os.listdir("/proc/self/task")) == threads, "its threads have ended"


def test_stream_is_closed_while_another_thread_reads_it(demo):
    """The reader holds the stream: closing it is refused, closing the session ends the wait."""
    ric = demo.connect()
    stream = ric.kpm(["CQI"], period_ms=60_000)
    ended = threading.Event()

    def read():
        assert list(stream) == []
        ended.set()

    reader = threading.Thread(target=read)
    reader.start()
    try:
        assert not ended.wait(0.3)
        with pytest.raises(RuntimeError):
            stream.close()
    finally:
        ric.close()
        reader.join(30)
    assert ended.is_set()
