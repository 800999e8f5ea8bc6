"""What the app adds to the web server."""
