"""Records on disk: small databases in a folder of the person who runs the app.

    DECODING_VISITS=path/to/folder   a different folder
    DECODING_VISITS=off              nothing on disk: records end with the app

A record is compressed JSON. The file does not contain a visit's token, only its digest. Old records
are deleted, and if there are too many, those that `ui.visits.quota` evicts. If the file cannot be
written or read, the log and the pages say so once, and the app keeps working: see `Keeper.problem`.

Ages follow the file's own clock: its newest record, plus the time for which the app has run since.
The computer's clock, which may be wrong, adds at most a week at each start.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import secrets
import sqlite3
import threading
import time
import zlib
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

from engine.errors import Message, msg
from engine.user_folder import user_folder
from ui.visits.quota import MIB, VISITS, Quota, Row, Terms

NAME = "visits.sqlite3"
VARIABLE = "DECODING_VISITS"
OFF = "off"
MOST_RECORD = 2 * MIB  # of one record, compressed
MOST_WAITING = 32 * MIB  # of all records that wait in memory, for example while the disk is full
MOST_UNPACKED = 64 * MIB
MOST_PAUSE = 7 * 86_400.0  # seconds that the computer's clock adds at a start
ROUND_SECONDS = 3600.0  # between two rounds that delete old records
ROUND_SHARE = 4  # at most one record in four is deleted in a round
_ROWS = (
    "SELECT visit, page, coalesce(person, visit), coalesce(address, visit), bytes, changed "
    "FROM records LEFT JOIN owners USING (visit) ORDER BY changed"
)
COLUMNS = ("visit", "page", "changed", "bytes", "data")
BUSY_SECONDS = 0.5  # to wait for a locked file, in the thread that writes
RETRY_SECONDS = 30.0  # after a failed write
# The file has addresses as digests, with a key that ends with this process. They serve only to
# distinguish owners.
_KEY = secrets.token_bytes(16)
_log = logging.getLogger(__name__)


class Owner(NamedTuple):
    """The person and the address whose quotas a record counts towards; without them, its visit.

    Attributes:
        person: the secret of the browser, else of the tab.
        address: see `ui.server.visitor.this_address`.
    """

    person: str = ""
    address: str = ""


NO_OWNER = Owner()


class _Waiting(NamedTuple):
    data: bytes  # compressed
    owner: Owner


class Keeper:
    """The records of all visits, or of all persons, in one file.

    Args:
        folder: where the file is or will be made; None keeps records only in memory.
        name: the name of the file.
        terms: limits on amount and age.

    Attributes:
        problem: why nothing can be kept at present, for a person to read; empty if it can.
    """

    def __init__(self, folder: Path | None, name: str = NAME, terms: Terms = VISITS) -> None:
        self._file = None if folder is None else folder / name
        self._terms = terms
        self._lock = threading.RLock()
        self._waiting: dict[tuple[str, str], _Waiting] = {}  # by token and page
        self._connection: sqlite3.Connection | None = None
        self._quota: Quota | None = None  # in line with the file; None if it must be read again
        self._not_before = 0.0
        self._epoch: float | None = None  # the file's time when `time.monotonic` was 0
        self._next_round = 0.0
        self._is_said_full = False  # logged since the last round
        self.problem: Message | str = ""

    @property
    def is_on_disk(self) -> bool:
        """True if records are to outlive the app."""
        return self._file is not None

    # --- reading ----------------------------------------------------------------------------------

    def records(self, token: str) -> tuple[dict[str, dict[str, Any]], list[str]]:
        """Return the records of a visit by page, and a sentence for each that cannot be read."""
        found, problems = {}, []
        digest = _digest(token)
        with self._lock:
            rows = dict(self._run("SELECT page, data FROM records WHERE visit = ?", digest) or [])
            rows |= {page: one.data for (key, page), one in self._waiting.items() if key == token}
        for page, data in rows.items():
            record = _unpacked(data)
            if record is None:
                problems.append(
                    msg(
                        "The saved state of the page {page} cannot be read, so it starts over.",
                        page,
                    )
                )
            else:
                found[page] = record
        return found, problems

    def reaches_file(self) -> bool:
        """Return whether the file can be read; if not, `problem` says why."""
        with self._lock:
            return self._run("SELECT 1") is not None

    # --- writing ----------------------------------------------------------------------------------

    def put(self, token: str, page: str, record: dict[str, Any], owner: Owner = NO_OWNER) -> str:
        """Queue a record for the next `write`; return a sentence if it is too large."""
        data = zlib.compress(json.dumps(record, separators=(",", ":")).encode(), 6)
        if len(data) > MOST_RECORD:
            return msg(
                "There is too much on the page {page} to be kept ({size:,} bytes), so the "
                "changes there are lost when the app is started again.",
                (page, len(data)),
            )
        with self._lock:
            self._waiting.pop((token, page), None)
            self._waiting[token, page] = _Waiting(data, owner)  # the newest, last
            dropped = self._drop_waiting()
        if dropped:
            _log.warning(
                "%d records wait no longer to be written, as all that wait take more than %d MiB; "
                "make room on the disk.",
                dropped,
                MOST_WAITING // MIB,
            )
        return ""

    def _drop_waiting(self) -> int:
        """If too much waits, drop the oldest records of the largest address; return the count."""
        held = Counter()
        for one in self._waiting.values():
            held[one.owner.address] += len(one.data)
        dropped = 0
        while held.total() > MOST_WAITING and len(self._waiting) > 1:
            ((most, _),) = held.most_common(1)
            oldest = next(key for key, one in self._waiting.items() if one.owner.address == most)
            held[most] -= len(self._waiting.pop(oldest).data)
            dropped += 1
        return dropped

    def write(self) -> list[tuple[str, str]]:
        """Write waiting records and delete old ones; return the keys of those without room."""
        with self._lock:
            if not self._waiting or time.monotonic() < self._not_before:
                return []
            try:
                connection = self._connected()
                with connection:
                    self._forget_old(connection)
                    refused = self._write(connection)
            except (sqlite3.Error, OSError) as error:
                self._give_up(error)
                return []
            self._waiting.clear()
            self.problem = ""
        return refused

    def _write(self, connection: sqlite3.Connection) -> list[tuple[str, str]]:
        quota, self._quota = self._quota, None  # until all is written
        if quota is None:
            quota = Quota(self._terms, map(Row._make, connection.execute(_ROWS)))
        now, refused, gone = self._now(), [], 0
        for (token, page), one in self._waiting.items():
            visit = _digest(token)
            person = _digest(one.owner.person) if one.owner.person else visit
            address = _digest(one.owner.address, _KEY) if one.owner.address else person
            row = Row(visit, page, person, address, len(one.data), now)
            evicted = quota.admit(row)
            if evicted is None:
                refused.append((token, page))
                continue
            gone += len(evicted)
            connection.executemany(
                "DELETE FROM records WHERE visit = ? AND page = ?", [one.key for one in evicted]
            )
            connection.execute(
                "INSERT OR REPLACE INTO owners VALUES (?, ?, ?)", (visit, person, address)
            )
            connection.execute(
                "INSERT OR REPLACE INTO records VALUES (?, ?, ?, ?, ?)",
                (visit, page, now, len(one.data), one.data),
            )
        if (gone or refused) and not self._is_said_full:
            self._is_said_full = True
            _log.warning(
                "%s is full: %d old records are deleted, and %d new ones not kept.",
                self._name,
                gone,
                len(refused),
            )
        self._quota = quota
        return refused

    def forget(self, token: str) -> bool:
        """Delete all records of a visit; return False and set `problem` if that fails."""
        with self._lock:
            for key in [key for key in self._waiting if key[0] == token]:
                del self._waiting[key]
            self._quota = None
            try:
                connection = self._connected()
                with connection:
                    for table in ("records", "owners"):
                        connection.execute(
                            f"DELETE FROM {table} WHERE visit = ?", (_digest(token),)
                        )
            except (sqlite3.Error, OSError) as error:
                self._give_up(error)
                return False
        return True

    def _run(self, query: str, *values: object) -> list[tuple] | None:
        try:
            return self._connected().execute(query, values).fetchall()
        except (sqlite3.Error, OSError) as error:
            self._give_up(error)
            return None

    def _give_up(self, error: Exception) -> None:
        """Close the file, announce the error once, and schedule a retry."""
        self._not_before = time.monotonic() + RETRY_SECONDS
        self._quota = None
        if self._connection is not None:
            self._connection.close()
            self._connection = None
        self._announce(
            msg(
                "Your work cannot be kept on disk ({error}), so it is lost when the app is "
                "started again. The owner of the app can make room in {folder}, or name "
                "another folder: {variable}=path/to/folder",
                (str(error), str(self._file.parent), VARIABLE),
            )
        )
        damaged = isinstance(error, sqlite3.DatabaseError) and not isinstance(
            error, sqlite3.OperationalError
        )
        if damaged:
            self._put_aside()

    def _announce(self, sentence: Message) -> None:
        if self.problem != sentence:
            _log.warning("%s", sentence)
        self.problem = sentence

    def _put_aside(self) -> None:
        """Move a damaged file aside to make way for a new one; it is kept for repair by hand."""
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
            connection.execute(
                "CREATE TABLE IF NOT EXISTS owners "
                "(visit TEXT PRIMARY KEY, person TEXT, address TEXT)"
            )
            if self._epoch is None:
                self._set_clock(connection)
            self._forget_old(connection)

    # --- time -------------------------------------------------------------------------------------

    def _set_clock(self, connection: sqlite3.Connection) -> None:
        wall = time.time()
        (newest,) = connection.execute("SELECT max(changed) FROM records").fetchone()
        began = wall if newest is None else min(max(wall, newest), newest + MOST_PAUSE)
        if abs(wall - began) > ROUND_SECONDS:
            _log.warning(
                "The clock is %.1f days from the newest record of %s, of which %.1f count: ages go "
                "by the records.",
                (wall - newest) / 86_400,
                self._name,
                (began - newest) / 86_400,
            )
        self._epoch = began - time.monotonic()

    def _now(self) -> float:
        """Return the time by the file's clock, in seconds since 1970."""
        return self._epoch + time.monotonic()

    @property
    def _name(self) -> str:
        return self._file.name if self._file else "What is kept in memory"

    def _forget_old(self, connection: sqlite3.Connection) -> None:
        """Delete some of the records that are too old, if a round is due."""
        if time.monotonic() < self._next_round:
            return
        self._next_round = time.monotonic() + ROUND_SECONDS
        self._quota, self._is_said_full = None, False
        (count,) = connection.execute("SELECT count(*) FROM records").fetchone()
        deleted = connection.execute(
            "DELETE FROM records WHERE rowid IN "
            "(SELECT rowid FROM records WHERE changed < ? ORDER BY changed LIMIT ?)",
            (self._now() - self._terms.seconds, max(1, count // ROUND_SHARE)),
        ).rowcount
        connection.execute("DELETE FROM owners WHERE visit NOT IN (SELECT visit FROM records)")
        if deleted:
            _log.warning(
                "%d of %d records of %s are deleted, unchanged for %.0f days.",
                deleted,
                count,
                self._name,
                self._terms.seconds / 86_400,
            )

    def close(self) -> None:
        """Write waiting records, and close the file."""
        with self._lock:
            self._not_before = 0.0
            self.write()
            if self._connection is not None and self._file is not None:
                self._connection.close()
                self._connection = None


def _make_private(file: Path) -> None:
    """Create a file that only its owner can read, unlike SQLite; do not follow a link."""
    number = os.open(file, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o600)
    try:
        if hasattr(os, "fchmod"):  # not on Windows
            os.fchmod(number, 0o600)
    finally:
        os.close(number)


def _digest(token: str, key: bytes = b"") -> str:
    """Hash a token, so that a reader of the file cannot pose as the visitor."""
    return hashlib.sha256(key + token.encode()).hexdigest()


def _unpacked(data: object) -> dict[str, Any] | None:
    """Return the record in compressed data; None if it is damaged or too long."""
    try:
        inflate = zlib.decompressobj()
        plain = inflate.decompress(data, MOST_UNPACKED)
        record = json.loads(plain) if not inflate.unconsumed_tail else None
    except (zlib.error, ValueError, TypeError, RecursionError):
        return None
    return record if isinstance(record, dict) else None


def keeper_here(name: str = NAME, terms: Terms = VISITS) -> Keeper:
    """Return a keeper for the file of this name, in the folder that DECODING_VISITS sets."""
    named = os.environ.get(VARIABLE, "").strip()
    if named.lower() == OFF:
        return Keeper(None, name, terms)
    folder = Path(named).expanduser() if named else user_folder("state")
    return Keeper(folder, name, terms)
