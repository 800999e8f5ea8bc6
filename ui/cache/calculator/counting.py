"""Counting the weights of models in the background: a deep one takes seconds.

Equal configurations are counted once in this process, whoever asks.
"""

from __future__ import annotations

import json
import threading
from collections import OrderedDict
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait

from engine.calculator.estimate import Estimate, estimate
from engine.calculator.sources import Described

GRACE_SECONDS = 0.3  # that a drawing waits for what is nearly done
MOST = 64  # models that are remembered

_worker = ThreadPoolExecutor(1, "weights")  # one: it needs the interpreter, as all else does
_lock = threading.Lock()
_counts: OrderedDict[tuple[str, ...], Future[Estimate]] = OrderedDict()


def counted(models: Sequence[Described]) -> list[Future[Estimate]]:
    """What is computed of each; those that are not done after a moment go on in the background."""
    found = [_count(model) for model in models]
    wait(found, timeout=GRACE_SECONDS)
    return found


def _count(model: Described) -> Future[Estimate]:
    fields = json.dumps(model.config.to_dict(), sort_keys=True, default=str)
    key = (model.name, model.source, fields, *model.notices)
    with _lock:
        if key not in _counts:
            _counts[key] = _worker.submit(estimate, model)
        _counts.move_to_end(key)
        while len(_counts) > MOST:
            _counts.popitem(last=False)
        return _counts[key]
