"""One session with several RICs: programs of this tree, of which one is killed.

`scripts/python test` sets FERRIC_PROGRAM, the program `ferric`.
"""

import os
import subprocess

import pytest

import ferric

PROGRAM = os.environ.get("FERRIC_PROGRAM")
NODES = {"gnb-00101-e00", "gnb-00101-e01"}


class Ric:
    """A RIC, with its addresses for nodes and for xApps."""

    def __init__(self):
        any_port = "tcp://127.0.0.1:0"
        arguments = [PROGRAM, "ric", "--e2", any_port, "--xapp", any_port]
        self.program = subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True)
        addresses = {}
        while not {"e2", "xapp"} <= addresses.keys():
            line = self.program.stdout.readline()
            assert line, "the RIC has ended"
            name, _, address = line.strip().partition("=")
            addresses[name] = address
        self.e2, self.xapp = addresses["e2"], addresses["xapp"]

    def kill(self):
        self.program.kill()
        self.program.wait(30)


@pytest.fixture
def rics():
    """Two RICs, and two nodes that go from the first one to the second."""
    rics = [Ric(), Ric()]
    arguments = ["--nodes", "2", "--ues", "2", "--ric", rics[0].e2, "--next-ric", rics[1].e2]
    ran = subprocess.Popen([PROGRAM, "ran", *arguments])
    yield rics
    ran.kill()
    ran.wait(30)
    for ric in rics:
        ric.kill()


@pytest.mark.skipif(not PROGRAM, reason="without FERRIC_PROGRAM")
@pytest.mark.parametrize("as_variable", [False, True])
def test_streams_go_on_when_a_ric_is_killed(rics, monkeypatch, as_variable):
    addresses = [ric.xapp for ric in rics]
    monkeypatch.setenv("FERRIC_RIC", " ".join(addresses) if as_variable else "tcp://127.0.0.1:1")
    with ferric.connect(None if as_variable else addresses, name="group") as ric:
        for name in NODES:
            ric.node(name)
        assert {node.name for node in ric.nodes()} == NODES
        events, columns = ric.events(), ric.kpm(["DRB.UEThpDl"], period_ms=20, whole_node=True)
        seen, moved = set(), set()
        stream = ric.kpm(["DRB.UEThpDl"], period_ms=20)
        for m in stream:
            assert (m.ue, m.node, m.time_ns) not in seen, "it comes twice"
            seen.add((m.ue, m.node, m.time_ns))
            if m.follows_move:
                assert m.node not in moved
                moved.add(m.node)
            if len(seen) == 100:
                rics[0].kill()
            if moved == NODES and len(seen) > 400:
                break
        told = set()
        while told != NODES:
            event, node = events.next_within(60.0)
            assert event in {"node-up", "node-lost", "node-moved"}, event
            if event == "node-moved":
                told.add(node)
        marked = set()
        while marked != NODES:
            batch = columns.batch(60.0)
            assert all(0 <= at < len(batch) for at in batch.moves)
            arrays, names = batch.to_numpy(), batch.names["node"]
            marked |= {names[arrays["node"][at]] for at in batch.moves}
        assert {node.name for node in ric.nodes()} == NODES


def test_addresses_are_checked():
    with pytest.raises(ferric.errors.Invalid) as error:
        ferric.connect([])
    assert error.value.parameter == "addresses"
    with pytest.raises(ferric.errors.AddressError):
        ferric.connect(["tcp://127.0.0.1:1", "ric"])
    with pytest.raises(ferric.errors.ConnectError):
        ferric.connect(["tcp://127.0.0.1:1", "tcp://127.0.0.1:2"], timeout=0)
    with pytest.raises(TypeError):
        ferric.connect(7)
