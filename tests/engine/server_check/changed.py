"""A real server whose requests and answers a test may change."""

from dataclasses import replace

import numpy as np

from engine.errors import ServerError

REJECTED = "{server} rejected the request ({status}): {reason}. The text is kept; try again."


class Changed:
    """A dialect that passes everything on, with changes.

    Attributes:
        drops: names of parameters that it drops from requests to draw.
        refuses: names of parameters that it refuses with status 400.
        is_silent: whether it hides which settings it used.
        hides_final: whether it hides final probabilities.
        fixed_order: whether it sorts samplers, as a server with a fixed order does.
        counters: its counters of speculation, one dictionary for each request.
        drafted: counts of speculation in its answers.
        processes: whether temperatures act on the rows that it lists.
        fails: whether requests to draw fail.
    """

    def __init__(self, inner):
        self._inner = inner
        self.drops = self.refuses = ()
        self.is_silent = self.hides_final = self.fixed_order = self.processes = False
        self.fails = False
        self.counters = None
        self.drafted = (None, None)
        self.drawn = 0

    def __getattr__(self, name):
        return getattr(self._inner, name)

    def draw(self, token_ids, settings, *, length=1, final=0):
        self.drawn += 1
        if self.fails:
            raise ServerError("{server} cannot be reached ({reason}).", ("it", "gone"))
        if any(name in settings for name in self.refuses):
            raise ServerError(REJECTED, ("it", 400, "unknown"))
        sent = {name: value for name, value in settings.items() if name not in self.drops}
        dropped = [name for name in self.drops if name in settings]
        if dropped and "samplers" in sent:  # as if the sampler were unknown
            sent |= {"samplers": ["temperature"], "temperature": 1.0}
        if self.fixed_order and "samplers" in sent:
            sent |= {"samplers": sorted(sent["samplers"], reverse=True)}
        found = self._inner.draw(token_ids, sent, length=length, final=final)
        if self.is_silent:
            found = replace(found, settings=None)
        if self.hides_final:
            found = replace(found, ids=None, probabilities=None)
        drafted, accepted = self.drafted
        return replace(found, drafted=drafted, accepted=accepted)

    def next_scores(self, token_ids, count, *, settings=None, **options):
        found = self._inner.next_scores(token_ids, count, settings=settings, **options)
        temperature = (settings or {}).get("temperature", 1.0)
        if not self.processes or temperature == 1.0:
            return found
        scaled = found.logprobs / temperature
        return replace(found, logprobs=scaled - np.log(np.exp(scaled).sum()))

    def metrics(self):
        return self._inner.metrics() if self.counters is None else self.counters.pop(0)
