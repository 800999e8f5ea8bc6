"""The models in this process: each is held once, however many visitors use it."""

from __future__ import annotations

import gc
import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from pathlib import Path
from typing import TYPE_CHECKING
from weakref import WeakValueDictionary, finalize

from engine.errors import DecodingError
from ui.visits.visits import memory_was_freed

if TYPE_CHECKING:
    from engine.model import LanguageModel

# Number of unused models that stay, those asked for last: a page that is reloaded finds its model
# here.
KEPT = 1
LOOK_SECONDS = 0.2  # between two looks at a load in another thread


class _UnderWay:
    """A load that others wait for."""

    def __init__(self) -> None:
        self.ended = threading.Event()
        self.model: LanguageModel | None = None
        self.failure: DecodingError | None = None


class SharedModels:
    """Models by their source and revision.

    A model that any visitor still has is found again, whatever was loaded since. Weights are the
    largest objects in memory, and a second copy may be one too many. Only this object holds models
    for all, so a browser's message cannot empty it.
    """

    def __init__(self, kept: int = KEPT) -> None:
        self._most = kept
        self._alive: WeakValueDictionary[Hashable, LanguageModel] = WeakValueDictionary()
        self._kept: OrderedDict[Hashable, LanguageModel] = OrderedDict()
        self._loading: dict[Hashable, _UnderWay] = {}
        self._lock = threading.Lock()

    def get(
        self,
        source: str,
        revision: str | None,
        load: Callable[[], LanguageModel],
        waiting: Callable[[], None] = lambda: None,
    ) -> LanguageModel:
        """Return the model of a folder or a hub id; `load` is called if it is not here.

        Args:
            source, revision: the origin of the model; a folder counts as the same however its path
                is written.
            load: makes the model; other callers who want it wait.
            waiting: called now and then during another caller's load; its exceptions end the wait.

        Raises:
            DecodingError: `load` raised it, in this or another thread.
        """
        name = _name(source, revision)
        while True:
            with self._lock:
                model = self._alive.get(name)
                if model is not None:
                    self._keep(name, model)
                    return model
                others = self._loading.get(name)
                if others is None:
                    mine = self._loading[name] = _UnderWay()
            if others is None:
                return self._loaded(name, mine, load)
            while not others.ended.wait(LOOK_SECONDS):
                waiting()
            if others.failure is not None:
                raise others.failure
            if others.model is not None:
                return others.model
            # The other caller gave up, for its own reasons: begin again.

    def _loaded(
        self, name: Hashable, mine: _UnderWay, load: Callable[[], LanguageModel]
    ) -> LanguageModel:
        try:
            gc.collect()  # free unused weights before loading others
            model = mine.model = load()
            finalize(model, memory_was_freed).atexit = False
            with self._lock:
                self._alive[name] = model
                self._keep(name, model)
            return model
        except DecodingError as error:
            mine.failure = error
            raise
        finally:
            with self._lock:
                del self._loading[name]
            mine.ended.set()

    def _keep(self, name: Hashable, model: LanguageModel) -> None:
        self._kept[name] = model
        self._kept.move_to_end(name)
        while len(self._kept) > self._most:
            self._kept.popitem(last=False)

    def give_back(self) -> bool:
        """Release unused models, as memory has run out; return False if there are none."""
        with self._lock:
            before = len(self._alive)
            self._kept.clear()
            gc.collect()
            return len(self._alive) < before

    def forget(self) -> None:
        """Forget all models, so that each is loaded again when next asked for; users keep them."""
        with self._lock:
            self._alive.clear()
            self._kept.clear()


def _name(source: str, revision: str | None) -> Hashable:
    return (os.path.realpath(source), None) if Path(source).is_dir() else (source, revision)
