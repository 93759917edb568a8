"""A scheduler in Python that leaves to colloc who starts where: it plays a day.

    colloc decide -socket s &
    python3 scheduler.py s DAY.json

DAY.json holds {"gpus": [...], "jobs": [{"at_ns": ..., "length_ns": ..., "job": EVENT}, ...]}. A real one
starts processes where this one puts an end into a heap, and takes the time of its clock.
"""

import heapq
import json
import sys

from colloc_client import Colloc


def play(colloc, day):
    lengths = {j["job"]["task"]["id"]: j["length_ns"] for j in day["jobs"]}
    future = [(j["at_ns"], i, j["job"]) for i, j in enumerate(day["jobs"])]
    heapq.heapify(future)
    told, now, order = [{"event": "gpu_added", "card": gpu} for gpu in day["gpus"]], 0, len(future)
    while future or told:
        while future and future[0][0] <= now:
            told.append(heapq.heappop(future)[2])
        for refusal in colloc.tell(told, now):
            raise SystemExit(f"refused: {refusal}")
        answer, told = colloc.decide(now), []
        for action in answer["actions"]:
            if action["verb"] != "start":
                raise SystemExit(f"nobody here is stopped: {action}")
            print(now, action["job"], *action["gpus"])
            run = {"job": action["job"], "run": action["run"]}
            told.append({"event": "started", **run})
            heapq.heappush(future, (now + lengths[action["job"]], order, {"event": "ended", "how": "done", **run}))
            order += 1
        if not told and future:
            now = max(now, min([future[0][0]] + [t for t in (answer.get("next_ns"),) if t is not None]))


if __name__ == "__main__":
    with open(sys.argv[2], encoding="utf-8") as file:
        play(Colloc(sys.argv[1]), json.load(file))
