"""`python -m benchmarks.race`: methods side by side, under a short name."""

from benchmarks.studies.race import main

if __name__ == "__main__":
    main()
