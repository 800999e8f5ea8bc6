"""A crowd for the test server: others step while the file named by CROWD exists.

Python imports it before the app if it is on the server's PYTHONPATH.
"""

import os
import sys
import threading
import time
from pathlib import Path

FILE = Path(os.environ["CROWD"])
PASS_SECONDS = 2.0  # longer than a pass waits before it is told its place in the queue


def crowd() -> None:
    while True:
        time.sleep(0.05)
        scheduler = sys.modules.get("engine.runner.scheduler")
        if scheduler is None or not FILE.exists():
            continue
        with scheduler.SCHEDULER.turn(scheduler.Kind.STEP):
            time.sleep(PASS_SECONDS)


threading.Thread(target=crowd, name="crowd", daemon=True).start()
