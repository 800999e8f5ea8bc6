"""Third-party programs, run in separate processes with limits on time and memory.

A grammar, a tokenizer or a template may loop forever or grow until memory is full, and nothing
within a process can stop it. So each runs in a child process that the system ends at its limits.

    process     the parent's side: start, ask, watch and end a child
    child       the child's side: read requests, and answer them within limits
    line        a queue of threads that wait for one of a few places
    matchers    the child that matches texts against grammars
    templates   the child that renders chat templates
    loading     the child that reads tokenizers, and runs those written in Python
    cutting     the child that runs tokenizers written in Rust, also stage by stage

From the rest of the engine, children import only `making` and errors, and never PyTorch, so that
they start quickly.
"""

from engine.doors import door

__getattr__, __dir__, __all__ = door(
    __name__,
    {
        "line": "Line",
        "process": "Child EndedError TooLargeError TooLongError asking is_given_up this_asker",
    },
)
