"""The page that checks what a server really does."""

from ui.server_check.page import server_page

server_page()
