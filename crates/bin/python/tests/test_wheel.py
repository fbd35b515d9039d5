"""The wheel as a new user has it: an empty virtual environment, and the eight lines against programs of this tree.

`scripts/python test` sets FERRIC_WHEEL, the wheel, and FERRIC_PROGRAM, the program `ferric`.
"""

import os
import pathlib
import re
import select
import subprocess
import sys
import time

import pytest

ROOT = pathlib.Path(__file__).parents[4]
WHEEL, PROGRAM = os.environ.get("FERRIC_WHEEL"), os.environ.get("FERRIC_PROGRAM")

pytestmark = pytest.mark.skipif(not WHEEL or not PROGRAM, reason="without FERRIC_WHEEL and FERRIC_PROGRAM")


@pytest.fixture(scope="module")
def python(tmp_path_factory):
    """The Python of an environment that has nothing but the wheel."""
    folder = tmp_path_factory.mktemp("empty")
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    subprocess.run([folder / "bin/pip", "install", "--quiet", "--no-index", "--no-deps", WHEEL], check=True)
    return folder / "bin/python"


@pytest.fixture(scope="module")
def ric():
    """The address for xApps of a running RIC with a RAN."""
    any_port = "tcp://127.0.0.1:0"
    ric = subprocess.Popen([PROGRAM, "ric", "--e2", any_port, "--xapp", any_port], stdout=subprocess.PIPE, text=True)
    ran = None
    try:
        addresses = {}
        while not {"e2", "xapp"} <= addresses.keys():
            line = ric.stdout.readline()
            assert line, "the RIC has ended"
            name, _, address = line.strip().partition("=")
            addresses[name] = address
        ran = subprocess.Popen([PROGRAM, "ran", "--ric", addresses["e2"], "--ues", "4"])
        yield addresses["xapp"]
    finally:
        for program in filter(None, (ran, ric)):
            program.terminate()
            program.wait(30)


def eight_lines():
    """The first example in Python of the README."""
    return re.search(r"```python\n(import ferric\n.*?)```", (ROOT / "README.md").read_text(), re.DOTALL).group(1)


def test_eight_lines_of_the_readme_print_kpis(python, ric, tmp_path):
    (tmp_path / "xapp.py").write_text(eight_lines())
    assert eight_lines().count("\n") <= 8
    environment = {**os.environ, "FERRIC_RIC": ric, "PYTHONUNBUFFERED": "1"}
    environment.pop("PYTHONPATH", None)
    xapp = subprocess.Popen([python, "xapp.py"], cwd=tmp_path, env=environment, stdout=subprocess.PIPE, text=True)
    try:
        for _ in range(8):
            assert select.select([xapp.stdout], [], [], 60)[0], "no line in a minute"
            seconds, ue, kbps = xapp.stdout.readline().split()
            assert abs(float(seconds) - time.time()) < 120 and ue.startswith("amf:") and float(kbps) >= 0
    finally:
        xapp.kill()
        xapp.wait()


def test_xapp_that_is_killed_leaves_the_ric_to_others(python, ric):
    """A notebook whose kernel is closed."""
    code = "import ferric; r = ferric.connect(); s = r.kpm(['CQI'], period_ms=100); print(next(s).ue, flush=True); list(s)"
    environment = {**os.environ, "FERRIC_RIC": ric}
    environment.pop("PYTHONPATH", None)
    for _ in range(2):
        xapp = subprocess.Popen([python, "-c", code], env=environment, stdout=subprocess.PIPE, text=True)
        assert xapp.stdout.readline().startswith("amf:")
        xapp.kill()
        xapp.wait()


def test_what_needs_numpy_says_so(python, ric):
    """Records need no other package; columns name the one that is missing."""
    code = "import ferric; r = ferric.connect(); s = r.kpm(['CQI'], period_ms=100); print(len(s.batch()) > 0); s.batch()['CQI']"
    environment = {**os.environ, "FERRIC_RIC": ric}
    environment.pop("PYTHONPATH", None)
    ended = subprocess.run([python, "-c", code], env=environment, capture_output=True, text=True, timeout=60)
    assert ended.stdout == "True\n" and ended.returncode == 1
    assert "numpy" in ended.stderr
