"""The interface to a model: `Backend`, `Sequence`, `Reading`, and each model's capabilities."""

from engine.doors import door

__getattr__, __dir__, __all__ = door(
    __name__,
    {
        "base": "Backend Reading Sequence",
        "capabilities": "CAPABILITIES fitted limits require",
    },
)
