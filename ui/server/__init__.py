"""The app's additions to the web server, and its error messages."""
