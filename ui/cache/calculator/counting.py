"""Counting the weights of models in the background: a deep one takes seconds.

Equal configurations are counted once in this process, whoever asks.
"""

from __future__ import annotations

import json
import threading
import time
from collections import OrderedDict
from collections.abc import Sequence
from functools import partial

from engine.calculator.estimate import Estimate, estimate
from engine.calculator.sources import Described
from ui.jobs import COUNTS, UNKNOWN, Call, Owner

GRACE_SECONDS = 0.3  # that a drawing waits for what is nearly done
MOST = 64  # models that are remembered

_lock = threading.Lock()
_counts: OrderedDict[tuple[str, ...], Call[Estimate]] = OrderedDict()


def counted(models: Sequence[Described], owner: Owner = UNKNOWN) -> list[Call[Estimate]]:
    """What is computed of each; those that are not done after a moment go on in the background."""
    found = [_count(model, owner) for model in models]
    end = time.monotonic() + GRACE_SECONDS
    for count in found:
        count.wait(max(0.0, end - time.monotonic()))
    return found


def _count(model: Described, owner: Owner) -> Call[Estimate]:
    fields = json.dumps(model.config.to_dict(), sort_keys=True, default=str)
    key = (model.name, model.source, fields, *model.notices)
    with _lock:
        if key not in _counts:
            count = Call("", partial(estimate, model), COUNTS, is_told=False)
            _counts[key] = count.start(owner)
        _counts.move_to_end(key)
        while len(_counts) > MOST:
            _counts.popitem(last=False)
        return _counts[key]
