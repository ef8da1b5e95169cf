"""The console: pages for people, on the same API and with the same keys, that keep nothing on the server."""
