"""What goes wrong with the artifact store, in one line: which file, what happened, what to do."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from upath import UPath

from benchgate import secrets
from benchgate.errors import ArtifactError

_LOCAL = ("", "file", "local")
CREDENTIALS = (
    "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY (or a profile or role) for every component, and AWS_ENDPOINT_URL "
    "for a store that is not Amazon's"
)


def is_local(target: UPath) -> bool:
    """Whether a path of the store is a file of this machine."""
    return target.protocol in _LOCAL


def refuse_missing_bucket(target: UPath, error: FileNotFoundError) -> None:
    """A bucket that is not there is no file that was never written: nothing can ever be read or kept."""
    if _code(error) == "NoSuchBucket":
        raise _no_bucket(target) from None


def _no_bucket(target: UPath) -> ArtifactError:
    bucket = str(target.path).partition("/")[0]
    return ArtifactError(
        f"the artifact store has no bucket {bucket}", remedy="create it, or correct BENCHGATE_ARTIFACTS"
    )


def _code(error: BaseException) -> str | None:
    """The S3 error code behind an exception of s3fs."""
    cause = error.__cause__
    response = getattr(cause, "response", None)
    return response.get("Error", {}).get("Code") if isinstance(response, dict) else None


@contextmanager
def told(target: UPath) -> Iterator[None]:
    """Failures of the store in one line. A missing file stays FileNotFoundError: what it means, the caller knows."""
    try:
        yield
    except FileNotFoundError as error:
        refuse_missing_bucket(target, error)
        raise
    except ArtifactError:
        raise
    except PermissionError as error:
        if is_local(target):
            raise ArtifactError(
                f"this user may not use the artifact store at {target}: {error.strerror or error}",
                remedy="give it the folder, or set BENCHGATE_ARTIFACTS to another",
            ) from None
        raise ArtifactError(
            f"the artifact store refused {target}: {_one_line(error)}", remedy="check the credentials: " + CREDENTIALS
        ) from None
    except OSError as error:
        raise ArtifactError(
            f"the artifact store failed at {target}: {_one_line(error)}", remedy="is it full, mounted and writable?"
        ) from None
    except ImportError as error:  # the client library of a kind of store is loaded when it is first used
        raise ArtifactError(
            f"the artifact store {target} cannot be opened: {_one_line(error)}",
            remedy="install that package for every component, or set BENCHGATE_ARTIFACTS to a folder or s3://bucket",
        ) from None
    except Exception as error:
        if isinstance(error, ValueError) and str(error).startswith("Invalid endpoint"):  # botocore's rule of host names
            raise ArtifactError(
                f"the address of the artifact store cannot be used: {_one_line(error)}",
                remedy="write AWS_ENDPOINT_URL=https://HOST:PORT; letters, digits, hyphens and dots make a host name",
            ) from None
        if "CERTIFICATE_VERIFY_FAILED" in str(error):
            raise ArtifactError(
                f"the artifact store at {target} has a certificate that is not trusted here: {_one_line(error)}",
                remedy="give AWS_CA_BUNDLE the PEM file of the store's CA, in every component",
            ) from None
        if not type(error).__module__.startswith(("botocore.", "aiobotocore.", "aiohttp.")):
            raise
        if type(error).__name__ in ("NoCredentialsError", "PartialCredentialsError", "ProfileNotFound"):
            raise ArtifactError(
                f"no usable credentials for the artifact store {target}: {_one_line(error)}", remedy=CREDENTIALS
            ) from None
        raise ArtifactError(
            f"the artifact store does not answer at {target}: {_one_line(error)}",
            remedy="is AWS_ENDPOINT_URL right, and does the store run?",
        ) from None


def _one_line(error: BaseException) -> str:
    return secrets.mask(" ".join(str(error).split())) or type(error).__name__
