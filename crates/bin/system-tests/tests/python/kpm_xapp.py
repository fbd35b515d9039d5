"""An xApp of the O-RAN reference platform: it finds a node, subscribes to KPM, receives indications, sends a control, and unsubscribes.

Nothing in it knows the RIC: it uses `ricxappframe` and `requests` as they are published. Settings are environment variables; what it
has found out it prints, one line each.
"""

import json
import os
import sys
import threading
import time

import requests
import ricxappframe.xapp_rest as ricrest
import ricxappframe.xapp_subscribe as subscribe
from ricxappframe.rmr import rmr
from ricxappframe.xapp_frame import RMRXapp

RIC_CONTROL_REQ, RIC_CONTROL_ACK, RIC_CONTROL_FAILURE, RIC_INDICATION = 12040, 12041, 12042, 12050
PLATFORM = os.environ["PLATFORM"]
NOTIFIED, INDICATED, CONTROLLED = threading.Event(), threading.Event(), threading.Event()
FOUND = {}


def on_notification(name, path, data, ctype):
    FOUND["notification"] = json.loads(data)
    NOTIFIED.set()
    response = ricrest.initResponse()
    response["payload"] = "{}"
    return response


def on_indication(xapp, summary, sbuf):
    if "indication" not in FOUND:
        FOUND["indication"] = summary
        INDICATED.set()
    xapp.rmr_free(sbuf)


def on_control_answer(xapp, summary, sbuf):
    FOUND["control"] = summary[rmr.RMR_MS_MSG_TYPE]
    CONTROLLED.set()
    xapp.rmr_free(sbuf)


def on_other(xapp, summary, sbuf):
    xapp.rmr_free(sbuf)


def await_event(event, what):
    if not event.wait(20):
        sys.exit("no " + what)


def main():
    http_port, rmr_port = int(os.environ["XAPP_HTTP_PORT"]), int(os.environ["XAPP_RMR_PORT"])
    # it waits until RMR has a route table
    xapp = RMRXapp(on_other, rmr_port=rmr_port, use_fake_sdl=True)
    xapp.register_callback(on_indication, RIC_INDICATION)
    xapp.register_callback(on_control_answer, RIC_CONTROL_ACK)
    xapp.register_callback(on_control_answer, RIC_CONTROL_FAILURE)
    xapp.run(thread=True)

    nodes = requests.get(PLATFORM + "/v1/nodeb/states", timeout=10).json()
    node = [node["inventoryName"] for node in nodes if node["connectionStatus"] == "CONNECTED"][0]

    server = ricrest.ThreadedHTTPServer("127.0.0.1", http_port)
    server.start()
    subscriber = subscribe.NewSubscriber(PLATFORM + "/ric/v1", local_address="127.0.0.1", local_port=http_port, rmr_port=rmr_port)
    subscriber.ResponseHandler(on_notification, server)
    subsequent = subscriber.SubsequentAction("continue", "w10ms")
    action = subscriber.ActionToBeSetup(1, "report", tuple(bytes.fromhex(os.environ["KPM_ACTION"])), subsequent)
    detail = subscriber.SubscriptionDetail(12110, tuple(bytes.fromhex(os.environ["KPM_TRIGGER"])), [action])
    endpoint = subscriber.SubscriptionParamsClientEndpoint("127.0.0.1", http_port, rmr_port)
    params = subscriber.SubscriptionParams(None, endpoint, node, int(os.environ["KPM_FUNCTION"]), None, [detail])
    data, _, status = subscriber.Subscribe(params)
    subscription = json.loads(data)["SubscriptionId"]
    print("subscribed", status, subscription)
    await_event(NOTIFIED, "notification")
    instance = FOUND["notification"]["SubscriptionInstances"][0]
    print("notified", instance["XappEventInstanceId"], instance["E2EventInstanceId"])

    await_event(INDICATED, "indication")
    summary = FOUND["indication"]
    print("indication", summary[rmr.RMR_MS_SUB_ID], summary[rmr.RMR_MS_MEID].decode(), summary[rmr.RMR_MS_PAYLOAD].hex())
    if summary[rmr.RMR_MS_SUB_ID] != instance["E2EventInstanceId"]:
        sys.exit("the indication belongs to another subscription")

    control = bytes.fromhex(os.environ["CONTROL"])
    sbuf = rmr.rmr_alloc_msg(
        xapp._mrc, len(control), payload=control, gen_transaction_id=True, mtype=RIC_CONTROL_REQ, meid=node.encode(), sub_id=1
    )
    sbuf = rmr.rmr_send_msg(xapp._mrc, sbuf)
    if sbuf.contents.state != rmr.RMR_OK:
        sys.exit("the control was not sent: %d" % sbuf.contents.state)
    rmr.rmr_free_msg(sbuf)
    await_event(CONTROLLED, "answer to the control")
    print("control", FOUND["control"])

    _, _, status = subscriber.UnSubscribe(subscription)
    print("unsubscribed", status)
    print("done", flush=True)
    time.sleep(0.2)
    # the threads of the framework have no end of their own
    os._exit(0)


main()
