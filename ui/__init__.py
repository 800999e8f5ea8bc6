"""The app's user interface: pages and their state, lessons, browser components, the server."""
