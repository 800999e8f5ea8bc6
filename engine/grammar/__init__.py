"""Constraints on a text: the tokens that a source in one of four languages allows at each step.

    >>> places = Places(model.vocabulary.token_table(model.eos_ids))
    >>> place = places.at("regex", "[0-9]+", [])
    >>> place.allowed.sum(), place.may_end
    (1110, False)

llguidance compiles a source to a matcher of bytes and, with a tokenizer's bytes, computes the mask
of the tokens that may come next. It does so in separate processes, as a source of a hundred bytes
can use up all time and memory. Nothing here needs PyTorch or a model.

    source          checks of a source: its language, size and syntax, with the place of an error
    schema          a JSON schema, rewritten so that llguidance does not misread it
    reading         the processes in which sources are compiled and matched, and their queue
    examples        an example constraint
    allowed_tokens  the place of a text in a source: allowed tokens, end, forced bytes
"""

from engine.doors import door

__getattr__, __dir__, __all__ = door(
    __name__,
    {
        "examples": "PERSON PERSON_PROMPT",
        "allowed_tokens": "Place Places TokenTable",
        "reading": "prepare",
        "source": "LANGUAGES MOST_BYTES checked_source notices shortened",
    },
)
