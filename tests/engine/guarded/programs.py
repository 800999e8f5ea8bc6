"""A misbehaving child process, for the tests of guarded processes."""

import os
import sys

from engine.guarded.child import Answer, serve


def answer(request: dict, data: bytes) -> Answer:
    kind = request["kind"]
    if kind == "spin":
        while True:
            pass
    if kind == "sleep":
        import time

        time.sleep(60)
    if kind == "eat":
        return {"size": len(bytes(request["bytes"]))}, b""
    if kind == "die":
        sys.exit(7)
    if kind == "abort":
        os.abort()
    if kind == "keep":
        KEPT.append(bytes(request["bytes"]))
    print("no answer")
    os.write(1, b"no answer either")
    return {"process": os.getpid()}, data[::-1]


KEPT: list[bytes] = []

if __name__ == "__main__":
    serve(answer)
