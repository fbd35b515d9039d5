"""xApps for near-RT RICs: measurements, controls, and an embedded RIC with an emulated RAN.

    >>> import ferric
    >>> with ferric.Demo(ues=2) as demo, demo.connect() as ric:
    ...     for m in ric.kpm(["DRB.UEThpDl"], period_ms=100):
    ...         print(m.ue.split(":")[0], m["DRB.UEThpDl"] >= 0)
    ...         break
    amf True

`connect` opens a session with a running RIC (`make demo`, `ferric ric`); `Demo` starts one in this process. A stream of
measurements is an iterator; `ferric.aio` has the same for asyncio, and `ferric.slots` schedules cells slot by slot. docs/python.md and docs/xapp-api.md say more.
"""

from . import errors
from ._ferric import (
    A1Policies,
    A1Policy,
    Batch,
    Cell,
    Configurations,
    Demo,
    EiJob,
    EventFeed,
    HandoverRequest,
    HandoverRequests,
    HandoverRule,
    KpmStream,
    Node,
    Policy,
    Record,
    Ric,
    RrcMessage,
    RrcMessages,
    Slices,
    SlotBatch,
    SlotScheduler,
    TrafficControl,
    Ue,
    __version__,
    connect,
)
from .errors import Error

__all__ = [
    "A1Policies",
    "A1Policy",
    "Batch",
    "Cell",
    "Configurations",
    "Demo",
    "EiJob",
    "Error",
    "EventFeed",
    "HandoverRequest",
    "HandoverRequests",
    "HandoverRule",
    "KpmStream",
    "Node",
    "Policy",
    "Record",
    "Ric",
    "RrcMessage",
    "RrcMessages",
    "Slices",
    "SlotBatch",
    "SlotScheduler",
    "TrafficControl",
    "Ue",
    "__version__",
    "connect",
    "errors",
]
