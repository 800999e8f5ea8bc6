"""What the app adds to the web server, and what is said when something breaks."""
