"""An xApp of the O-RAN reference platform that wants enrichment information: it asks for the types, has a job created, and takes a result.

Nothing in it knows the RIC: it uses `ricxappframe` as it is published. What it has received it prints, one line each. It ends with the first
result.
"""

import json
import os
import queue
import sys

from ricxappframe.rmr import rmr
from ricxappframe.xapp_frame import RMRXapp

A1_EI_QUERY_ALL, A1_EI_QUERY_ALL_RESP, A1_EI_CREATE_JOB, A1_EI_CREATE_JOB_RESP, A1_EI_DATA_DELIVERY = range(20013, 20018)
RESULTS = queue.Queue()


def send(xapp, payload, kind):
    if not xapp.rmr_send(payload, kind):
        sys.exit(f"a message of type {kind} was not sent")


def on_types(xapp, summary, sbuf):
    xapp.rmr_free(sbuf)
    types = json.loads(summary[rmr.RMR_MS_PAYLOAD])
    print("types", json.dumps(types), flush=True)
    job = {
        "job-id": "101",
        "eiTypeId": types[0],
        "jobOwner": "enrichment-xapp",
        "jobDefinition": {"cell": "003804001"},
        # where the mediator of the platform takes results
        "jobResultUri": "http://a1mediator:10000/data-delivery",
        "jobStatusNotificationUri": "http://a1mediator:10000/status",
    }
    send(xapp, json.dumps(job).encode(), A1_EI_CREATE_JOB)


def on_job(xapp, summary, sbuf):
    xapp.rmr_free(sbuf)
    print("job", summary[rmr.RMR_MS_PAYLOAD].decode(), flush=True)


def on_delivery(xapp, summary, sbuf):
    xapp.rmr_free(sbuf)
    print("delivery", summary[rmr.RMR_MS_SUB_ID], summary[rmr.RMR_MS_PAYLOAD].decode(), flush=True)
    RESULTS.put(summary)


def on_other(xapp, summary, sbuf):
    xapp.rmr_free(sbuf)


def main():
    xapp = RMRXapp(on_other, rmr_port=int(os.environ["XAPP_RMR_PORT"]), use_fake_sdl=True)
    xapp.register_callback(on_types, A1_EI_QUERY_ALL_RESP)
    xapp.register_callback(on_job, A1_EI_CREATE_JOB_RESP)
    xapp.register_callback(on_delivery, A1_EI_DATA_DELIVERY)
    xapp.run(thread=True)
    send(xapp, b"", A1_EI_QUERY_ALL)
    RESULTS.get(timeout=50)
    # the threads of the framework have no end of their own
    os._exit(0)


main()
