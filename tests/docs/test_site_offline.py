"""The built site asks for nothing from elsewhere, works from the file system, and fits wide and narrow screens."""

import importlib.util
import json
import os
import re
import subprocess
import sys
import time
from html.parser import HTMLParser
from pathlib import Path

import pytest
from chromium import Chromium

ROOT = Path(__file__).parents[2]
HOME, TUTORIAL, API = "index.html", "tutorials/first-tagger.html", "reference/api/fusion.html"
PICTURES = ("explanation/dlfa.html", "results/frozen-sweep.html")
WIDE, NARROW = 1280, 390
LOADED = {"script": "src", "img": "src", "iframe": "src", "source": "src", "video": "src", "embed": "src"}
SECONDS = 20

pytestmark = pytest.mark.skipif(importlib.util.find_spec("material") is None, reason="needs the extra docs")


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The site, built once as CI builds it; or the folder that DLFA_SITE names."""
    if "DLFA_SITE" in os.environ:
        return Path(os.environ["DLFA_SITE"])
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "-q", "-d", str(folder)]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    built = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=300, check=False)
    assert built.returncode == 0, built.stderr
    return folder


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    found = Chromium(tmp_path_factory.mktemp("profile"))
    yield found
    found.close()


class _Loads(HTMLParser):
    """Addresses that a browser loads by itself when it opens a page; links that a reader may follow are none."""

    def __init__(self):
        super().__init__()
        self.found = []

    def handle_starttag(self, tag, attrs):
        values = dict(attrs)
        if tag in LOADED and values.get(LOADED[tag]):
            self.found.append(values[LOADED[tag]])
        if tag == "link" and values.get("rel") not in ("canonical", "prev", "next", "edit"):
            self.found.append(values.get("href") or "")


def test_no_page_loads_anything_from_elsewhere(site):
    loads = set()
    for page in site.rglob("*.html"):
        parser = _Loads()
        parser.feed(page.read_text("utf-8"))
        loads |= {(page.name, address) for address in parser.found}
    assert len(loads) > 50
    assert not [(page, address) for page, address in loads if re.match(r"(https?:)?//", address)]
    for sheet in site.rglob("*.css"):
        assert not re.findall(r"(?:url\(|@import)\s*[\"']?(?:https?:)?//[^)\"']*", sheet.read_text("utf-8")), sheet


def test_every_page_is_in_the_navigation(site):
    home = (site / HOME).read_text("utf-8")
    listed = set(re.findall(r'href="([\w/.-]+\.html)"', home))
    pages = {path.relative_to(site).as_posix() for path in site.rglob("*.html")} - {"404.html"}
    assert pages - listed - {HOME} == set()


def test_the_reference_of_the_command_line_has_every_option(site):
    """It is written when the site is built, by `docs/hooks/cli_reference.py`, without PyTorch."""
    code = """if True:
        import json, sys
        sys.path.insert(0, "docs/hooks")
        import cli_reference as reference
        from dlfa_cli.main import app

        def names(command):
            return [name for option in reference.parameters(command) if option.is_option for name in option.names]

        found = {command.name: names(command) for command in reference.commands(app, "dlfa")}
        print(json.dumps([found, sorted({"torch", "adapters"} & set(sys.modules))]))
    """
    ran = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=60, check=True)
    found, heavy = json.loads(ran.stdout)
    assert heavy == []
    assert {"dlfa demo", "dlfa train", "dlfa data check"} < set(found)
    assert {"--train", "--fuse-layer", "-k", "--json"} < set(found["dlfa train"])
    page = (site / "reference/cli.html").read_text("utf-8")
    for command, options in found.items():
        assert f'id="{command.replace(" ", "-")}"' in page
        assert not [option for option in options if f"<code>{option}</code>" not in page], command


def wait_until(browser, expression):
    """Poll a JavaScript expression until it is true."""
    deadline = time.monotonic() + SECONDS
    while not browser.ask(expression):
        assert time.monotonic() < deadline, f"{expression} was never true"
        time.sleep(0.2)


def opened(browser, page, width):
    """Open a page from the file system and wait until its mathematics is set."""
    browser.open(page, width=width)
    wait_until(browser, "!window.MathJax || !!(MathJax.startup && MathJax.startup.promise)")
    browser.ask("window.MathJax ? MathJax.startup.promise.then(() => true) : true")


@pytest.mark.parametrize("width", [WIDE, NARROW])
@pytest.mark.parametrize("page", [HOME, TUTORIAL, API, *PICTURES])
def test_pages_open_without_a_network(browser, site, page, width, tmp_path):
    opened(browser, site / page, width)
    assert [address for address in browser.requests if not address.startswith(("file:", "data:", "blob:"))] == []
    assert browser.requests, "nothing was recorded"
    assert browser.errors == []
    assert browser.overflow() <= 0
    broken = "[...document.images].filter(i => i.complete && !i.naturalWidth).map(i => i.src)"
    assert browser.ask(broken) == []
    out_of_sight = """
        [...document.querySelectorAll("p, h1, h2, table, pre, mjx-container".replace(/[^,]+/g, "article $&"))]
          .filter(e => e.checkVisibility() && !e.closest(".md-typeset__scrollwrap, .diagram, .arithmatex"))
          .filter(e => e.getBoundingClientRect().right > innerWidth + 1).map(e => e.textContent.slice(0, 60))
    """
    assert browser.ask(out_of_sight) == []
    browser.photograph(tmp_path / f"{Path(page).stem}-{width}.png")


@pytest.mark.parametrize("width", [WIDE, NARROW])
def test_equations_are_drawn(browser, site, width):
    opened(browser, site / API, width)
    sizes = browser.ask("[...document.querySelectorAll('.arithmatex svg')].map(s => s.getBoundingClientRect().width)")
    assert len(sizes) > 10
    assert min(sizes) > 3
    text = browser.ask("document.querySelector('article').innerText")
    assert "$$" not in text
    assert "\\mathrm" not in text


def test_search_finds_a_page_from_the_file_system(browser, site):
    browser.open(site / HOME)
    browser.ask("document.querySelector('[data-md-component=search-query]').focus()")
    browser.call("Input.insertText", text="fuse layer")
    wait_until(browser, "document.querySelectorAll('.md-search-result__item').length > 0")
    assert browser.errors == []
    assert [address for address in browser.requests if not address.startswith(("file:", "data:", "blob:"))] == []


def test_both_schemes_are_there(browser, site, tmp_path):
    for page in (HOME, PICTURES[0]):
        colours = []
        for dark in (False, True):
            browser.open(site / page, dark=dark)
            browser.ask("localStorage.clear()")
            browser.open(site / page, dark=dark)
            colours.append(browser.ask("getComputedStyle(document.body).backgroundColor"))
            browser.photograph(tmp_path / f"{Path(page).stem}-{'dark' if dark else 'light'}.png", height=900)
        assert len(set(colours)) == 2
