"""The local back end: cached sequences, and the scheduler of their forward passes."""

from engine.doors import door

__getattr__, __dir__, __all__ = door(
    __name__,
    {
        "job": "Job as_job this_job",
    },
)
