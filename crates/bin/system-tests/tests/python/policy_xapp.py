"""An xApp of the O-RAN reference platform that takes A1 policies: it asks for those that are there, takes those that follow, and answers.

Nothing in it knows the RIC: it uses `ricxappframe` as it is published, which registers it by its configuration. What it has received it
prints, one line each. It ends with the first deletion.
"""

import json
import os
import queue
import sys

from ricxappframe.rmr import rmr
from ricxappframe.xapp_frame import RMRXapp

A1_POLICY_REQ, A1_POLICY_RESP, A1_POLICY_QUERY = 20010, 20011, 20012
POLICIES = queue.Queue()


def on_policy(xapp, summary, sbuf):
    policy = json.loads(summary[rmr.RMR_MS_PAYLOAD])
    is_deleted = policy["operation"] == "DELETE"
    answer = {
        "policy_type_id": policy["policy_type_id"],
        "policy_instance_id": policy["policy_instance_id"],
        "handler_id": "ts",
        "status": "DELETED" if is_deleted else "OK",
    }
    xapp.rmr_rts(sbuf, new_payload=json.dumps(answer).encode(), new_mtype=A1_POLICY_RESP)
    xapp.rmr_free(sbuf)
    print("policy", summary[rmr.RMR_MS_SUB_ID], json.dumps(policy), flush=True)
    if is_deleted:
        POLICIES.put(policy)


def on_other(xapp, summary, sbuf):
    xapp.rmr_free(sbuf)


def main():
    xapp = RMRXapp(on_other, rmr_port=int(os.environ["XAPP_RMR_PORT"]), use_fake_sdl=True)
    xapp.register_callback(on_policy, A1_POLICY_REQ)
    xapp.run(thread=True)
    if not xapp.rmr_send(json.dumps({"policy_type_id": 20008}).encode(), A1_POLICY_QUERY):
        sys.exit("the query was not sent")
    POLICIES.get(timeout=50)
    # the platform answers 204, which the framework reports as False; what is no answer it reports as a text
    print("deregistered", xapp.deregister() is False, flush=True)
    # the threads of the framework have no end of their own
    os._exit(0)


main()
