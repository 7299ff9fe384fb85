"""What is said about the package in several places is the same everywhere."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import dcembed

ROOT = Path(__file__).resolve().parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def test_the_version_has_its_section_in_the_changelog():
    heading = re.search(r"^## (?:Unreleased \((.+)\)|(\S+) \(\d{4}-\d\d-\d\d\))$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert heading is not None
    unreleased, released = heading.groups()
    assert dcembed.__version__ == (released or f"{unreleased}.dev0")


def test_the_citation_is_of_the_newest_release():
    version, date = re.findall(r"^## (\S+) \((\d{4}-\d\d-\d\d)\)$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)[0]
    citation = (ROOT / "CITATION.cff").read_text()
    assert f"\nversion: {version}\n" in citation
    assert f"\ndate-released: {date}\n" in citation


def test_the_readme_shows_the_log_of_this_version():
    assert f"dcembed {dcembed.__version__} on highs\n  method    penalty convex-concave procedure" in (ROOT / "README.md").read_text()


def test_every_python_that_is_promised_is_tested():
    promised = [text.rpartition(" ")[2] for text in PROJECT["classifiers"] if re.search(r":: 3\.\d+$", text)]
    workflow = (ROOT / ".github" / "workflows" / "ci.yml").read_text()
    # All tests, and the wheel without extras.
    assert workflow.count("python: [" + ", ".join(f'"{version}"' for version in promised) + "]") == 2
    assert PROJECT["requires-python"] == f">={promised[0]}"
