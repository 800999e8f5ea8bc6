"""The page that measures what a KV cache saves and costs."""

from ui.cache.page import PAGE

PAGE.draw()
