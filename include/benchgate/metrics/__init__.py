"""Metrics of a cell, one a module, each with its formula. They work on request records; nothing here does I/O."""
