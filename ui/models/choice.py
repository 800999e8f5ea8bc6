"""A model that can be loaded, by the name that a person or a record gives it."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

from engine.model import BUNDLED, BUNDLED_DRAFT, is_offered, offered_models
from ui.models import servers
from ui.words.language import marked, say

KINDS = {
    BUNDLED: marked("Bundled"),
    BUNDLED_DRAFT: marked("Bundled draft"),
    **{name: model.title for name, model in offered_models().items()},
    "folder": marked("Folder or GGUF file on this computer"),
    "hub": marked("Hugging Face hub id"),
    "server": marked("Server"),
}


@dataclass(frozen=True)
class Choice:
    """A model to load: a bundled one, a folder, a hub id and its revision, or a server.

    Attributes:
        source, revision: arguments of `load_model`; or a server's address.
        local_files_only: whether to load it without any download; ignored in comparisons.
        server: a server that the owner typed; ignored in comparisons.
        accepts_terms: whether the person has accepted the model's terms; ignored in comparisons.
    """

    source: str
    revision: str | None = None
    local_files_only: bool = field(default=False, compare=False)
    server: servers.Server | None = field(default=None, compare=False)
    accepts_terms: bool = field(default=False, compare=False)

    @classmethod
    def parse(cls, text: str) -> Choice:
        """Parse ``owner/name@revision``; any other text becomes the source."""
        if servers.is_address(text):
            return cls(servers.parsed(text).source)
        found = re.fullmatch(r"([\w.\-]+(?:/[\w.\-]+)?)@([\w.\-/]+)", text)
        return cls(*found.groups()) if found and not Path(text).is_dir() else cls(text)

    def __str__(self) -> str:
        if self.source in (BUNDLED, BUNDLED_DRAFT) or is_offered(self.source):
            return KINDS[self.source]
        return f"{self.source}@{self.revision}" if self.revision else self.source

    @property
    def shown(self) -> str:
        """The model's name on a page, in its language."""
        return say(str(self))
