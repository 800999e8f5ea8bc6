"""Start-up of the server, before anyone can decode: import PyTorch, load the first model.

Both take seconds, so they are done in a thread as the server starts. Pages are available during
that time. This file imports neither.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial

from ui.jobs import THREADS
from ui.server.websocket import Activity
from ui.words.language import marked

STARTING = marked("Starting PyTorch")
LOADING = marked("Loading the model")
LOOK_SECONDS = 0.1


class Start:
    """The one start of this process.

    Attributes:
        activity: the work in progress; None once the start is over.
    """

    def __init__(self) -> None:
        self.activity: Activity | None = Activity(STARTING)
        self._has_begun = False
        self._ended = threading.Event()
        self._lock = threading.Lock()

    def begin(self, *imports: Callable[[], object]) -> None:
        """Begin in a thread, once.

        Args:
            imports: called there first, to import other modules that pages need.
        """
        with self._lock:
            if not self._has_begun:
                self._has_begun = True
                THREADS.do(partial(self._run, *imports))

    def _run(self, *imports: Callable[[], object]) -> None:
        try:
            for imported in imports:
                imported()
            from ui.models import chooser as model_chooser

            self.activity = Activity(LOADING)
            model_chooser.preload()
        finally:  # the next visitor tries again, and sees the error
            self.activity = None
            self._ended.set()

    @property
    def is_over(self) -> bool:
        """Return whether the start-up has ended, even if it failed."""
        return self._ended.is_set()

    def wait(self, told: Callable[[Activity | None], None], is_wanted: Callable[[], bool]) -> bool:
        """Wait until it is over, reporting progress; return False if it is no longer wanted."""
        self.begin()
        while not self._ended.wait(LOOK_SECONDS):
            told(self.activity)
            if not is_wanted():
                return False
        return True


START = Start()
