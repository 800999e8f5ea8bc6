"""Records on disk: small databases in a folder of the person who runs the app.

    DECODING_VISITS=path/to/folder   another folder
    DECODING_VISITS=off              nothing on disk: records end with the app

A record is JSON, packed; a visit's token is not in the file, only its digest. What is oldest goes
first where there is too much, and after some time everything. A file that cannot be written or
read is said once, in the log and on the pages, and stops nobody: see `Keeper.problem`.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import sqlite3
import sys
import threading
import time
import zlib
from pathlib import Path
from typing import Any

NAME = "visits.sqlite3"
VARIABLE = "DECODING_VISITS"
OFF = "off"
MOST_BYTES = 64 * 2**20  # of all records
MOST_RECORD = 2 * 2**20  # of one, packed
MOST_WAITING = 32 * 2**20  # of all that wait in memory, as while the disk is full
MOST_UNPACKED = 64 * 2**20
MOST_SECONDS = 14 * 86_400.0  # that a record stays which nobody changes, unless a keeper says so
COLUMNS = ("visit", "page", "changed", "bytes", "data")
BUSY_SECONDS = 0.5  # that a locked file is waited for, in the thread that writes
RETRY_SECONDS = 30.0  # after it could not be written
_log = logging.getLogger(__name__)


class Keeper:
    """The records of all visits, or of all persons, in one file.

    Args:
        folder: where the file lies, or is made; None keeps records in memory alone.
        name: of the file.
        most_seconds: that a record stays which nobody changes.

    Attributes:
        problem: why nothing can be kept just now, for a person to read; empty if it can.
    """

    def __init__(
        self, folder: Path | None, name: str = NAME, most_seconds: float = MOST_SECONDS
    ) -> None:
        self._file = None if folder is None else folder / name
        self._most_seconds = most_seconds
        self._lock = threading.RLock()
        self._waiting: dict[tuple[str, str], bytes] = {}  # packed, by digest and page
        self._connection: sqlite3.Connection | None = None
        self._not_before = 0.0
        self.problem = ""

    @property
    def is_on_disk(self) -> bool:
        """Whether records are to outlive the app."""
        return self._file is not None

    # --- reading ----------------------------------------------------------------------------------

    def records(self, token: str) -> tuple[dict[str, dict[str, Any]], list[str]]:
        """The records of a visit by page, and sentences on those that cannot be used."""
        found, problems = {}, []
        digest = _digest(token)
        with self._lock:
            rows = dict(self._run("SELECT page, data FROM records WHERE visit = ?", digest) or [])
            rows |= {page: data for (visit, page), data in self._waiting.items() if visit == digest}
        for page, data in rows.items():
            record = _unpacked(data)
            if record is None:
                problems.append(
                    f"What was kept of the page {page} cannot be read, so it begins anew."
                )
            else:
                found[page] = record
        return found, problems

    def reaches_file(self) -> bool:
        """Whether the file can be read just now; else `problem` says why not."""
        with self._lock:
            return self._run("SELECT 1") is not None

    # --- writing ----------------------------------------------------------------------------------

    def put(self, token: str, page: str, record: dict[str, Any]) -> str:
        """Take a record to be written with the next `write`; a sentence where it is too large."""
        data = zlib.compress(json.dumps(record, separators=(",", ":")).encode(), 6)
        if len(data) > MOST_RECORD:
            return (
                f"There is too much on the page {page} to be kept ({len(data):,} bytes), so what "
                "is new there is lost when the app is started again."
            )
        with self._lock:
            self._waiting.pop((_digest(token), page), None)
            self._waiting[_digest(token), page] = data  # the newest, last
            total = sum(map(len, self._waiting.values()))
            dropped = 0
            while total > MOST_WAITING and len(self._waiting) > 1:
                total -= len(self._waiting.pop(next(iter(self._waiting))))
                dropped += 1
        if dropped:
            _log.warning(
                "%d records wait no longer to be written, as all that wait take more than %d MiB; "
                "make room on the disk.",
                dropped,
                MOST_WAITING // 2**20,
            )
        return ""

    def write(self) -> None:
        """Write what waits, and forget what is too old or too much."""
        with self._lock:
            waiting = dict(self._waiting)
            if not waiting or time.monotonic() < self._not_before:
                return
            now = time.time()
            rows = [(visit, page, now, len(data), data) for (visit, page), data in waiting.items()]
            if self._write(rows):
                self._waiting = {
                    key: data for key, data in self._waiting.items() if waiting.get(key) is not data
                }

    def forget(self, token: str) -> bool:
        """Delete all records of a visit; False, and `problem`, where the file cannot be written."""
        digest = _digest(token)
        with self._lock:
            for key in [key for key in self._waiting if key[0] == digest]:
                del self._waiting[key]
            try:
                connection = self._connected()
                with connection:
                    connection.execute("DELETE FROM records WHERE visit = ?", (digest,))
            except (sqlite3.Error, OSError) as error:
                self._give_up(error)
                return False
        return True

    def _write(self, rows: list[tuple]) -> bool:
        try:
            connection = self._connected()
            with connection:
                connection.executemany(
                    "INSERT OR REPLACE INTO records VALUES (?, ?, ?, ?, ?)", rows
                )
                self._forget_old(connection)
        except (sqlite3.Error, OSError) as error:
            self._give_up(error)
            return False
        self.problem = ""
        return True

    def _run(self, query: str, *values: object) -> list[tuple] | None:
        try:
            return self._connected().execute(query, values).fetchall()
        except (sqlite3.Error, OSError) as error:
            self._give_up(error)
            return None

    def _give_up(self, error: Exception) -> None:
        """Say what is wrong, once, and try again later."""
        self._not_before = time.monotonic() + RETRY_SECONDS
        if self._connection is not None:
            self._connection.close()
            self._connection = None
        self._announce(
            f"Your work cannot be kept on disk just now ({error}), so it is lost when the app is "
            f"started again. Whoever runs the app can make room in {self._file.parent}, or name "
            f"another folder: {VARIABLE}=path/to/folder"
        )
        damaged = isinstance(error, sqlite3.DatabaseError) and not isinstance(
            error, sqlite3.OperationalError
        )
        if damaged:
            self._put_aside()

    def _announce(self, sentence: str) -> None:
        if self.problem != sentence:
            _log.warning("%s", sentence)
        self.problem = sentence

    def _put_aside(self) -> None:
        """A damaged file makes way for a new one, and stays for whoever wants to mend it."""
        try:
            self._file.replace(self._file.with_suffix(".damaged"))
            self._not_before = 0.0
        except OSError as error:
            _log.warning("%s cannot be put aside: %s", self._file, error)

    def _connected(self) -> sqlite3.Connection:
        if self._connection is None and self._file is None:
            self._connection = sqlite3.connect(":memory:", check_same_thread=False)
            self._prepare(self._connection)
        if self._connection is None:
            self._file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            _make_private(self._file)
            connection = sqlite3.connect(self._file, timeout=BUSY_SECONDS, check_same_thread=False)
            try:
                connection.execute("PRAGMA journal_mode = WAL")
                connection.execute("PRAGMA synchronous = NORMAL")
                self._prepare(connection)
            except BaseException:
                connection.close()
                raise
            self._connection = connection
        return self._connection

    def _prepare(self, connection: sqlite3.Connection) -> None:
        with connection:
            connection.execute(
                "CREATE TABLE IF NOT EXISTS records (visit TEXT, page TEXT, changed REAL, "
                "bytes INTEGER, data BLOB, PRIMARY KEY (visit, page))"
            )
            columns = tuple(row[1] for row in connection.execute("PRAGMA table_info(records)"))
            if columns != COLUMNS:
                raise sqlite3.DatabaseError("the file is of another program or version")
            self._forget_old(connection)

    def _forget_old(self, connection: sqlite3.Connection) -> None:
        before = time.time() - self._most_seconds
        connection.execute("DELETE FROM records WHERE changed < ?", (before,))
        _forget_most(connection)

    def close(self) -> None:
        """Write what waits, and let the file go."""
        with self._lock:
            self._not_before = 0.0
            self.write()
            if self._connection is not None and self._file is not None:
                self._connection.close()
                self._connection = None


def _forget_most(connection: sqlite3.Connection) -> None:
    """Let the oldest go where there is too much."""
    (total,) = connection.execute("SELECT coalesce(sum(bytes), 0) FROM records").fetchone()
    if total <= MOST_BYTES:
        return
    oldest = connection.execute(
        "SELECT visit, page, bytes FROM records ORDER BY changed"
    ).fetchall()
    for visit, page, size in oldest:
        if total <= MOST_BYTES:
            break
        connection.execute("DELETE FROM records WHERE visit = ? AND page = ?", (visit, page))
        total -= size


def _make_private(file: Path) -> None:
    """Make a file that only its owner reads, as SQLite would not; a link is not followed."""
    number = os.open(file, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o600)
    try:
        if hasattr(os, "fchmod"):  # not on Windows
            os.fchmod(number, 0o600)
    finally:
        os.close(number)


def _digest(token: str) -> str:
    """What a visit is known by in the file: who reads that cannot come as the visitor."""
    return hashlib.sha256(token.encode()).hexdigest()


def _unpacked(data: object) -> dict[str, Any] | None:
    """A record, None where it is damaged or longer than any."""
    try:
        inflate = zlib.decompressobj()
        plain = inflate.decompress(data, MOST_UNPACKED)
        record = json.loads(plain) if not inflate.unconsumed_tail else None
    except (zlib.error, ValueError, TypeError, RecursionError):
        return None
    return record if isinstance(record, dict) else None


def keeper_here(name: str = NAME, most_seconds: float = MOST_SECONDS) -> Keeper:
    """The keeper of a file that this process is to use, by DECODING_VISITS."""
    named = os.environ.get(VARIABLE, "").strip()
    if named.lower() == OFF:
        return Keeper(None)
    folder = Path(named).expanduser() if named else _usual_folder()
    return Keeper(folder, name, most_seconds)


def _usual_folder() -> Path:
    """Where programs of this system keep what they remember of a person's work."""
    home = Path.home()
    if sys.platform == "darwin":
        base = home / "Library" / "Application Support"
    elif sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA") or home / "AppData" / "Local")
    else:
        base = Path(os.environ.get("XDG_STATE_HOME") or home / ".local" / "state")
    return base / "decoding-visualiser"
