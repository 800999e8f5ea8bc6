"""Programs of other people, run in processes of their own under limits of time and memory.

A grammar, a tokenizer or a template may loop for ever or multiply until the memory is full, and
nothing within a process can stop it. So each runs in a child process that the system ends at its
limits.

    process     the parent's side: a child is started, asked, watched and ended
    child       the child's side: requests are read, and answered within limits
    line        the order in which threads get one of few places
    matchers    the child that follows grammars
    templates   the child that renders chat templates
    loading     the child that reads tokenizers, and cuts texts by one written in Python
    cutting     the child that cuts texts by one written in Rust, and tells how

Of the engine's other parts children import only `making` and errors, and no PyTorch, so that they
are there at once.
"""

from engine.doors import door

__getattr__, __dir__, __all__ = door(
    __name__,
    {
        "line": "Line",
        "process": "Child EndedError TooLargeError TooLongError asking is_given_up this_asker",
    },
)
