"""Attacks on dcembed: random programs with an exact oracle, injected faults, signals, broken files. `python -m tests.attack --help`."""
