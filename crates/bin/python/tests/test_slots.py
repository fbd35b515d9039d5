"""Scheduling slot by slot, against the emulated RAN: in steps, where results are exact, and over each kind of link."""

import os

import numpy as np
import pytest

import ferric
import ferric.slots


def scenario(scs_khz=15, cells=1, ues=4, rate_bps=20_000_000):
    """Cells of 20 MHz with UEs that walk; most of them always have data."""
    cell = f'[[cell]]\nduplex = "fdd"\nbandwidth_mhz = 20\nscs_khz = {scs_khz}\nfrequency_mhz = 2140\n'
    ue = '[[ue]]\ncount = {}\ncell = {}\nmotion = "random-waypoint"\nspeed_m_per_s = 0.8\nmax_speed_m_per_s = 1.8\n'
    flow = '[[ue.flow]]\nkind = "cbr"\nrate_bps = {}\npacket_octets = 1400\n'
    users = [
        ue.format(count, at) + flow.format(rate)
        for at in range(cells)
        for count, rate in [(ues - 1, rate_bps), (1, 400_000)]
    ]
    return "seed = 7\n" + cell * cells + "".join(users)


def in_steps(policy, slots, blocks=106, delay=0, **of_scenario):
    """What the cells have reported and what was decided, slot by slot."""
    trace = []
    with (
        ferric.Demo(scenario(**of_scenario), stepped=True) as demo,
        ferric.SlotScheduler(demo.address, blocks=blocks, delay=delay) as scheduler,
    ):
        assert scheduler.wait_for_cells(1, 10)
        for _ in range(slots):
            demo.step(1)
            batch = scheduler.wait(10)
            decision = policy(batch)
            scheduler.decide(batch, *decision)
            assert scheduler.settle(10)
            columns = [batch.slots, batch.ue, batch.backlog_octets, batch.octets_per_block, batch.average_octets]
            trace.append([list(column) for column in (*columns, *decision)])
        counts = scheduler.counts
    return trace, counts


def test_python_schedules_exactly_as_rust():
    ours, counts = in_steps(ferric.slots.proportional_fair, 300)
    theirs, of_rust = in_steps(ferric.SlotBatch.proportional_fair, 300)
    assert ours == theirs and counts == of_rust
    decided = [blocks for *_, blocks, _ in ours if blocks]
    assert len(decided) > 250 and max(map(sum, decided)) == 106
    assert len({row for *_, rows in ours for row in rows}) == 4, "each UE is served"
    assert counts["accepted"] == counts["decided"] > 250 and counts["refused"] == counts["late"] == 0


def test_slots_of_half_a_millisecond_are_decided_in_pairs():
    ours, counts = in_steps(ferric.slots.proportional_fair, 100, blocks=51, scs_khz=30)
    theirs, _ = in_steps(ferric.SlotBatch.proportional_fair, 100, blocks=51, scs_khz=30)
    assert ours == theirs
    assert all(len(slots) == 2 and slots[1] == slots[0] + 1 for slots, *_ in ours)
    assert counts["accepted"] > 50


def test_slots_of_several_cells_are_one_batch():
    with (
        ferric.Demo(scenario(cells=2), stepped=True) as demo,
        ferric.SlotScheduler(demo.address, delay=5) as scheduler,
    ):
        assert scheduler.wait_for_cells(2, 10)
        demo.step(1)
        demo.step(1)
        slots = {}
        while sum(map(len, slots.values())) < 4:
            batch = scheduler.wait(10)
            assert len(batch.nodes) == len(batch) == len(batch.slots) and len(batch.names) == len(batch.ue)
            for at, (node, slot) in enumerate(zip(batch.nodes, batch.slots)):
                slots.setdefault(node, []).append(int(slot))
                rows = batch.rows(at)
                assert len(set(batch.ue[rows])) == rows.stop - rows.start == 4
                assert all(name.startswith("amf:") for name in batch.names[rows])
            scheduler.decide(batch, *batch.proportional_fair())
        assert scheduler.settle(10)
        assert len(slots) == 2 and all(second == first + 1 for first, second in slots.values())
        assert scheduler.counts["refused"] == 0
        with pytest.raises(IndexError):
            batch.rows(len(batch))


def test_slots_that_have_begun_are_left_to_the_cell():
    with (
        ferric.Demo(scenario(), stepped=True) as demo,
        ferric.SlotScheduler(demo.address, delay=0) as scheduler,
    ):
        assert scheduler.wait_for_cells(1, 10)
        demo.step(1)
        first = scheduler.wait(10)
        for _ in range(5):
            demo.step(1)
        seen = []
        while not seen or seen[-1] < first.slots[0] + 5:
            seen.append(int(scheduler.wait(10).slots[-1]))
        assert scheduler.counts["late"] == 5 - len(seen)
        # the decision about a slot that is over is refused by the cell
        for _ in range(100):
            demo.step(1)
            batch = scheduler.wait(10)
        demo.step(1)
        scheduler.decide(batch, *batch.proportional_fair())
        assert scheduler.settle(10)
        assert scheduler.counts["refused"] == 1


def test_answers_that_are_none_are_refused():
    with (
        ferric.Demo(scenario(), stepped=True) as demo,
        ferric.SlotScheduler(demo.address, delay=0) as scheduler,
    ):
        assert scheduler.wait(0) is None
        assert scheduler.wait_for_cells(1, 10) and not scheduler.wait_for_cells(2, 0)
        for _ in range(100):
            demo.step(1)
            batch = scheduler.wait(10)
        assert len(batch.ue) == 4
        for blocks, rows, parameter in [
            ([1], None, "blocks"),
            ([1, 1], [0], "blocks"),
            ([1], [4], "rows"),
            ([1], [-1], "rows"),
            ([1, 1], [2, 2], "rows"),
            ([-1], [0], "blocks"),
            ([1 << 40], [0], "blocks"),
            ([53, 54], [0, 1], "blocks"),
        ]:
            with pytest.raises(ferric.errors.Invalid) as caught:
                scheduler.decide(batch, blocks, rows)
            assert caught.value.parameter == parameter, (blocks, rows)
        with pytest.raises(TypeError):
            scheduler.decide(batch, [0.5], [0])
        with pytest.raises(OverflowError):
            scheduler.decide(batch, [1 << 70], [0])
        # a number for each row, as NumPy has them
        scheduler.decide(batch, np.array([50, 0, 56, 0], dtype=np.int32))
        with pytest.raises(ferric.errors.Invalid) as caught:
            scheduler.decide(batch, [1], [0])
        assert caught.value.parameter == "batch"
        assert scheduler.settle(10) and scheduler.counts["accepted"] == 1


def test_arguments_out_of_range_are_refused():
    with ferric.Demo(scenario(), stepped=True, link="unix") as demo:
        for wrong in [{"blocks": 0}, {"blocks": 276}, {"delay": 129}, {"spin": -1}, {"spin": 0.2}, {"timeout": -1}]:
            with pytest.raises(ferric.errors.Invalid) as caught:
                ferric.SlotScheduler(demo.address, **wrong)
            assert caught.value.parameter in wrong
        for milliseconds in [0, -1, 3_600_001, float("nan")]:
            with pytest.raises(ferric.errors.Invalid):
                demo.step(milliseconds)
    with pytest.raises(RuntimeError):
        demo.step(1)
    for wrong in [{"link": "pigeon"}, {"stepped": True, "speed": 1}]:
        with pytest.raises(ferric.errors.Invalid):
            ferric.Demo(scenario(), **wrong)
    with ferric.Demo(scenario()) as demo, pytest.raises(RuntimeError):
        demo.step(1)
    with pytest.raises(ferric.errors.AddressError):
        ferric.SlotScheduler("nowhere")
    with pytest.raises(ferric.errors.ConnectError):
        ferric.SlotScheduler("tcp://127.0.0.1:9", timeout=0.1)


def test_closed_and_forked_schedulers_say_so():
    with ferric.Demo(scenario(), stepped=True, link="shm") as demo:
        scheduler = ferric.SlotScheduler(demo.address, delay=0)
        assert scheduler.wait_for_cells(1, 10)
        child = os.fork()
        if child == 0:
            try:
                scheduler.wait(0)
            except ferric.errors.Forked:
                del scheduler
                os._exit(0)
            os._exit(1)
        assert os.waitpid(child, 0)[1] == 0
        # the session of the parent is as it was
        for _ in range(100):
            demo.step(1)
            batch = scheduler.wait(10)
            scheduler.decide(batch, *batch.proportional_fair())
            assert scheduler.settle(10)
        assert scheduler.counts["accepted"] > 10
        scheduler.close()
        scheduler.close()
        with pytest.raises(ferric.errors.Closed):
            scheduler.wait(0)
        with pytest.raises(ferric.errors.Closed):
            next(scheduler)


@pytest.mark.parametrize("link,spin", [("tcp", 0.0), ("unix", 0.0), ("shm", 0.0), ("shm", 0.002)])
def test_every_link_carries_decisions_in_time(link, spin):
    # far ahead: this host may be busy
    with (
        ferric.Demo(scenario(), link=link) as demo,
        ferric.SlotScheduler(demo.address, delay=100, spin=spin) as scheduler,
    ):
        assert scheduler.wait_for_cells(1, 20)
        ferric.slots.run(scheduler, seconds=2)
        assert scheduler.counts["accepted"] > 10, scheduler.counts
