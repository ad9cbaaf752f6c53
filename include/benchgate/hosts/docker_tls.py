"""The TLS files of a host, looked at before anything is sent: what OpenSSL says of wrong ones names no file."""

from __future__ import annotations

import os
import ssl
from pathlib import Path

from benchgate.spec.hosts import TlsFiles

_OF_ANOTHER = "KEY_VALUES_MISMATCH"


class _Encrypted(Exception):
    """OpenSSL asked for the password of a key."""


def tls_problem(host: str, url: str, tls: TlsFiles | None) -> str | None:
    """What is wrong with the TLS files of a host, before any connection; None when nothing is."""
    if tls is None:
        return None
    if not url.startswith(("tcp://", "https://")):
        return f"host {host}: TLS files are given, but {url} is not a tcp:// address"
    for name, file in (("ca", tls.ca), ("cert", tls.cert), ("key", tls.key)):
        path = Path(file).expanduser()
        if not path.is_file():
            return f"host {host}: TLS file tls.{name} {file} does not exist"
        if not os.access(path, os.R_OK):
            return f"host {host}: TLS file tls.{name} {file} is not readable by this user"
    wrong = _wrong_certificate("ca", tls.ca) or _wrong_certificate("cert", tls.cert) or _wrong_key(tls)
    return f"host {host}: TLS file {wrong}" if wrong else None


def _wrong_certificate(name: str, file: str) -> str | None:
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(Path(file).expanduser())
    except ssl.SSLError as error:
        return f"tls.{name} {file} holds no PEM certificate that can be read: {_words(error)}"
    return None


def _wrong_key(tls: TlsFiles) -> str | None:
    """What is wrong with the key, or with the two together; the certificate alone can be read."""
    cert, key = (Path(file).expanduser() for file in (tls.cert, tls.key))
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_cert_chain(cert, key, password=_no_password)
    except _Encrypted:
        return f"tls.key {tls.key} is encrypted, and nobody is there to give its password: store it without one"
    except ssl.SSLError as error:
        if error.reason == _OF_ANOTHER:
            return f"tls.key {tls.key} is the key of another certificate than tls.cert {tls.cert}"
        return f"tls.key {tls.key} holds no PEM private key for tls.cert {tls.cert}: {_words(error)}"
    return None


def _no_password() -> str:
    raise _Encrypted


def _words(error: ssl.SSLError) -> str:
    """``NO_CERTIFICATE_OR_CRL_FOUND`` as words; of what has no name, OpenSSL's own text."""
    return (error.reason or str(error)).replace("_", " ").lower()
