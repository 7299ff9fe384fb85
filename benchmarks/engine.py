"""`python -m benchmarks.engine`: the study of the engine under its short name."""

from benchmarks.studies.engine import main

if __name__ == "__main__":
    main()
