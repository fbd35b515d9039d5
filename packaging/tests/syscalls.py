"""The system calls of a program are those that its unit allows: syscalls.py UNIT TRACE. TRACE is what `strace -f` has written."""

import pathlib
import re
import subprocess
import sys

unit, trace = (pathlib.Path(name).read_text() for name in sys.argv[1:])

groups = {}
for line in subprocess.check_output(["systemd-analyze", "syscall-filter", "--no-pager"], text=True).splitlines():
    if line.startswith("@"):
        group = groups.setdefault(line.strip(), [])
    elif line.strip() and not line.strip().startswith("#") and line.startswith(" "):
        group.append(line.strip())


def expand(names):
    """The system calls of names and groups."""
    return {call for name in names for call in (expand(groups[name]) if name.startswith("@") else [name])}


allowed = set()
for names in re.findall(r"^SystemCallFilter=(.*)$", unit, re.MULTILINE):
    if names.startswith("~"):
        allowed -= expand(names[1:].split())
    else:
        allowed |= expand(names.split())
used = set(re.findall(r"^\d+ +([a-z_0-9]+)\(", trace, re.MULTILINE))
assert len(used) > 20 and {"epoll_wait", "epoll_pwait", "epoll_pwait2"} & used, f"no trace of a RIC: {sorted(used)}"
# the reaction to a denied call is EPERM, which these tolerate: the limit of open files is set by the unit
tolerated = {"setrlimit"}
denied = used - allowed - tolerated
assert not denied, f"the unit denies {sorted(denied)}"
print(f"system calls: {len(used)} are used, all are allowed")
