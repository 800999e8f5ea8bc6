"""The models in this process: each is in memory once, however many visitors use it."""

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

# Number of recently requested models to keep in memory even when unused, so that a reloaded page
# finds its model.
KEPT = 1
LOOK_SECONDS = 0.2  # between two calls of `waiting` during a load in another thread


class _UnderWay:
    """A load in progress, and its outcome for the threads that wait for it."""

    def __init__(self) -> None:
        self.ended = threading.Event()
        self.model: LanguageModel | None = None
        self.failure: DecodingError | None = None


class SharedModels:
    """Loaded models by source and revision, shared by all visitors.

    A model that any visitor still uses is never loaded twice, whatever was loaded since. Weights
    are the largest objects in memory, and a second copy may not fit. No message from a browser can
    empty this cache.
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
        is_valid: Callable[[LanguageModel], bool] = lambda model: True,
    ) -> LanguageModel:
        """Return the model from a folder or the hub; calls `load` if it is not in memory.

        Args:
            source, revision: the origin of the model; different paths to a folder are equivalent.
            load: loads the model; other callers who want the same model wait.
            waiting: called repeatedly during another caller's load; its exceptions end the wait.
            is_valid: returns False for a model that must be loaded again.

        Raises:
            DecodingError: `load` raised it, in this or another thread.
        """
        name = _name(source, revision)
        while True:
            with self._lock:
                model = self._alive.get(name)
                if model is not None and is_valid(model):
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
            # The other caller gave up for its own reasons, so try again.

    def _loaded(
        self, name: Hashable, mine: _UnderWay, load: Callable[[], LanguageModel]
    ) -> LanguageModel:
        try:
            if self._kept:
                gc.collect()  # free unused weights before loading new ones
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
        """Release unused models when memory is short; return False if there were none."""
        with self._lock:
            before = len(self._alive)
            self._kept.clear()
            gc.collect()
            return len(self._alive) < before

    def forget(self) -> None:
        """Forget all models, so that the next request loads them again; users keep theirs."""
        with self._lock:
            self._alive.clear()
            self._kept.clear()


def _name(source: str, revision: str | None) -> Hashable:
    return (os.path.realpath(source), None) if Path(source).is_dir() else (source, revision)
