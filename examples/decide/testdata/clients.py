"""Sixteen clients tell one session of jobs at once, each job twice, while others send what no server should take.

The other session has little patience."""

import socket
import sys
import threading

from colloc_client import Colloc, Refused

(at, hasty), clients, each = sys.argv[1:], 16, 20
said = []


def refused(name, body):
    try:
        said.append(f"{name}: {Colloc(at).request('POST', '/v1/events', body)}")
    except Refused as e:
        said.append(f"{name}: {e}")


def client(number):
    colloc = Colloc(at)
    for i in range(each):
        event = {"event": "submitted", "task": {"id": f"{number}-{i}"}}
        codes = [[r["code"] for r in colloc.tell([event])] for _ in range(2)]
        if codes != [[], ["conflict"]] or colloc.why(f"{number}-{i}")["code"] != "room":
            said.append(f"client {number}: {codes}")


slow = []
for to in [hasty] + [at] * 40:  # they say that much will come, and it does not
    s = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    s.connect(to)
    s.sendall(b"POST /v1/events HTTP/1.1\r\nHost: colloc\r\nContent-Length: 50000\r\n\r\n{")
    slow.append(s)
threads = [threading.Thread(target=client, args=(n,)) for n in range(clients)]
threads.append(threading.Thread(target=refused, args=("100 MB", b" " * 100_000_000)))
threads.append(threading.Thread(target=refused, args=("100 MB of unknown length", (b" " * 1_000_000 for _ in range(100)))))
threads.append(threading.Thread(target=refused, args=("no JSON", b"hello")))
threads.append(threading.Thread(target=refused, args=("no events", b'{"events": [{"event": "nonsense"}]}')))
for t in threads:
    t.start()
for t in threads:
    t.join()
said.append("slow: " + slow[0].recv(1000).decode().rpartition("\r\n")[2].strip())
print("\n".join(sorted(said)))
