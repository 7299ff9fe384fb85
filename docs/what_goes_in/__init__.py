"""The page docs/what_goes_in.md, made of the tables of handlers: `python -m docs.what_goes_in` writes it."""
