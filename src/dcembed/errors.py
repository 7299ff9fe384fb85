"""What can be wrong with what a user passed. Outcomes of a run are statuses (`dcembed.Status`), never exceptions."""

from __future__ import annotations


class DcembedError(Exception):
    """Any error that dcembed raises on purpose."""


class InputError(DcembedError, ValueError):
    """A program, embedding, start or option value is malformed."""


class OptionError(DcembedError, TypeError):
    """An option that does not exist."""


class NetworkError(DcembedError, ValueError):
    """A network is malformed: shapes that don't fit, NaN weights, nothing in it."""


class UnsupportedLayerError(DcembedError, ValueError):
    """A model has layers that cannot be embedded; the message lists all of them."""


class ImportMismatchError(DcembedError, ValueError):
    """The imported network does not reproduce the framework's own predictions."""


class MissingPackageError(DcembedError, ImportError):
    """An optional package is needed; the message has the command that installs it."""


class NoBackendError(DcembedError, ValueError):
    """No installed solver takes this kind of problem."""


class SolverLimitError(DcembedError, RuntimeError):
    """A solver's licence does not carry a problem of this size."""


class MissingBoundError(DcembedError, ValueError):
    """An indicator needs a finite bound that the program does not give."""


class NoSolutionError(DcembedError, RuntimeError):
    """Values were asked of a model that has no solution."""
