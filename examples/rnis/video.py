#!/usr/bin/env python3
"""An edge application in Python, without packages: it adapts the quality of each UE's video to the UE's channel.

    ferric rnis demo --rest 127.0.0.1:8092
    examples/rnis/video.py http://127.0.0.1:8092

It subscribes at the radio network information service (ETSI MEC 012) to measurement reports of NR, receives them by HTTP, and
ends its subscription when it ends: with Ctrl-C, or after a number of seconds.
"""

import json
import signal
import sys
import threading
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

# The ladder of qualities, each with the SINR from which on it is sent, in dB.
LADDER = [("240p", float("-inf")), ("360p", 0), ("480p", 5), ("720p", 10), ("1080p", 15), ("2160p", 22)]
# The quality rises only if the SINR exceeds its limit by this much, so that it does not change with each report.
HYSTERESIS_DB = 2

quality = {}  # the place in the ladder, by the UE's address


def highest(sinr_db):
    return max(place for place, (_, least) in enumerate(LADDER) if sinr_db >= least)


def adapt(ue, sinr_db):
    """Chooses the quality for a UE. It falls at once, and rises with hysteresis."""
    before = quality.get(ue)
    chosen = highest(sinr_db)
    if before is not None and chosen > before:
        chosen = max(before, highest(sinr_db - HYSTERESIS_DB))
    if chosen != before:
        quality[ue] = chosen
        print(f"{ue} has {sinr_db:.1f} dB: video in {LADDER[chosen][0]}", flush=True)


class Notifications(BaseHTTPRequestHandler):
    """The callback: one notification in each request, answered with 204."""

    protocol_version = "HTTP/1.1"  # the service keeps its connections

    def do_POST(self):
        notification = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.send_response(204)
        self.end_headers()
        ues = notification.get("associateId", [])
        for cell in notification.get("servCellMeasInfo", [])[:1]:
            # in half decibels from -23 dB (TS 38.133 10.1.16.1)
            sinr = cell["sCell"]["measQuantityResultsSsbCell"].get("sinr")
            if ues and sinr is not None:
                adapt(ues[0]["value"], sinr / 2 - 23)

    def log_message(self, *_):
        pass


def request(method, url, body=None):
    data = None if body is None else json.dumps(body).encode()
    sent = urllib.request.Request(url, data, {"Content-Type": "application/json"}, method=method)
    with urllib.request.urlopen(sent, timeout=10) as answer:
        return json.loads(answer.read() or b"null")


def main(rnis, seconds=None):
    server = ThreadingHTTPServer(("127.0.0.1", 0), Notifications)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    created = request("POST", f"{rnis}/rni/v2/subscriptions", {
        "subscriptionType": "NrMeasRepUeSubscription",
        "callbackReference": f"http://127.0.0.1:{server.server_port}/notifications",
        "filterCriteriaNrMrs": {},
    })
    subscription = created["_links"]["self"]["href"]
    print(f"subscribed: {subscription}", flush=True)
    ended = threading.Event()
    signal.signal(signal.SIGINT, lambda *_: ended.set())
    signal.signal(signal.SIGTERM, lambda *_: ended.set())
    ended.wait(seconds)
    request("DELETE", subscription)
    print(f"unsubscribed; {len(quality)} videos", flush=True)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(f"usage: {sys.argv[0]} http://HOST:PORT [SECONDS]")
    main(sys.argv[1].rstrip("/"), float(sys.argv[2]) if len(sys.argv) > 2 else None)
