"""Beam and contrastive search as transformers and the paper have them, without a cache."""

from collections.abc import Callable, Sequence

import numpy as np
import pytest
import torch

from engine.decoding.contrastive import ContrastiveSearch
from engine.model import LanguageModel

CLOSE = 1e-4
NEVER = -1e6  # transformers pads with texts of -1e9 if there are too few


def generated(
    model: LanguageModel, prompt: list[int], width: int, tokens: int, **how
) -> list[tuple[tuple[int, ...], float | None]]:
    """(token ids, score) of all texts from transformers, best first; greedy text has no score."""
    beams = {} if width == 1 else {"num_return_sequences": width}
    with torch.inference_mode():
        out = model.hf.generate(
            torch.tensor([prompt]),
            attention_mask=torch.ones(1, len(prompt), dtype=torch.long),
            num_beams=width,
            do_sample=False,
            max_new_tokens=tokens,
            eos_token_id=list(model.eos_ids) or None,
            pad_token_id=0,
            return_dict_in_generate=True,
            output_scores=True,
            **beams,
            **how,
        )
    rows = out.sequences[:, len(prompt) :].tolist()
    if width == 1:
        return [(tuple(rows[0]), None)]
    lengths = (out.beam_indices >= 0).sum(-1).tolist()
    found = zip(rows, lengths, out.sequences_scores.tolist(), strict=True)
    return [(tuple(row[:length]), score) for row, length, score in found if score > NEVER]


def logprob_of(model: LanguageModel, prompt: list[int], token_ids: Sequence[int]) -> float:
    """Log-probability of tokens after a prompt, in one pass without a cache."""
    with torch.inference_mode():
        logits = model.hf(torch.tensor([[*prompt, *token_ids]]), use_cache=False).logits[0]
    logprobs = torch.log_softmax(logits.double(), -1)[len(prompt) - 1 : -1]
    return float(logprobs.gather(1, torch.tensor(token_ids)[:, None]).sum())


def last_states(model: LanguageModel, *texts: Sequence[int]) -> tuple[torch.Tensor, np.ndarray]:
    """(texts, vocab) logits and (texts, positions, d_model) unit vectors of the last layer."""
    with torch.inference_mode():
        out = model.hf(torch.tensor(texts), use_cache=False, output_hidden_states=True)
    states = out.hidden_states[-1].double().numpy()
    return out.logits[:, -1].float(), states / np.linalg.norm(states, axis=-1, keepdims=True)


def assert_follows(
    search: ContrastiveSearch, processed: Callable[[torch.Tensor, torch.Tensor], torch.Tensor]
) -> None:
    """Check every step against the paper's definition; `processed` edits logits."""
    text, alpha = list(search.prompt_ids), search.penalty_alpha
    for step in search.steps:
        logits, (before,) = last_states(search.model, text)
        probs = torch.softmax(processed(torch.tensor([text]), logits)[0].double(), -1).numpy()
        best = np.argsort(-probs, kind="stable")[: search.top_k]
        best = best[probs[best] > 0].tolist()
        _, states = last_states(search.model, *([*text, token_id] for token_id in best))
        cosines = states[:, -1] @ before.T  # (candidates, positions)
        scores = (1 - alpha) * probs[best] - alpha * cosines.max(-1)
        assert [one.token_id for one in step.candidates] == best
        ours = [(one.probability, one.penalty, one.score) for one in step.candidates]
        theirs = np.stack([probs[best], cosines.max(-1), scores], -1)
        np.testing.assert_allclose(ours, theirs, atol=CLOSE, rtol=0)
        for one, row in zip(step.candidates, cosines, strict=True):
            assert row[one.nearest] == pytest.approx(one.penalty, abs=CLOSE)
        assert step.chosen == int(scores.argmax()) and step.token_id == best[step.chosen]
        text.append(step.token_id)
