"""The site of the documentation: its code runs, all pages are in it, it builds without a warning, and its links lead somewhere."""

from __future__ import annotations

import ast
import html
import importlib
import re
import subprocess
import sys
import tomllib
from importlib.util import find_spec
from pathlib import Path

import pytest

import dcembed
from browser import check_site, find_browser
from dcembed.options import SEARCHES
from dcembed.run.table import COLUMNS_WITH_BOUNDS, titles
from html_links import find_broken_links
from page_code import Block, count_python, find_blocks, run_blocks, says_the_same

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
PAGES = sorted(DOCS.rglob("*.md"))
SCRIPTS = sorted((ROOT / "gallery").glob("*.py"))
# This page, and those that it lists, are made of them when the site is built.
GALLERY = "gallery/index"
# Whatever a reader may type in: the pages of the site, and those that they include.
READ = [*PAGES, *sorted(ROOT.glob("*.md")), ROOT / "benchmarks" / "README.md"]
# The scripts of these pages are files beside them, which tests/test_coming_from.py runs.
WITH_SCRIPTS = sorted(path for path in (DOCS / "coming_from").glob("*.md") if path.stem != "index")
WITH_CODE = [page for page in READ if page not in WITH_SCRIPTS and find_blocks(page.read_text())]
# Blocks that nothing runs; a page gives the reason.
NOT_RUN = {
    "docs/many_machines.md: needs a cluster with SLURM",
    "docs/many_machines.md: needs a Kubernetes cluster",
    "docs/many_machines.md: is started by mpiexec; tests/crew runs it so",
}
FRAMEWORKS = ("pytorch", "onnx", "keras", "scikit_learn")
HOSTS = ("pyomo", "cvxpy", "gurobipy", "pyscipopt", "linopy")
FRONT_ENDS = ("pyomo", "omlt", "cvxpy", "gurobipy", "pyscipopt", "linopy")
BUILT_WITH = (
    "sphinx",
    "furo",
    "myst_parser",
    "sphinx_copybutton",
    "sphinx_gallery",
    "matplotlib",
    "pandas",
    "sklearn",
    "torch",
    *FRONT_ENDS,
)


def missing_packages(names):
    return [name for name in names if find_spec(name) is None]


def imported(code):
    nodes = list(ast.walk(ast.parse(code)))
    names = [alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names]
    names += [node.module for node in nodes if isinstance(node, ast.ImportFrom) and node.module]
    return {name.partition(".")[0] for name in names}


def name_of(page):
    return str(page.relative_to(ROOT))


@pytest.mark.parametrize("page", WITH_CODE, ids=name_of)
def test_the_code_of_a_page_runs_and_prints_what_is_shown(page, tmp_path):
    blocks = [block for block in find_blocks(page.read_text()) if block.not_run is None]
    missing = missing_packages(sorted(set().union(*(imported(block.code) for block in blocks if block.language == "python"))))
    if missing:
        pytest.skip(f"the code of {page.name} needs {', '.join(missing)}")
    for block, printed in zip(blocks, run_blocks(blocks, tmp_path), strict=True):
        assert block.shown is None or says_the_same(printed, block.shown), f"{block.code}\nprints\n{printed}"


@pytest.mark.parametrize("page", READ, ids=name_of)
def test_no_python_of_a_page_escapes(page):
    """It is run by the test above, is a file that tests/test_coming_from.py runs, or has a reason that is listed here."""
    text = page.read_text()
    blocks = [block for block in find_blocks(text) if block.language == "python"]
    assert count_python(text) == len(blocks)
    if page in WITH_SCRIPTS:
        assert all(block.code in {script.read_text() for script in page.parent.glob(f"{page.stem}_*.py")} for block in blocks)


def test_the_blocks_that_nothing_runs_are_few_and_say_why():
    reasons = [f"{name_of(page)}: {block.not_run}" for page in READ for block in find_blocks(page.read_text()) if block.not_run]
    assert len(reasons) == len(NOT_RUN)
    assert set(reasons) == NOT_RUN


def test_the_pages_that_teach_show_what_their_code_prints():
    showing = {page.stem for page in WITH_CODE if any(block.shown for block in find_blocks(page.read_text()))}
    assert {"README", "index", "start", "on_off", "reading", "tuning", "bounds", "saving", *FRAMEWORKS, *HOSTS} <= showing


def test_code_that_hides_from_the_test_is_counted():
    page = "<!--\n```python\nx = 1\n```\n-->\n<!-- not run: needs a moon -->\n```python\ny = 2\n```\n\n```text\n2\n```\n"
    assert find_blocks(page) == [Block("python", "x = 1\n", None), Block("python", "y = 2\n", "2\n", "needs a moon")]
    assert count_python(page) == 2
    for other in ("~~~python\n", "   ```python\n", "```{code-block} python\n", "```py\n", "````python title\n", "> ```python\n"):
        assert count_python(other + "z = 3\n") == 1


def test_a_page_that_shows_something_else_is_found_out():
    shown = "OPTIMAL -3.2744 [1.6454 0.    ]\n"
    assert says_the_same("Restricted license - until 2030\nOPTIMAL -3.27441 [ 1.6454 -0.]", shown)
    assert not says_the_same("OPTIMAL -3.2644 [1.6454 0.]", shown)
    assert not says_the_same("LOCALLY_SOLVED -3.2744 [1.6454 0.]", shown)
    assert not says_the_same("OPTIMAL -3.2744 [1.6454]", shown)


def listed_below(name):
    """The pages in the tables of contents of a page, and in those of these pages."""
    if name == GALLERY:
        return []
    tables = re.findall(r"^```\{toctree\}\n(?::[^\n]*\n)*\n(.*?)^```$", (DOCS / f"{name}.md").read_text(), re.DOTALL | re.MULTILINE)
    listed = [str((DOCS / name).parent.relative_to(DOCS) / entry) for table in tables for entry in table.split()]
    return listed + [page for entry in listed for page in listed_below(entry)]


def test_every_page_is_in_a_table_of_contents_once():
    assert sorted(["index", *listed_below("index")]) == sorted([GALLERY, *(str(page.relative_to(DOCS).with_suffix("")) for page in PAGES)])


def test_every_table_of_the_race_is_on_its_page():
    page = (DOCS / "measured" / "races.md").read_text()
    tables = sorted((ROOT / "benchmarks" / "results" / "race").glob("*.md"))
    assert [table.name for table in tables if f"results/race/{table.name}\n" not in page] == []


# What pages say, and the code knows


def test_every_extra_is_on_the_page_that_says_how_to_install():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    install = (DOCS / "start.md").read_text().partition("## The problem")[0]
    assert [name for name in extras if name not in ("bench", "docs", "test") and f"`{name}`" not in install] == []


def test_every_status_and_the_columns_of_the_log_are_explained():
    page = (DOCS / "reading.md").read_text()
    assert [status.name for status in dcembed.Status if f"`{status.name}`" not in page] == []
    assert titles(COLUMNS_WITH_BOUNDS) in page.splitlines()


def test_every_search_and_the_default_tolerances_are_on_the_page_about_tuning():
    page = (DOCS / "tuning.md").read_text()
    assert [search for search in SEARCHES if f'| `"{search}"`' not in page] == []
    options = dcembed.Options()
    for name in ("feasibility_tol", "objective_tol", "gap_tol"):
        shown = re.search(rf"\| `{name}` \| (\S+) \|", page)
        assert shown is not None
        assert float(shown[1]) == getattr(options, name)


def test_the_page_on_citing_says_what_the_citation_file_says():
    citation, page = (ROOT / "CITATION.cff").read_text(), (DOCS / "citing.md").read_text()
    authors = re.findall(r"family-names: (.+)\n\s+given-names: (.+)\n", citation + "\n")
    assert "author = {" + " and ".join(", ".join(author) for author in authors) + "}" in page
    assert "title  = {" + re.search(r'\n  title: "(.+)"', citation)[1] + "}" in page
    assert "version = {" + re.search(r"\nversion: (.+)", citation)[1] + "}" in page


# The built site


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    missing = missing_packages(BUILT_WITH)
    if missing:
        pytest.skip(f'building the site needs {", ".join(missing)}: pip install ".[docs]"')
    folder = tmp_path_factory.mktemp("site")
    # Scripts of the gallery are run also where their pages are there from an earlier build: the package has changed since.
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-D", "sphinx_gallery_conf.run_stale_examples=True"]
    command += ["-d", str(folder / "read"), str(DOCS), str(folder / "site")]
    build = subprocess.run(command, capture_output=True, text=True, timeout=850, cwd=ROOT)
    assert build.returncode == 0, build.stderr
    return folder / "site"


def test_every_link_of_the_site_leads_somewhere(site):
    assert find_broken_links(site) == []


def test_links_to_files_elsewhere_lead_to_their_pages_or_are_downloads(site):
    page = (site / "again_and_again.html").read_text()
    assert 'href="measured/control.html"' in page
    assert re.search(r'href="_downloads/\w+/mpc.py"', page)
    assert 'href="many_machines.html"' in (site / "changelog.html").read_text()
    assert len(list((site / "_images").glob("*.png"))) >= 3


def test_links_to_scripts_of_the_gallery_lead_to_their_pages(site):
    assert 'href="gallery/heat_pump.html"' in (site / "pyomo.html").read_text()
    assert '<a class="reference internal" href="gallery/index.html">' in (site / "index.html").read_text().partition("you want to")[2]


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_a_script_of_the_gallery_has_a_page_with_its_output_and_pictures(script, site):
    page = (site / "gallery" / f"{script.stem}.html").read_text()
    pictures = set(re.findall(rf'src="\.\./_images/(sphx_glr_{script.stem}_\d+\.png)"', page))
    assert pictures
    assert all((site / "_images" / picture).stat().st_size > 5_000 for picture in pictures)
    printed = html.unescape(re.sub(r"<[^>]+>", "", "\n".join(re.findall(r'<div class="sphx-glr-script-out.*?</pre>', page, re.DOTALL))))
    assert re.search(r"^Status +(?:OPTIMAL|LOCALLY_SOLVED|TIME_LIMIT)$", printed, re.MULTILINE)
    assert re.search(r"^Point +.*\(feasible, tolerance", printed, re.MULTILINE)
    assert "NOT feasible" not in printed
    assert "Total running time" not in page
    for kind in ("py", "ipynb"):
        assert re.search(rf'href="\.\./_downloads/\w+/{script.stem}\.{kind}"', page)


def test_a_script_that_fails_fails_the_build(tmp_path):
    pytest.importorskip("sphinx_gallery")
    for folder in ("docs", "gallery"):
        (tmp_path / folder).mkdir()
    (tmp_path / "gallery" / "GALLERY_HEADER.rst").write_text("Gallery\n=======\n")
    (tmp_path / "gallery" / "broken.py").write_text('"""\nBroken\n======\n\nText.\n"""\n\nraise ValueError("the plan is wrong")\n')
    (tmp_path / "docs" / "index.rst").write_text("Index\n=====\n\n.. toctree::\n\n   gallery/index\n")
    settings = re.search(r"^sphinx_gallery_conf = \{.*?^\}$", (DOCS / "conf.py").read_text(), re.DOTALL | re.MULTILINE)
    (tmp_path / "docs" / "conf.py").write_text(f'extensions = ["sphinx_gallery.gen_gallery"]\n{settings[0]}\n')
    command = [sys.executable, "-m", "sphinx", "-q", str(tmp_path / "docs"), str(tmp_path / "site")]
    build = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert build.returncode != 0
    assert "the plan is wrong" in build.stderr


@pytest.mark.parametrize("module", ["dcembed", *(f"dcembed.{name}" for name in FRONT_ENDS)])
def test_every_public_name_is_in_the_reference(module, site):
    documented = "".join(path.read_text() for path in sorted((site / "reference").glob("*.html")))
    common = {"Extraction": "dcembed.frontends.contract", "DcembedError": "dcembed.errors", "NoSolutionError": "dcembed.errors"}
    names = [name for name in importlib.import_module(module).__all__ if name != "__version__"]
    assert [name for name in names if f'id="{common.get(name, module)}.{name}"' not in documented] == []


def test_bars_and_stars_in_docstrings_are_shown_as_they_are(site):
    options = (site / "reference" / "solving.html").read_text()
    assert "The gap |F - bound| / |F| that counts as closed" in options


def test_a_link_that_leads_nowhere_is_found(tmp_path):
    (tmp_path / "other.html").write_text('<p id="here">')
    (tmp_path / "page.html").write_text(
        '<a href="other.html#here"></a><a href="https://example.org/x"></a><a href="#"></a>'
        '<a href="other.html#there"></a><a href="gone.html"></a><img src="gone.png">'
    )
    assert find_broken_links(tmp_path) == ["page.html: other.html#there", "page.html: gone.html", "page.html: gone.png"]


# In a browser


@pytest.fixture
def chromium():
    if find_spec("selenium") is None:
        pytest.skip("selenium is not installed")
    if find_browser() is None:
        pytest.skip("there is no Chromium with its driver: apt-get install chromium chromium-driver")


def test_pages_open_in_a_browser_without_an_error(site, chromium):
    """`make browser` opens all of them."""
    assert check_site(site, ["index", "theory", "hosts"]) == []


def test_a_page_that_is_broken_is_found_by_the_browser(tmp_path, chromium):
    (tmp_path / "page.html").write_text(
        '<!doctype html><meta name="viewport" content="width=device-width"><img src="gone.png"><div class="math">\\sum x</div>'
        '<div style="width: 600px">wide</div><script>console.error("oh")</script><script src="http://127.0.0.1:9/other.js"></script>'
    )
    found = "\n".join(check_site(tmp_path, ["page"]))
    for problem in (
        'console: .*"oh"',
        "404: .*gone.png",
        "does not show: .*gone.png",
        "asks another server: .*other.js",
        r"not rendered: \\sum x",
    ):
        assert re.search(rf"^page \(desktop\): .*{problem}", found, re.MULTILINE), found
    assert re.search(r"^page \(phone\): 2\d\d pixels wider", found, re.MULTILINE), found
