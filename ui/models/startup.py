"""Start-up of the server: import PyTorch and load the first model, in the background.

Both take seconds, so a thread does them when the server starts, and pages are available at once.
This file itself does not import PyTorch.
"""

from __future__ import annotations

import gc
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
    """The start-up of this process, which happens once.

    Attributes:
        activity: the work in progress; None once the start-up is over.
    """

    def __init__(self) -> None:
        self.activity: Activity | None = Activity(STARTING)
        self._has_begun = False
        self._ended = threading.Event()
        self._lock = threading.Lock()

    def begin(self, *imports: Callable[[], object]) -> None:
        """Start the thread, on the first call only.

        Args:
            imports: called first in the thread, to import modules that pages need.
        """
        with self._lock:
            if not self._has_begun:
                self._has_begun = True
                THREADS.do(partial(self._run, *imports))

    def _run(self, *imports: Callable[[], object]) -> None:
        try:
            gc.disable()  # a fifth of the imports' time would go to a search for garbage
            for imported in imports:
                imported()
            gc.freeze()  # modules stay, so no later collection has to walk them
            from ui.models import chooser as model_chooser

            self.activity = Activity(LOADING)
            model_chooser.preload()
        finally:  # after an error, the next visit tries again and shows it
            gc.enable()
            self.activity = None
            self._ended.set()

    @property
    def is_over(self) -> bool:
        """True if the start-up has ended, even if it failed."""
        return self._ended.is_set()

    def wait(self, told: Callable[[Activity | None], None], is_wanted: Callable[[], bool]) -> bool:
        """Wait for the start-up to end, reporting progress; return False once it is not wanted."""
        self.begin()
        while not self._ended.wait(LOOK_SECONDS):
            told(self.activity)
            if not is_wanted():
                return False
        return True


START = Start()
