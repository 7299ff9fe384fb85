"""`python -m dcembed.cli`."""

import sys

from dcembed.cli.command import main

if __name__ == "__main__":
    sys.exit(main())
