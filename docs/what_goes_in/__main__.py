"""Write docs/what_goes_in.md."""

from __future__ import annotations

import os
from pathlib import Path

os.environ.setdefault("KERAS_BACKEND", "torch")

from docs.what_goes_in.page import write_page

PAGE = Path(__file__).resolve().parent.parent / "what_goes_in.md"
PAGE.write_text(write_page())
print(f"{PAGE} is written.")
