"""Result files of other benchmark clients, read into our records.

``read_result(path, format)`` gives an :class:`ImportedRun`. Every cell names the client that measured it and the
definition that its numbers follow, so that they are never compared with ours as if they were one. What a file does
not say stays None; what it says in a way that cannot be is an error that names the file and the key.

A new format is one module with ``NAME``, ``recognises(first, path)`` and ``read(document)``.
"""

from benchgate.importers.model import ImportedCell, ImportedRun, ResultError
from benchgate.importers.read import FORMATS, read_result

__all__ = ["FORMATS", "ImportedCell", "ImportedRun", "ResultError", "read_result"]
