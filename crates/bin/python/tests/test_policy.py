"""Policies and any control of traffic control, against the embedded RIC and RAN."""

import asyncio
import subprocess
import sys

import pytest

import ferric


@pytest.fixture(scope="module")
def demo():
    with ferric.Demo(nodes=2, ues=4) as demo:
        yield demo


@pytest.fixture
def ric(demo):
    with demo.connect(name="test") as ric:
        yield ric


def test_policy_decides_in_place_of_the_xapp():
    """While a policy is installed, nodes ask for no decision and hand no UE over; before and after they ask."""
    with ferric.Demo(nodes=2, ues=4, handovers_per_minute=600) as demo, demo.connect() as ric:
        requests = ric.handover_requests()
        assert requests.next_within(30) is not None
        with ric.policy([ferric.HandoverRule("reject")]):
            # a request that was on its way before may still come
            while requests.next_within(2) is not None:
                pass
            # the cell of a UE changes by handovers alone
            cells = {ue.name: ue.cell for ue in ric.ues()}
            assert len(cells) > 0 and requests.next_within(1) is None
            assert {ue.name: ue.cell for ue in ric.ues()} == cells
        assert requests.next_within(30) is not None


def test_policy_with_conditions_is_installed_by_name(ric):
    rules = [
        ferric.HandoverRule("reject", when=[("CQI", "less", 3), ("5QI", "not_equal", 9)]),
        ferric.HandoverRule("accept", cell=ric.cells()[0].id, when=[("SS-RSRP in dBm", "greater", -120)]),
    ]
    policy = ric.policy(rules)
    policy.close()
    policy.close()
    # nodes have room for it again
    for _ in range(10):
        with ric.policy(rules):
            pass


def test_wrong_policies_name_what_is_wrong(ric):
    with pytest.raises(ferric.errors.NotOffered) as caught:
        ric.policy([ferric.HandoverRule("reject", when=[("CQJ", "less", 3)])])
    assert caught.value.nearest[0] == "CQI" and "CQJ" in str(caught.value)
    with pytest.raises(ferric.errors.Unknown) as caught:
        ric.policy([ferric.HandoverRule(cell="00fffffff")])
    assert caught.value.code == "unknown"
    for rules in ([], [ferric.HandoverRule()] * 65):
        with pytest.raises(ferric.errors.Invalid) as caught:
            ric.policy(rules)
        assert caught.value.parameter == "rules"
    for parameter, wrong in [
        ("decision", lambda: ferric.HandoverRule("perhaps")),
        ("cell", lambda: ferric.HandoverRule(cell="nowhere")),
        ("cell", lambda: ferric.HandoverRule("reject", cell="003800001")),
        ("when", lambda: ferric.HandoverRule(when=[("CQI", "below", 3)])),
    ]:
        with pytest.raises(ferric.errors.Invalid) as caught:
            wrong()
        assert caught.value.parameter == parameter
    with pytest.raises(TypeError):
        ric.policy(["reject"])


def test_policy_is_awaited_in_asyncio(ric):
    async def install():
        policy = await asyncio.to_thread(ric.policy, [ferric.HandoverRule("accept")])
        await asyncio.to_thread(policy.close)

    asyncio.run(asyncio.wait_for(install(), 30))


def test_policy_after_the_end_of_the_session(demo):
    ric = demo.connect()
    policy = ric.policy([ferric.HandoverRule("accept")])
    ric.close()
    policy.close()
    with pytest.raises(ferric.errors.Closed):
        ric.policy([ferric.HandoverRule("accept")])


def test_every_component_of_traffic_control_is_changed(ric):
    tc = ric.nodes()[0].tc
    for component, operation, values in [
        ("queue", "add", {"kind": "codel", "target_ms": 10, "interval_ms": 50}),
        ("queue", "modify", {"id": 1, "kind": "ecn-codel"}),
        ("classifier", "add", {"queue": 1, "protocol": 17, "destination": "10.45.0.2", "destination_port": 5060}),
        ("classifier", "modify", {"id": 0, "queue": 1, "source_port": 80}),
        ("policer", "modify", {"id": 1, "drop_rate_kbps": 900}),
        ("shaper", "modify", {"id": 1, "max_rate_kbps": 5000, "window_ms": 50, "active": False}),
        ("scheduler", "modify", {"kind": "priority", "values": [1, 0]}),
        ("scheduler", "modify", {"kind": "round-robin"}),
        ("pacer", "modify", {"kind": "5g-bdp"}),
        ("pacer", "modify", {"kind": "off"}),
        ("classifier", "delete", {"id": 0}),
        ("queue", "delete", {"id": 1, "kind": "ecn-codel"}),
    ]:
        answers = tc.send(component, operation, **values)
        assert [node for node, _ in answers] == [ric.nodes()[0].name], (component, operation)
    for component, operation in [("scheduler", "add"), ("scheduler", "delete"), ("pacer", "add"), ("pacer", "delete")]:
        with pytest.raises(ferric.errors.Refused):
            tc.send(component, operation)
    with pytest.raises(ferric.errors.Refused):
        tc.send("shaper", "modify", id=99, max_rate_kbps=1)


def test_wrong_controls_of_traffic_control_name_the_parameter(ric):
    for parameter, component, operation, values in [
        ("component", "meter", "add", {}),
        ("operation", "queue", "change", {}),
        ("id", "shaper", "modify", {"max_rate_kbps": 1}),
        ("id", "shaper", "modify", {"id": -1, "max_rate_kbps": 1}),
        ("id", "shaper", "modify", {"id": "one", "max_rate_kbps": 1}),
        ("kind", "queue", "add", {"kind": "red"}),
        ("kind", "scheduler", "modify", {"kind": "lottery"}),
        ("kind", "pacer", "modify", {"kind": "on"}),
        ("source", "classifier", "add", {"queue": 0, "source": "::1"}),
        ("rate", "shaper", "modify", {"id": 0, "max_rate_kbps": 1, "rate": 2}),
    ]:
        with pytest.raises(ferric.errors.Invalid) as caught:
            ric.tc.send(component, operation, **values)
        assert caught.value.parameter == parameter, (component, operation, values)


def test_fork_in_a_thread_while_a_stream_is_open(demo):
    """The child has the thread that forked, and no session: its calls raise `Forked`. The parent's stream goes on."""
    code = f"""
import os, threading, ferric
ric = ferric.connect({demo.address!r})
stream = ric.kpm(["CQI"], period_ms=100)
policy = ric.policy([ferric.HandoverRule("accept")])
results = []

def fork():
    child = os.fork()
    if child == 0:
        try:
            for call in (ric.nodes, lambda: ric.kpm(["CQI"]), lambda: ric.policy([ferric.HandoverRule()]), lambda: ric.tc.pace(True)):
                try:
                    call()
                    os._exit(2)
                except ferric.errors.Forked:
                    pass
            policy.close()
            with ferric.connect({demo.address!r}) as own:
                os._exit(0 if len(own.nodes()) == 2 else 3)
        except BaseException as error:
            print("child:", repr(error), flush=True)
            os._exit(1)
    results.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))

reading = threading.Event()
def read():
    for m in stream:
        reading.set()

reader = threading.Thread(target=read)
reader.start()
assert reading.wait(30)
forker = threading.Thread(target=fork)
forker.start()
forker.join()
reading.clear()
assert reading.wait(30), "the parent's stream goes on"
assert len(ric.nodes()) == 2
policy.close()
ric.close()
reader.join()
print(results)
"""
    command = [sys.executable, "-W", "ignore::DeprecationWarning", "-c", code]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "[0]\n", ""), ended.stderr
