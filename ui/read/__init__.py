"""The page Read: an existing text, read token by token, and two continuations compared."""
