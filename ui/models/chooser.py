"""The choice of a model: the popover in the page's header, and the model that a visit begins with.

A model loads in a thread, so the page keeps working. Visitors who want the same model wait for the
same load, and share the model afterwards (`ui.models.models`).

A visitor alone at their own computer may load any model (`allowed`). On a server that other
computers can reach, visitors may load the bundled models and those that the operator names in
DECODING_MODELS, but no other path or id that they type (`served_to_others`).
"""

from __future__ import annotations

import ipaddress
import os
import re
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from urllib.parse import urlsplit

import streamlit as st
import torch

from engine import grammar
from engine.backend import ServerModel, limits
from engine.errors import (
    DecodingError,
    Message,
    ModelError,
    ModelNotFoundError,
    NotAModelError,
    panics_as_errors,
)
from engine.model import (
    BUNDLED,
    BUNDLED_DRAFT,
    LanguageModel,
    accept_terms,
    is_fetched,
    load_model,
    offered_models,
    on_shortage,
)
from ui.jobs import LOADS, UNKNOWN, Call, Owner
from ui.models import servers
from ui.models.choice import Choice
from ui.models.choice_fields import listed_choice, typed_choice
from ui.models.models import SharedModels
from ui.server.problems import guarded, report
from ui.server.visitor import CONNECTED
from ui.visits.tab import this_person
from ui.visits.visits import give_memory_back
from ui.words.errors import in_words, told
from ui.words.labels import markdown_text, parameters_text, size
from ui.words.language import marked, say

LOOK_SECONDS = 0.5  # between two checks of a load
WIDTH = 320
LOADABLE = marked(
    "a causal language model: a GGUF file, or a folder with config.json, a tokenizer and "
    "*.safetensors weights"
)
CONNECTS = marked("the model of a llama.cpp, vLLM or OpenAI-style server")


MODELS = SharedModels()


def _give_back(device: torch.device) -> bool:
    had_any = MODELS.give_back()
    give_memory_back()  # returns all freed memory, not only that of models
    return had_any


on_shortage(_give_back)


def shared_model(choice: Choice, progress: Callable | None = None) -> LanguageModel:
    """Return a model, loaded once for all visitors; each decoder has its own KV cache.

    Raises:
        DecodingError: the model cannot be loaded; an unexpected error becomes a `ModelError`.
    """

    def load() -> LanguageModel:
        try:
            if servers.is_address(choice.source):
                return _connected(choice, progress)
            if choice.accepts_terms:
                accept_terms(choice.source)
            with panics_as_errors():
                return load_model(
                    choice.source,
                    revision=choice.revision,
                    progress=progress,
                    local_files_only=choice.local_files_only,
                )
        except DecodingError:
            raise
        except Exception as error:
            doing = say("the loading of {choice}", choice=choice)
            kept = marked("Choose another model, or try again.")
            raise ModelError(report(error, doing, kept)) from error

    def waiting() -> None:
        if progress is not None:
            progress(marked("Waiting while another visitor loads this model"), 0, None)

    return MODELS.get(choice.source, choice.revision, load, waiting, _is_valid)


def _is_valid(model: LanguageModel) -> bool:
    if not isinstance(model, ServerModel):
        return True
    return not model.has_changed and servers.is_current(model)


def _connected(choice: Choice, progress: Callable | None) -> ServerModel:
    if choice.local_files_only and servers.known(choice.source) is None:
        raise ModelNotFoundError(
            say(
                "The app is not connected to {choice}; choose that server as the model first.",
                choice=choice,
            )
        )
    if progress is not None:
        progress(marked("Connecting to the server"), 0, None)
    return servers.connected(choice.source)


def preload() -> None:
    """Load the model that a visit begins with, before any visitor needs it."""
    grammar.prepare()
    try:
        shared_model(first_choice())
    except DecodingError:
        return  # the first visit tries again, and shows the error


def first_choice() -> Choice:
    """Return the model that a visit begins with: that of DECODING_MODEL, or the bundled one."""
    return Choice.parse(os.environ.get("DECODING_MODEL", "").strip() or BUNDLED)


# --- who may load what ----------------------------------------------------------------------------


def allowed() -> list[Choice] | None:
    """Return the models that this visitor may load, on any page or channel; None for any model.

    A server that DECODING_SERVERS names adds to the list, and by itself restricts no visitor.
    """
    listed = re.split(f"[,{re.escape(os.pathsep)}]", os.environ.get("DECODING_MODELS", ""))
    named = [Choice.parse(entry.strip()) for entry in listed if entry.strip()]
    if not named and not served_to_others():
        return None
    named += map(Choice, servers.named())
    ours = [Choice(BUNDLED), Choice(BUNDLED_DRAFT)]
    ours += [Choice(name) for name in offered_models() if is_fetched(name)]
    return list(dict.fromkeys([*ours, first_choice(), *named]))


def begins_alone(model: LanguageModel) -> bool:
    """Return True if a page may start its job on a model without a button press.

    This applies only to a bundled model, whose passes are short, and to a visitor alone at this
    computer.
    """
    return model.source in (BUNDLED, BUNDLED_DRAFT) and not served_to_others()


def served_to_others() -> bool:
    """Return whether visitors may include people other than the user of this computer.

    A tunnel or a proxy on this machine makes visitors look local, so every sign of one counts: an
    address, an allowed name, a public address or a visitor that is not this machine's own, a page
    opened under another host name, a header that names the client of a forwarded request.

    To use a tunnel or a proxy alone (an SSH tunnel to a server, a notebook in the cloud), start the
    app with DECODING_ONLY_ME=yes. Then all signs are ignored, and every visitor may load any folder
    that this process can read, and any model from the hub.
    """
    if os.environ.get("DECODING_ONLY_ME", "").strip().lower() in ("1", "yes", "true"):
        return False
    visitor = CONNECTED.get() or st.context  # in a Streamlit thread, its page's context
    headers = visitor.headers
    names = [
        st.get_option("server.address") or "every interface",
        visitor.ip_address or "localhost",  # None means this machine
        _host_of(headers.get("Host") or "localhost"),
        st.get_option("browser.serverAddress"),
        *st.get_option("server.allowedHosts"),
        *map(_host_of, st.get_option("server.corsAllowedOrigins")),
    ]
    passed_on = any(_PASSED_ON.fullmatch(name) for name in headers)
    return passed_on or not all(map(_is_loopback, names))


# Headers that proxies and tunnels add to a request that they forward.
_PASSED_ON = re.compile(
    r"forwarded|via|x-(forwarded|original|envoy)-.*|(x-real|x-client|true-client)-ip|cdn-loop"
    r"|(cf|fly|fastly|ngrok|tailscale)-.*",
    re.IGNORECASE,
)


def _host_of(address: str) -> str:
    """Return the host name in a Host header or a web address, without the port."""
    try:
        return urlsplit(address if "//" in address else f"//{address}").hostname or ""
    except ValueError:  # unmatched brackets
        return ""


def _is_loopback(address: str) -> bool:
    name = address.strip().strip("[]").lower().rstrip(".")
    try:
        return name == "localhost" or ipaddress.ip_address(name).is_loopback
    except ValueError:  # not an IP address: the name of a host or of a socket
        return False


def check_allowed(choice: Choice) -> None:
    """Raise `ModelError` if this visitor may not load a model; see `allowed`."""
    permitted = allowed()
    if permitted is not None and choice not in permitted:
        is_server = servers.is_address(choice.source)
        raise ModelError(
            say(
                "{choice} is not among the models that may be loaded here; the person who runs "
                "this app can start it with {variable}={choice}.",
                choice=choice,
                variable=servers.VARIABLE if is_server else "DECODING_MODELS",
            )
        )


# --- loading --------------------------------------------------------------------------------------


class _GivenUp(BaseException):
    """Raised when no visitor waits for a load any longer; `except Exception` does not catch it."""


class Load(Call[LanguageModel]):
    """One model being loaded, for all visitors who wait for it.

    Attributes:
        choice: the model.
    """

    breaks_off = False  # a wait in `SharedModels` may depend on this load, too
    _current: dict[Choice, Load] = {}  # noqa: RUF012 - shared by all visitors, under `_lock`
    _lock = threading.Lock()

    def __init__(self, choice: Choice) -> None:
        waiting = marked("Waiting for other models to load")
        super().__init__(waiting, self._load, LOADS, is_told=False)
        self.choice = choice
        self._waiting = 1

    @classmethod
    def join(cls, choice: Choice, owner: Owner = UNKNOWN) -> Load:
        """Join the visitors who wait for a model, or start to load it."""
        with cls._lock:
            load = cls._current.get(choice)
            if load is not None:
                load._waiting += 1
                return load
            load = cls._current[choice] = cls(choice)
        return load.start(owner)

    def leave(self) -> None:
        """Stop waiting; when the last visitor leaves, the load ends at its next stage or chunk."""
        with self._lock:
            self._waiting -= 1
            if self._waiting:
                return
            self._forget()  # the next visitor who wants the model starts a new load
        self.cancel()

    def _load(self) -> LanguageModel | None:
        try:
            self._tell(marked("Looking for the model"), 0, None)
            return shared_model(self.choice, self._tell)
        except _GivenUp:
            return None

    def _finish(self) -> None:
        with self._lock:
            self._forget()

    def _forget(self) -> None:
        if self._current.get(self.choice) is self:
            del self._current[self.choice]

    def _tell(self, what: str, done: int, total: int | None) -> None:
        if not self._waiting:
            raise _GivenUp
        super()._tell(what, done, total)


@dataclass
class _Visit:
    """The load that one visitor waits for, and the outcome of the last one.

    Attributes:
        load: the current load; None if there is none.
        asked: the choice in the fields when Load was last pressed.
        problem: why that model was not loaded; empty if it was.
        said: a remark about it for the next drawing of the page.
        loads: number of models loaded so far; a new number closes the panel.
    """

    load: Load | None = None
    asked: Choice | None = None
    problem: str = ""
    said: str = ""
    loads: int = 0

    def begin(self, choice: Choice | None) -> None:
        self.cancel()
        self.asked, self.problem = choice, ""
        if choice is None:
            self.problem = say(
                "No model is named yet; type a folder, a file or a hub id, or accept the terms."
            )
            return
        try:
            check_allowed(choice)
        except DecodingError as error:
            self.problem = in_words(error)
        else:
            if choice.server is not None:
                servers.type_in(choice.server)
            person = this_person()
            self.load = Load.join(choice, Owner(person.token if person else ""))

    def cancel(self) -> None:
        if self.load is not None:
            self.load.leave()
            self.load = None

    def finish(self, on_load: Callable[[LanguageModel], None], kept: str) -> bool:
        """Pass on a loaded model, or set `problem`; return False if no load has ended."""
        load = self.load
        if load is None or load.is_running:
            return False
        self.cancel()
        try:
            if load.failure is not None:
                raise load.failure
            on_load(load.result)
        except NotAModelError as error:  # the engine's advice is for programmers
            problem = in_words(error).rpartition("; ")[0]
            self.problem = say("{problem}; choose a causal language model.", problem=problem)
        except Exception as error:
            still = marked("The previous model is still in use; choose another one, or try again.")
            self.problem = report(error, say("the change to {choice}", choice=load.choice), still)
        else:
            self.said = say("{model} is in use. {kept}", model=load.result.name, kept=kept)
            self.loads += 1
        return True


# --- the popover ----------------------------------------------------------------------------------


def model_chooser(
    current: LanguageModel | None,
    on_load: Callable[[LanguageModel], None],
    kept: str,
    *,
    name: str = "model",
    label: str = "",
) -> None:
    """Draw the popover that loads a model, passes it to `on_load`, and redraws the page.

    Args:
        current: the model in use; None if there is none.
        on_load: called with the loaded model; an error that it raises is shown in the popover.
        kept: a sentence on what happens to the page's texts and settings.
        name: the name of the popover within the session.
        label: the model's role on the page, shown before its name; "Model" if empty.
    """
    visit = st.session_state.setdefault(f"{name}_chooser", _Visit())
    said, visit.said = visit.said, ""
    if said:
        st.toast(markdown_text(said), duration="long")
    # A new key creates a new popover, which is closed.
    popover = st.popover(_chip(current, label or say("Model")), key=f"{name}_chooser_{visit.loads}")
    with popover, st.container(width=WIDTH):  # so that a long message does not widen it
        # A fragment: neither typing here nor the progress of a load redraws anything else.
        panel = st.fragment(
            guarded(_panel, "the choice of a model"),
            run_every=LOOK_SECONDS if visit.load else None,
        )
        panel(visit, current, on_load, kept, name)


def show_limits(model: LanguageModel) -> None:
    """Draw a sentence on the figures that a model with limited access cannot provide."""
    _caption(limits(model))


def _caption(sentences: Iterable[Message]) -> None:
    if said := " ".join(told(sentence) for sentence in sentences):
        st.caption(markdown_text(said))


def _chip(model: LanguageModel | None, label: str) -> str:
    """Return the closed popover's label: "Model: bundled · cpu bfloat16 · 8.6 M parameters"."""
    if model is None:
        return say("{label}: none", label=label)
    parts = [markdown_text(model.name)]
    if "weights" in model.capabilities:
        dtype = str(model.dtype).removeprefix("torch.")
        if model.quantisation:
            dtype = say(
                "{quantisation}, computed in {dtype}", quantisation=model.quantisation, dtype=dtype
            )
        parts += [f"{model.device} {dtype}", parameters_text(model.parameters)]
    elif isinstance(model, ServerModel):
        parts.append(model.dialect.kind)
        if model.listed is not None:
            counts = {"one": f"{model.listed:,}", "all": f"{model.vocab_size:,}"}
            parts.append(say("{one} of {all}", **counts))
    return f"{label}: " + " · ".join(parts)


def _panel(
    visit: _Visit,
    current: LanguageModel | None,
    on_load: Callable[[LanguageModel], None],
    kept: str,
    name: str,
) -> None:
    if visit.finish(on_load, kept):
        st.rerun()
    in_use = say("none") if current is None else f"**{markdown_text(current.name)}**"
    st.markdown(say("In use: {model}", model=in_use))
    if isinstance(current, ServerModel):
        with st.expander(say("Checked at connection")):
            _caption(current.findings)
            show_limits(current)
    elif current is not None:
        show_limits(current)
    if problem := servers.problem():
        st.warning(markdown_text(problem))
    permitted = allowed()
    if permitted is None:
        choice = typed_choice(name, visit.loads)
    else:
        choice = listed_choice(permitted, name)
    is_server = permitted is None and st.session_state[f"{name}_kind"] == "server"
    loads = say(CONNECTS if is_server else LOADABLE)
    st.caption(markdown_text(say("Loads {what}. {kept}", what=loads, kept=kept)))
    loading = visit.load is not None
    with st.container(horizontal=True):
        pressed = st.button(say("Load"), disabled=loading, key=f"{name}_button", type="primary")
        cancelled = loading and st.button(say("Cancel"), key=f"{name}_cancel")
    if cancelled:
        visit.cancel()
        st.rerun()
    if pressed:
        visit.begin(choice)
        if visit.load:
            visit.load.wait(0.2)  # a model in memory is available at once
            st.rerun()  # sets the fragment's clock
    if visit.load:
        _progress(visit.load)
    if visit.problem and choice == visit.asked:
        st.error(markdown_text(visit.problem))


def stage_name(what: str) -> str:
    """Return the name of a loading stage, in the language of the page."""
    return say(what)


def _progress(load: Load) -> None:
    what, done, total = load.stage
    what = markdown_text(stage_name(what))
    if total is None:
        st.status(f"{what}…", state="running")
    else:
        share = say("{one} of {all}", one=size(done), all=size(total))
        st.progress(min(1.0, done / max(1, total)), text=f"{what}: {share}")
