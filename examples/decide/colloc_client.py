"""Asks colloc which GPUs tasks should share, with Python's standard library alone.

    colloc station serve -decide &
    python3 colloc_client.py [SOCKET]
"""

import http.client
import json
import socket
import sys
import urllib.parse


class Refused(Exception):
    """What was asked makes no sense: code, what is wrong, where, and what to do."""


class Colloc:
    """Asks at a unix socket, or at HOST:PORT with a token."""

    def __init__(self, at="/run/colloc/station.sock", timeout=60, token=""):
        self.at, self.timeout, self.token = at, timeout, token

    def connect(self):
        connection = http.client.HTTPConnection("colloc" if "/" in self.at else self.at, timeout=self.timeout)
        if "/" in self.at:
            connection.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            connection.sock.settimeout(self.timeout)
            connection.sock.connect(self.at)
        return connection

    def request(self, method, path, body=None):
        headers = {"Content-Type": "application/json"}
        if self.token:
            headers["Authorization"] = "Bearer " + self.token
        connection = self.connect()
        try:
            try:
                connection.request(method, path, body, headers)
            except (BrokenPipeError, ConnectionResetError):
                pass  # it was not read to the end, and the answer says why
            answer = connection.getresponse()
            value = json.load(answer)
        finally:
            connection.close()
        if answer.status >= 400:
            raise Refused(": ".join(value[k] for k in ("code", "where", "what", "do") if k in value))
        return value

    def ask(self, name, **body):
        return self.request("POST", "/v1/" + name, json.dumps(body))

    def tell(self, events, at_ns=None):
        """Tells a session what happened; returns the events that it does not take in."""
        clock = {} if at_ns is None else {"at_ns": at_ns}
        return self.ask("events", events=events, **clock)["refused"]

    def decide(self, at_ns=None):
        """What to do now: actions, and next_ns if something is to be decided by then."""
        return self.ask("decide", **({} if at_ns is None else {"at_ns": at_ns}))

    def why(self, job):
        return self.request("GET", "/v1/jobs/" + urllib.parse.quote(job, safe="") + "/why")


def task(name, busy, memory, **wishes):
    solo = {"gpu": "A100-40GB", "gpu_busy": busy, "mem_used": memory}
    return {"id": name, "training": {"batch_size": 32}, "solo": solo, **wishes}


def main():
    colloc = Colloc(*sys.argv[1:])
    new, old = task("new", 0.35, "6GiB"), task("old", 0.30, "5GiB", reserved="8GiB")
    gpus = [{"id": "0", "model": "A100-40GB", "residents": [old]}, {"id": "1", "model": "A100-40GB"}]
    fit = colloc.ask("fit", task=new, gpu=gpus[0])
    print("fit:", fit["fits"], "and", fit["text"].split(":")[0])
    print("best: GPU", colloc.ask("best", task=new, gpus=gpus)["gpu"])
    plan = colloc.ask("plan", tasks=[new, task("third", 0.9, "30GiB")], gpus=gpus)
    for placement in plan["placements"]:
        print("plan: GPU", placement["gpu"], [member["task"] for member in placement["members"]])
    seen = [{"task": new, "speed": 0.93, "peak": "6.5GiB"}, {"task": old, "speed": 0.95}]
    colloc.ask("observe", model="A100-40GB", mechanism="time-slicing", members=seen)
    try:
        colloc.ask("fit", task=new, gpu={"id": "0", "model": "Voodoo"})
    except Refused as e:
        print(e)


if __name__ == "__main__":
    main()
