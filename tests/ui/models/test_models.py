"""Models in this process: one copy of each, shared by all requests, kept while in use."""

import gc
import threading
import weakref

import pytest

from engine.errors import ModelNotFoundError, OutOfMemoryError
from engine.model.loading import checkpoint
from engine.sampling import SamplingSettings
from tests.ui import hostile
from ui.models import chooser
from ui.models.models import SharedModels
from ui.step.session import Session
from ui.words.token_labels import labels_of

PATIENCE_S = 30


class Model:
    """A substitute for weights."""


class Loads:
    """A substitute for the loading of models."""

    def __init__(self) -> None:
        self.count = 0
        self.go = threading.Event()
        self.go.set()
        self.fails: BaseException | None = None

    def __call__(self) -> Model:
        self.count += 1
        assert self.go.wait(PATIENCE_S)
        if self.fails is not None:
            raise self.fails
        return Model()


@pytest.fixture
def loads() -> Loads:
    return Loads()


def test_model_in_use_is_never_reloaded(loads):
    models = SharedModels(kept=1)
    first = models.get("a", None, loads)
    others = [models.get(name, None, loads) for name in "bcdef"]
    assert loads.count == 6
    assert models.get("a", None, loads) is first, "though five others came since"
    assert models.get("f", None, loads) is others[-1]
    assert loads.count == 6


def test_unused_models_are_dropped_except_recent_ones(loads):
    models = SharedModels(kept=2)
    seen = {name: weakref.ref(models.get(name, None, loads)) for name in "abc"}
    models.get("b", None, loads)
    models.get("d", None, loads)
    gc.collect()
    assert {name: held() is not None for name, held in seen.items()} == {
        "a": False,
        "b": True,
        "c": False,
    }


def test_models_are_keyed_by_revision_and_real_folder(loads, tmp_path, monkeypatch):
    models = SharedModels()
    assert models.get("a/b", None, loads) is not models.get("a/b", "v1", loads)
    folder = tmp_path / "model"
    folder.mkdir()
    (tmp_path / "link").symlink_to(folder)
    monkeypatch.chdir(tmp_path)
    found = {
        id(models.get(source, None, loads))
        for source in ("model", str(folder), "./model", f"{folder}/../model", "link")
    }
    assert len(found) == 1


def test_concurrent_requests_share_one_load(loads):
    models, found = SharedModels(), []
    loads.go.clear()
    threads = [
        threading.Thread(target=lambda: found.append(models.get("a", None, loads)))
        for _ in range(30)
    ]
    for thread in threads:
        thread.start()
    loads.go.set()
    for thread in threads:
        thread.join(PATIENCE_S)
    assert loads.count == 1
    assert len(found) == 30
    assert len({id(model) for model in found}) == 1


def waits(models: SharedModels, load, found: list, waiting=lambda: None) -> threading.Thread:
    """Start a second visitor's request during the first load."""

    def ask() -> None:
        try:
            found.append(models.get("a", None, load, waiting))
        except BaseException as error:
            found.append(error)

    thread = threading.Thread(target=ask, daemon=True)
    thread.start()
    return thread


def test_failed_load_reaches_all_waiters_and_is_retried(loads):
    models, found = SharedModels(), []
    loads.go.clear()
    loads.fails = ModelNotFoundError("There is no such model; choose another.")
    first = waits(models, loads, found)
    while not loads.count:
        first.join(0.01)
    asked = threading.Event()
    second = waits(models, loads, found, asked.set)
    assert asked.wait(PATIENCE_S)
    loads.go.set()
    first.join(PATIENCE_S)
    second.join(PATIENCE_S)
    assert found == [loads.fails] * 2
    assert loads.count == 1
    loads.fails = None
    assert isinstance(models.get("a", None, loads), Model)


def test_waiter_starts_over_when_the_loader_quits(loads):
    models, found = SharedModels(), []
    given_up = Loads()
    given_up.go.clear()
    given_up.fails = KeyboardInterrupt()
    first = waits(models, given_up, found)
    while not given_up.count:
        first.join(0.01)
    asked = threading.Event()
    second = waits(models, loads, found, asked.set)
    assert asked.wait(PATIENCE_S)
    given_up.go.set()
    first.join(PATIENCE_S)
    second.join(PATIENCE_S)
    assert found[0] is given_up.fails
    assert isinstance(found[1], Model)


def test_a_wait_can_be_ended(loads):
    models, found = SharedModels(), []
    loads.go.clear()
    first = waits(models, loads, found)
    while not loads.count:
        first.join(0.01)

    def leave() -> None:
        raise InterruptedError

    second = waits(models, loads, found, leave)
    second.join(PATIENCE_S)
    assert isinstance(found[0], InterruptedError)
    loads.go.set()
    first.join(PATIENCE_S)
    assert isinstance(found[1], Model)


# --- memory ---------------------------------------------------------------------------------------


def test_session_keeps_only_its_last_model(tmp_path, monkeypatch):
    folders = [hostile.save(tmp_path / f"model-{number}") for number in range(4)]
    monkeypatch.setattr(chooser, "MODELS", SharedModels())
    handed_back = []
    monkeypatch.setattr(
        f"{SharedModels.__module__}.memory_was_freed", lambda: handed_back.append(1)
    )
    gc.collect()
    seen, session = [], None
    gc.disable()  # reference counting must suffice, without garbage collection
    try:
        for folder in folders:
            model = chooser.shared_model(chooser.Choice(folder))
            seen += [[weakref.ref(model), weakref.ref(model.hf), weakref.ref(model.vocabulary)]]
            if session is None:
                session = Session(model, "a", SamplingSettings())
            else:
                session.load(model)
            session.decoder.step()
            session.distribution()
            labels_of(model.vocabulary)[0]
            del model
        left = [[part() is not None for part in parts] for parts in seen]
    finally:
        gc.enable()
    assert left == [[False] * 3] * 3 + [[True] * 3]
    assert len(handed_back) == 3, "and their memory is handed back to the system"


def test_unused_models_are_dropped_when_memory_runs_out(tmp_path, monkeypatch):
    used, idle, wanted = (hostile.save(tmp_path / name) for name in ("used", "idle", "wanted"))
    monkeypatch.setattr(chooser, "MODELS", SharedModels())
    own = chooser.shared_model(chooser.Choice(used))
    other = weakref.ref(chooser.shared_model(chooser.Choice(idle)))
    load, tries = checkpoint.load, []

    def fails(folder, *args, **kwargs):
        tries.append(other() is not None)
        if other() is not None:
            raise OutOfMemoryError("There is not enough memory; use a smaller model.")
        return load(folder, *args, **kwargs)

    monkeypatch.setattr(checkpoint, "load", fails)
    assert chooser.shared_model(chooser.Choice(wanted)).name == "wanted"
    assert tries == [True, False]
    assert chooser.shared_model(chooser.Choice(used)) is own

    monkeypatch.setattr(checkpoint, "load", lambda *_, **__: fails_always())
    with pytest.raises(OutOfMemoryError, match="smaller model"):
        chooser.shared_model(chooser.Choice(idle))


def fails_always():
    raise OutOfMemoryError("There is not enough memory; use a smaller model.")
