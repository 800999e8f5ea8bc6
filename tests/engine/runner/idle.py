"""Somebody who holds memory and does nothing with it."""


class Idle:
    """Holds memory that it can do without."""

    released = False

    def release(self) -> bool:
        self.released = True
        return True
