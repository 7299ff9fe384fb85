"""The packages of the tools, which are installed only by those who use them."""

from __future__ import annotations

from dcembed.errors import MissingPackageError


def missing_package(error: ModuleNotFoundError, package: str, extra: str, *parts: str) -> ImportError:
    """The error with the command that installs a package, if it or one of the `parts` it needs is what was not found; else `error`."""
    if error.name is None or error.name.partition(".")[0] not in (package, *parts):
        return error
    return MissingPackageError(
        f'dcembed.{package} needs the package {package}, which is not installed. Run: pip install "dcembed[{extra}]"'
    )
