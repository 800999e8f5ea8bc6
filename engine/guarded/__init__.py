"""Third-party programs, run in separate processes with limits of time and memory.

A grammar, a tokenizer or a template may loop forever or grow until memory is full, and nothing
within a process can stop it. So each runs in a child process that the system ends at its limits.

    process     the parent's side: a child is started, asked, watched and ended
    child       the child's side: requests are read, and answered within limits
    line        a line of threads that wait for one of a few places
    matchers    the child that follows grammars
    templates   the child that renders chat templates
    loading     the child that reads tokenizers, and cuts texts with one written in Python
    cutting     the child that cuts texts with one written in Rust, and tells how

From the rest of the engine, children import only `making` and errors, and never PyTorch, so that
they start at once.
"""

from engine.doors import door

__getattr__, __dir__, __all__ = door(
    __name__,
    {
        "line": "Line",
        "process": "Child EndedError TooLargeError TooLongError asking is_given_up this_asker",
    },
)
