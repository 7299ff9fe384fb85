"""The version, read by the build and shown in the log."""

__version__ = "0.2.0.dev0"
