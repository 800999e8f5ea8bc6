"""The text that tokens spell, and the conditions that end it."""

from engine.doors import door

__getattr__, __dir__, __all__ = door(
    __name__,
    {
        "stopping": (
            "CONTEXT EOS LONGEST_RUN MAX_TOKENS STOP_STRING checked_max_new_tokens "
            "checked_stop_strings"
        ),
        "thinking": "CLOSE OPEN checked_budget tokens_thought",
    },
)
