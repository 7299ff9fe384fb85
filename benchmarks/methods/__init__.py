"""The table of methods that are compared, and those that live here."""
