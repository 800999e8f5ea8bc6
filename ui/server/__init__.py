"""Additions of the app to the web server, and the sentences for failures."""
