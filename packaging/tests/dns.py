"""A DNS server for one name, on port 53 of a loopback address: dns.py NAME ADDRESS (RFC 1035)."""

import ipaddress
import socket
import struct
import sys

name, address = sys.argv[1].encode(), ipaddress.IPv4Address(sys.argv[2])
labels = b"".join(bytes([len(label)]) + label for label in name.split(b".")) + b"\0"
server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
server.bind(("127.0.0.1", 53))
while True:
    query, client = server.recvfrom(512)
    end = query.index(b"\0", 12) + 5
    question = query[12:end]
    is_known = question[:-4].lower() == labels
    is_address = question[-4:] == struct.pack(">HH", 1, 1)
    answers = b""
    if is_known and is_address:
        answers = struct.pack(">HHHIH", 0xC00C, 1, 1, 60, 4) + address.packed
    # a response, recursion available; 3: no such name
    flags = 0x8180 if is_known else 0x8183
    header = query[:2] + struct.pack(">HHHHH", flags, 1, 1 if answers else 0, 0, 0)
    server.sendto(header + question + answers, client)
