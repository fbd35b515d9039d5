"""A1 over the RIC-xApp protocol: policies, and enrichment information of a service that has the published interface.

`scripts/python test` sets FERRIC_PROGRAM, the program `ferric`.
"""

import http.server
import json
import os
import subprocess
import threading
import time
import urllib.request

import pytest

import ferric

PROGRAM = os.environ.get("FERRIC_PROGRAM")

pytestmark = pytest.mark.skipif(not PROGRAM, reason="without FERRIC_PROGRAM")

TYPE = "/A1-P/v2/policytypes/20008"


class NonRtRic(http.server.BaseHTTPRequestHandler):
    """Stands for a non-RT RIC: one type, and jobs that it keeps."""

    jobs = {}

    def answer(self, status, document):
        body = json.dumps(document).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        types = {"/A1-EI/v1/eitypes": ["load"], "/A1-EI/v1/eitypes/load": {}}
        self.answer(200 if self.path in types else 404, types.get(self.path, {}))

    def do_PUT(self):
        self.jobs[self.path] = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.answer(201, {})

    def do_DELETE(self):
        self.jobs.pop(self.path, None)
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_):
        pass


@pytest.fixture(scope="module")
def ric():
    """The addresses of a running RIC."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), NonRtRic)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    any_port = "tcp://127.0.0.1:0"
    non_rt_ric = f"http://127.0.0.1:{server.server_port}"
    command = [PROGRAM, "ric", "--e2", any_port, "--xapp", any_port, "--rest", "127.0.0.1:0", "--non-rt-ric", non_rt_ric]
    ric = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        addresses = {}
        while not {"xapp", "rest"} <= addresses.keys():
            line = ric.stdout.readline()
            assert line, "the RIC has ended"
            name, _, address = line.strip().partition("=")
            addresses[name] = address
        yield addresses
    finally:
        ric.terminate()
        ric.wait(30)
        server.shutdown()


def send(method, url, document=None):
    body = None if document is None else json.dumps(document).encode()
    request = urllib.request.Request(url, body, {"Content-Type": "application/json"}, method=method)
    with urllib.request.urlopen(request, timeout=30) as response:
        return json.loads(response.read() or "null")


def await_status(rest, expected):
    end = time.monotonic() + 20
    while send("GET", f"{rest}{TYPE}/policies/one/status")["enforceStatus"] != expected:
        assert time.monotonic() < end, "the status is not fed back"
        time.sleep(0.02)


def test_policy_is_taken_and_its_status_fed_back(ric):
    rest = ric["rest"]
    schema = {"type": "object", "properties": {"threshold": {"type": "integer"}}}
    send("PUT", rest + TYPE, {"name": "t", "description": "d", "policy_type_id": 20008, "create_schema": schema})
    send("PUT", f"{rest}{TYPE}/policies/one", {"threshold": 5})
    with ferric.connect(ric["xapp"], name="ts") as xapp, xapp.a1_policies(20008) as policies:
        policy = policies.next_within(20)
        assert (policy.operation, policy.policy_type, policy.id) == ("create", 20008, "one")
        assert policy.policy == {"threshold": 5}
        policy.accept()
        await_status(rest, "ENFORCED")
        send("PUT", f"{rest}{TYPE}/policies/one", {"threshold": 6})
        policy = policies.next_within(20)
        assert (policy.operation, policy.policy) == ("update", {"threshold": 6})
        policy.refuse()
        await_status(rest, "NOT_ENFORCED")
        policy.accept()
        await_status(rest, "ENFORCED")
    await_status(rest, "NOT_ENFORCED")  # the xApp is gone


def test_result_of_a_job_arrives(ric):
    with ferric.connect(ric["xapp"], name="reader") as xapp:
        assert xapp.ei_types() == ["load"]
        with xapp.ei_job("job-1", "load", {"cell": "003804001"}) as job:
            assert job.next_within(20) == ("established", None)
            (document,) = NonRtRic.jobs.values()
            assert document["jobDefinition"] == {"cell": "003804001"} and document["eiTypeId"] == "load"
            send("POST", document["jobResultUri"], {"load": 7})
            assert job.next_within(20) == ("result", {"load": 7})
            send("POST", document["jobStatusNotificationUri"], {"eiJobStatus": "DISABLED"})
            assert job.next_within(20) == ("disabled", None)
        end = time.monotonic() + 20
        while NonRtRic.jobs:
            assert time.monotonic() < end, "the job is not deleted"
            time.sleep(0.02)
        with xapp.ei_job("job-2", "other", {}) as job:
            word, reason = job.next_within(20)
            assert word == "refused" and "other" in reason
