"""The version, read by the build and shown in the log."""

__version__ = "0.1.0"
