"""Drives a session: each line on standard input is {"now": NS, "events": [...]}, each answer a line."""

import json
import sys

from colloc_client import Colloc

colloc = Colloc(sys.argv[1])
for line in sys.stdin:
    turn = json.loads(line)
    for refusal in colloc.tell(turn["events"], turn["now"]):
        if refusal["code"] not in ("conflict", "not_found"):  # twice, late, or of a job that is over
            raise SystemExit(f"refused: {refusal}")
    print(json.dumps(colloc.decide(turn["now"])), flush=True)
