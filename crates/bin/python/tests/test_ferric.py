"""The package against its embedded RIC and RAN."""

import asyncio
import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import ferric
import ferric.aio

MEASUREMENTS = ["DRB.UEThpDl", "CQI"]


@pytest.fixture(scope="module")
def demo():
    with ferric.Demo(nodes=2, ues=4) as demo:
        yield demo


@pytest.fixture
def ric(demo):
    with demo.connect(name="test") as ric:
        yield ric


def test_records_have_values(ric):
    seen = set()
    with ric.kpm(MEASUREMENTS, period_ms=100) as stream:
        for m in stream:
            assert m.keys() == MEASUREMENTS and len(m) == 2
            assert m["DRB.UEThpDl"] is None or m["DRB.UEThpDl"] >= 0
            assert "CQI" in m and "RSRP" not in m
            assert abs(m.time - time.time()) < 60 and m.node.startswith("gnb-")
            assert m.to_dict()["ue"] == m.ue
            seen.add(m.ue)
            if len(seen) == 8:
                break
    with pytest.raises(KeyError):
        m["RSRP"]


def test_eight_lines_of_the_readme(demo, monkeypatch, capsys):
    monkeypatch.setenv("FERRIC_RIC", demo.address)
    with ferric.connect() as ric:
        for m in ric.kpm(["DRB.UEThpDl"], period_ms=100):
            print(m.time, m.ue, m["DRB.UEThpDl"])
            break
    assert "amf:" in capsys.readouterr().out


def test_nouns(ric):
    assert len(ric.nodes()) == 2
    assert len(ric.cells()) == 2
    with ric.kpm(["CQI"], period_ms=100) as stream:
        name = stream.next_within(10).ue
    ue = ric.ue(name)
    assert ue.name == name
    assert ue.cell in [cell.id for cell in ric.cells()]
    assert ue.identity()["amf_ue_ngap_id"] > 0


def test_handover_moves_the_ue(ric):
    cells = [cell.id for cell in ric.cells()]
    with ric.kpm(["CQI"], period_ms=100) as stream:
        ue = ric.ue(stream.next_within(10).ue)
    target = next(cell for cell in cells if cell != ue.cell)
    ue.verified(10).handover(target)
    assert ue.cell == target


def test_slices_are_set_and_removed(ric):
    node = ric.nodes()[0]
    node.slices.set({1: 60, 2: 40})
    shares = {row["id"]: row["share"] for row in node.slices.list() if row["direction"] == "downlink"}
    assert shares[1] == pytest.approx(60, abs=0.5)
    with pytest.raises(ferric.errors.Refused):
        node.slices.set({3: 90})
    node.slices.remove([1, 2])


def test_errors_have_fields(ric):
    with pytest.raises(ferric.errors.NotOffered) as caught:
        ric.kpm(["DRB.UEThpDL"], period_ms=100)
    assert "DRB.UEThpDl" in caught.value.nearest and caught.value.code == "not-offered"
    with pytest.raises(ferric.errors.Invalid) as caught:
        ric.quota("1", max=101)
    assert caught.value.parameter == "max_percent" and isinstance(caught.value, ValueError)
    with pytest.raises(LookupError):
        ric.kpm(["CQI"], ue="amf:1", period_ms=100)
    with pytest.raises(TypeError):
        ric.kpm("CQI" * 0 + 7)
    with pytest.raises(ferric.errors.Invalid):
        ric.verified(-1)
    with pytest.raises(ferric.errors.ConnectError) as caught:
        ferric.connect("tcp://127.0.0.1:9", timeout=0.1)
    assert isinstance(caught.value, ConnectionError)


def test_closed_handles_say_so(demo):
    ric = demo.connect()
    stream = ric.kpm(["CQI"], period_ms=100)
    stream.close()
    stream.close()
    with pytest.raises(ferric.errors.Closed):
        stream.next_within(0)
    assert list(stream) == []
    ric.close()
    ric.close()
    with pytest.raises(ferric.errors.Closed):
        ric.nodes()


def test_batches_are_columns(ric):
    with ric.kpm(MEASUREMENTS, period_ms=100) as stream:
        stream.batch()
        batch = stream.batch(timeout=10)
        assert stream.lost == 0 and stream.refusals == 0
        assert batch is not None and len(batch) > 0
        assert batch.measurements == MEASUREMENTS
        arrays = batch.to_numpy()
        assert set(arrays) == {"time", "node", "cell", "ue", "slice", *MEASUREMENTS}
        assert all(len(array) == len(batch) for array in arrays.values())
        ues = [batch.names["ue"][at] for at in arrays["ue"]]
        assert all(ue.startswith("amf:") for ue in ues)
        np.testing.assert_array_equal(batch["CQI"], arrays["CQI"])
        with pytest.raises(KeyError):
            batch["RSRP"]


def test_arrow_has_the_same_memory(ric):
    pyarrow = pytest.importorskip("pyarrow")
    with ric.kpm(MEASUREMENTS, period_ms=100) as stream:
        batch = stream.batch()
    first, second = batch.to_arrow(), batch.to_arrow()
    first.validate(full=True)
    assert first.num_rows == len(batch) and first.column_names[5:] == MEASUREMENTS
    addresses = [table.column("CQI").buffers()[1].address for table in (first, second)]
    assert addresses[0] == addresses[1], "no copy is made"
    assert pyarrow.types.is_timestamp(first.schema.field("time").type)
    expected = np.nan_to_num(batch["CQI"])
    del batch, second
    actual = first.column("CQI").fill_null(0).to_numpy(zero_copy_only=False)
    np.testing.assert_array_equal(actual, expected)


def test_asyncio_reads_streams(ric):
    async def read():
        with ric.kpm(["CQI"], period_ms=100) as stream:
            records = []
            async for m in ferric.aio.read(stream):
                records.append(m.ue)
                if len(records) == 16:
                    return records

    assert len(set(asyncio.run(asyncio.wait_for(read(), 30)))) == 8


def test_rrc_messages_are_copied():
    scenario = "[measurement]\nreport_interval_ms = 120\n[[cell]]\n[[ue]]\n"
    with (
        ferric.Demo(scenario) as demo,
        demo.connect() as ric,
        ric.rrc_messages(["MeasurementReport"]) as messages,
    ):
        message = next(messages)
        assert message.node.startswith("gnb-") and message.ue.startswith("amf:")
        assert isinstance(message.octets, bytes) and message.octets[0] & 0xF8 == 0
        report = message.measurements()
        assert report["serving"]["pci"] >= 0 and -157 <= report["serving"]["rsrp_dbm"] < 0
        assert all(set(cell) == {"pci", "rsrp_dbm", "rsrq_db", "sinr_db"} for cell in report["neighbours"])
        assert messages.lost == 0

        async def read():
            async for message in ferric.aio.read(messages):
                return message.ue

        assert asyncio.run(asyncio.wait_for(read(), 30)).startswith("amf:")
        for wrong in ([], ["measurement"], ["nr:UL-DCCH:0", "nr:UL-DCCH:256"]):
            with pytest.raises(ferric.errors.Invalid) as caught:
                ric.rrc_messages(wrong)
            assert caught.value.parameter == "kinds"
        messages.close()
        assert list(messages) == []
        with pytest.raises(ferric.errors.Closed):
            messages.next_within(0)


def test_configuration_is_read_reported_and_set(ric):
    node = ric.nodes()[0]
    cells = node.query(["O-NRCellDU"])
    assert [cell["cell"] for cell in cells] == [cell.id for cell in ric.cells() if cell.node == node.name]
    assert cells[0]["structures"]["O-NRCellDU"]["administrativeState"] == "UNLOCKED"

    def set_state(state):
        assert node.configure({"O-NRCellDU": {"administrativeState": state}}) == [(node.name, None)]

    with ric.configuration(["O-NRCellDU"]) as reports:
        set_state("SHUTTINGDOWN")
        for report in reports:
            state = report["structures"]["O-NRCellDU"].get("administrativeState")
            if state == "SHUTTINGDOWN":
                assert (report["node"], report["cell"]) == (node.name, cells[0]["cell"])
                break
        set_state("UNLOCKED")
    for wrong in ({"O-NRCellDU": {"administrativeState": 7}}, {"O-NRCellDU": [1]}, {}):
        with pytest.raises(ferric.errors.Invalid) as caught:
            node.configure(wrong)
        assert caught.value.parameter == "structures"
    with pytest.raises(TypeError):
        node.configure({"O-NRCellDU": {"administrativeState": object()}})
    with pytest.raises(ferric.errors.NotOffered):
        node.query(["O-NRCellDX"])


def test_queue_of_traffic_control_is_removed(ric):
    tc = ric.nodes()[0].tc
    tc.add_queue("codel")
    assert len(tc.remove_queue(1, "codel")) == 1
    with pytest.raises(ferric.errors.Refused):
        tc.remove_queue(1, "codel")
    with pytest.raises(ferric.errors.Invalid):
        tc.remove_queue(1, "red")


def test_asyncio_streams_end_with_the_session(demo):
    async def read_all(ric):
        streams = [ferric.aio.read(ric.kpm(["CQI"], period_ms=60_000)), ferric.aio.read(ric.events())]
        streams.append(ferric.aio.batches(ric.kpm(["CQI"], period_ms=60_000)))

        async def count(stream):
            return len([item async for item in stream])

        tasks = [asyncio.create_task(count(stream)) for stream in streams]
        await asyncio.sleep(0.3)
        await asyncio.to_thread(ric.close)
        return await asyncio.gather(*tasks)

    ric = demo.connect()
    records, events, batches = asyncio.run(asyncio.wait_for(read_all(ric), 30))
    assert events == 2, "both nodes are up"


def test_polling_ends_with_the_session(demo):
    ric = demo.connect()
    stream, events = ric.kpm(["CQI"], period_ms=60_000), ric.events()
    assert stream.next_within(0) is None and stream.batch(0) is None
    ric.close()
    with pytest.raises(ferric.errors.Closed):
        while events.next_within(0):
            pass
    for call in (lambda: stream.next_within(0), lambda: stream.batch(timeout=0)):
        with pytest.raises(ferric.errors.Closed):
            call()
    assert stream.batch() is None and list(stream) == []


def test_gil_is_released_while_waiting(ric):
    counted = 0
    running = True

    def count():
        nonlocal counted
        while running:
            counted += 1
            time.sleep(0.001)

    with ric.kpm(["CQI"], period_ms=10_000) as stream:
        thread = threading.Thread(target=count)
        thread.start()
        assert stream.next_within(0.5) is None
        running = False
        thread.join()
    assert counted > 20


def test_exception_in_a_loop_closes_the_stream(demo):
    with demo.connect() as ric:
        with pytest.raises(ZeroDivisionError):
            with ric.kpm(["CQI"], period_ms=100) as stream:
                for m in stream:
                    1 / 0
        assert list(stream) == []


def test_slow_reader_loses_its_oldest_records(ric):
    with ric.kpm(["CQI"], period_ms=10, buffer=1024) as stream:
        time.sleep(3)
        assert stream.next_within(1) is not None
        assert stream.lost > 0


def test_ctrl_c_ends_a_wait(demo):
    code = f"""
import ferric
with ferric.connect({demo.address!r}) as ric:
    stream = ric.kpm(["CQI"], period_ms=60000)
    print("waiting", flush=True)
    next(stream)
"""
    child = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert child.stdout.readline() == "waiting\n"
    child.send_signal(signal.SIGINT)
    _, errors = child.communicate(timeout=30)
    assert "KeyboardInterrupt" in errors


def test_forked_child_has_no_session(demo):
    with demo.connect() as ric:
        child = os.fork()
        if child == 0:
            try:
                ric.nodes()
            except ferric.errors.Forked:
                os._exit(0)
            os._exit(1)
        assert os.waitpid(child, 0)[1] == 0
        assert len(ric.nodes()) == 2


def test_program_may_end_without_closing():
    code = "import ferric; d = ferric.Demo(ues=1); r = d.connect(); s = r.kpm(['CQI'], period_ms=100); print(next(s).ue)"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert ended.returncode == 0 and ended.stdout.startswith("amf:"), ended.stderr


def test_scenarios_are_files_and_texts(tmp_path):
    with pytest.raises(ValueError, match="line"):
        ferric.Demo("[cell]\nnonsense = 1\n")
    with pytest.raises(OSError):
        ferric.Demo(str(tmp_path / "absent.toml"))
    with pytest.raises(ferric.errors.Invalid):
        ferric.Demo(nodes=0)
