"""Bytes in, facts out: one HTTP connection, the event stream on it, and what its events mean."""
