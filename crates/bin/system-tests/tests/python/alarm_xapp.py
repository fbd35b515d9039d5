"""Raises and clears alarms by the alarm library of ricxappframe, as it is."""

import os
import time

from ricxappframe.alarm import alarm
from ricxappframe.rmr import rmr

context = rmr.rmr_init(os.environ["XAPP_RMR_PORT"].encode(), rmr.RMR_MAX_RCV_BYTES, 0)
end = time.monotonic() + 20
while rmr.rmr_ready(context) == 0:
    assert time.monotonic() < end, "RMR is not ready"
    time.sleep(0.05)
manager = alarm.AlarmManager(context, "RIC", "alarm-xapp")
one = manager.create_alarm(8006, alarm.AlarmSeverity.MAJOR, "one", "the first")
two = manager.create_alarm(8006, alarm.AlarmSeverity.CRITICAL, "two")
assert manager.raise_alarm(one)
assert manager.raise_alarm(one), "it is one alarm"
assert manager.raise_alarm(two)
assert manager.reraise_alarm(one)
assert manager.clear_all_alarms()
time.sleep(0.5)
rmr.rmr_close(context)
