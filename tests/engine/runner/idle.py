"""An object that holds memory without using it."""


class Idle:
    """A holder of memory that it can release."""

    released = False

    def release(self) -> bool:
        self.released = True
        return True
