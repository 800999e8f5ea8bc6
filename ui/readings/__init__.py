"""A text read token by token, in words, HTML and files."""
