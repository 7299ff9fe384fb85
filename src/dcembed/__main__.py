"""`python -m dcembed`."""

import sys

from dcembed.cli import main

if __name__ == "__main__":
    sys.exit(main())
