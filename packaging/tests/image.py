"""The configuration of an image fits to its root file system: image.py INSPECTED ROOT."""

import json
import os
import stat
import sys

inspected = json.load(open(sys.argv[1]))
root = sys.argv[2]
image = inspected["Docker"]["config"]
assert image["User"] == "65532:65532", image["User"]
assert image["Entrypoint"] == ["/usr/bin/ferric"], image["Entrypoint"]
assert image["Cmd"] == ["ric", "--config", "/etc/ferric/ric.toml"], image["Cmd"]
assert sorted(image["ExposedPorts"]) == ["36421/sctp", "36421/tcp", "36423/tcp", "8080/tcp"], image["ExposedPorts"]
check = image["Healthcheck"]["Test"]
assert check == ["CMD", "/usr/bin/ferric", "doctor", "--rest", "http://127.0.0.1:8080", "--patience", "3"], check
for path in ["/usr/bin/ferric", "/etc/ferric/ric.toml", "/usr/share/doc/ferric/LICENSE", "/usr/share/doc/ferric/third-party.txt"]:
    mode = os.stat(root + path).st_mode
    assert mode & stat.S_IROTH and not mode & stat.S_IWOTH, path
