"""A cached sequence: read, truncated, copied."""

from engine.doors import door

__getattr__, __dir__, __all__ = door(
    __name__,
    {
        "job": "Job as_job this_job",
    },
)
