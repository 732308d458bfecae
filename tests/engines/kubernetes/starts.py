"""starts.py URL KEY COUNT: starts so many action servers at one `hutch serve`, and prints the median and the slowest
of each fifty in milliseconds, from the request to the answer."""
import http.client
import json
import statistics
import sys
import time

STEP = 50


def start(connection, key, number):
    body = json.dumps({"session_id": f"s{number}", "image": "debian:12", "working_dir": "/", "environment": {},
                       "command": ["python", "-m", "openhands.runtime.action_execution_server", "8000",
                                   "--working-dir", "/workspace", "--plugins", "--username", "root",
                                   "--user-id", "0"]})
    begun = time.monotonic()
    connection.request("POST", "/start", body, {"X-API-Key": key, "Content-Type": "application/json"})
    answer = connection.getresponse()
    said = answer.read()
    if answer.status != 200:
        sys.exit(f"start {number}: {answer.status} {said.decode()}")
    return (time.monotonic() - begun) * 1000


def main():
    address, key, count = sys.argv[1].removeprefix("http://"), sys.argv[2], int(sys.argv[3])
    connection = http.client.HTTPConnection(address)
    for first in range(0, count, STEP):
        took = [start(connection, key, number) for number in range(first, min(first + STEP, count))]
        print(f"# sandboxes {first + 1} to {first + len(took)}: p50 {statistics.median(took):.1f} ms, "
              f"slowest {max(took):.1f} ms", flush=True)


main()
