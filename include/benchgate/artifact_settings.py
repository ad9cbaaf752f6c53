"""Settings of the artifact store that cannot be right, each refused by its name before anything is asked of a store."""

from __future__ import annotations

import os
import re
import ssl
from pathlib import Path
from urllib.parse import urlsplit

from benchgate import secrets
from benchgate.errors import ArtifactError

S3 = ("s3://", "s3a://")
_WITH_BUCKET = re.compile(r"(?P<kind>s3a?|gs|gcs):(?P<slashes>/*)(?P<bucket>[^/]*)")  # they begin with a bucket
_ENDPOINTS = ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL")


def refuse_no_bucket(url: str) -> None:
    """Without a bucket the first folder would become one.

    Raises:
        ArtifactError: a URL of object storage names no bucket.
    """
    found = _WITH_BUCKET.match(url)
    if found and (found["slashes"] != "//" or not found["bucket"].strip()):
        raise ArtifactError(
            f"the artifact store BENCHGATE_ARTIFACTS={secrets.mask(url)} names no bucket",
            remedy=f"write {found['kind']}://BUCKET/PREFIX into BENCHGATE_ARTIFACTS",
        )


def s3_endpoint() -> str | None:
    """The address of an S3 store that is not Amazon's (``AWS_ENDPOINT_URL_S3``, ``AWS_ENDPOINT_URL``), or None.

    Raises:
        ArtifactError: it is no address that an S3 client can call.
    """
    name = next((name for name in _ENDPOINTS if os.environ.get(name)), None)
    if name is None:
        return None
    value = os.environ[name]
    try:
        parts = urlsplit(value)
        good = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # a port that is none, a bracket that is open
        good = False
    if not good or any(letter.isspace() for letter in value):
        shown = secrets.mask(value if "@" not in value else f"***@{value.rpartition('@')[2]}")
        raise ArtifactError(
            f"{name}={shown} is no address of an S3 store",
            remedy=f"write {name}=https://HOST:PORT (or http://), or leave it out for Amazon's",
        )
    return value


def refuse_bad_ca_bundle() -> None:
    """The client library reads the file late, and then says no more than that there is none.

    Raises:
        ArtifactError: ``AWS_CA_BUNDLE`` is no readable file of certificates.
    """
    file = os.environ.get("AWS_CA_BUNDLE")
    if not file:
        return
    try:
        with Path(file).open("rb"):
            pass
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(file)
    except ssl.SSLError:
        reason = "it holds no certificate in PEM form"
    except OSError as error:
        reason = error.strerror or str(error)
    else:
        return
    raise ArtifactError(
        f"AWS_CA_BUNDLE={file} cannot be used for the artifact store: {reason}",
        remedy="give it the PEM file of the store's CA, seen from every component, or leave it out for public CAs",
    )
