"""The masked diffusion models in this process: each there once, however many visitors use it."""

from __future__ import annotations

from pathlib import Path

from engine.decoding.diffusion import DiffusionModel, load_diffusion_model
from engine.errors import ModelNotFoundError
from engine.model import BUNDLED
from ui.models.chooser import Choice, check_allowed
from ui.models.models import SharedModels
from ui.words.language import marked, say

_MODELS = SharedModels()
WHY = marked(
    "The model in the band above is causal: it sees no token to the right, so "
    "it cannot fill gaps. This page uses the bundled masked diffusion model. "
    "Another one can be loaded from a folder whose config.json holds "
    "`is_causal: false` and a `mask_token_id`."
)


def masked_model(folder: str) -> DiffusionModel:
    """The masked diffusion model of a folder; the bundled one where that is empty.

    Raises:
        ModelError: no such folder, one that may not be loaded here, or no masked diffusion model.
    """
    source = folder.strip() or BUNDLED
    if source != BUNDLED:
        check_allowed(Choice(source))
        if not Path(source).is_dir():
            raise ModelNotFoundError(
                say(
                    "There is no folder {folder}; type the folder of a masked diffusion model, "
                    "or leave the field empty for the bundled one.",
                    folder=source,
                )
            )
    return _MODELS.get(source, None, lambda: load_diffusion_model(source))
