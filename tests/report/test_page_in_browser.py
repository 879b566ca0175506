"""The HTML report in a headless Chromium: nothing overlaps or sticks out, sorting works, nothing is loaded or run."""

import pytest
from chromium import Chromium

from dlfa_adapters.report import write_report
from dlfa_adapters.tasks import POS, XNLI
from tests.predict.fakes import tagged
from tests.report.pages import HOSTILE, SENTENCES, evaluate, make_run, predict, rows, sweep


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    browser = Chromium(tmp_path_factory.mktemp("profile"))
    yield browser
    browser.close()


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """A page of each kind, with what could break one: long words, many labels, long names, several scripts."""
    folder = tmp_path_factory.mktemp("pages")
    long = {"de": ["Donaudampfschiff" * 12 + "/B-PER fuhr/O", "a/O " * 90], "eng_Latn": [f"{HOSTILE}/B-ORG x/O"]}
    spans = make_run(folder / ("ner-with-a-name-that-is-far-longer-than-anybody-would-type" * 2))
    evaluate(spans, predict(rows({**SENTENCES, **long})), source="x" * 200)
    tags = make_run(folder / "pos", task="pos", labels=list(POS.labels))
    data = tagged("ar", *[" ".join(f"كلمة/{label}" for label in POS.labels)] * 2) + tagged("zh", "我/PRON 在/ADP")
    evaluate(tags, predict(data, POS, first=5, answer=lambda words: ["NOUN"] * len(words)))
    pairs = make_run(folder / "xnli", task="xnli", labels=list(XNLI.labels))
    texts = [{"language": "he", "text": "איש הולך ברחוב", "text_pair": "word " * 80, "label": "neutral"}]
    evaluate(pairs, predict(texts * 3, XNLI, answer=lambda *_: "entailment"))
    layers = sweep(folder / "sweep", layers=24, languages=["en", *[f"x{i}" for i in range(30)]])
    return {
        name: write_report(source, folder / f"{name}.html")
        for name, source in {"spans": spans.folder, "tags": tags.folder, "pairs": pairs.folder, "sweep": layers}.items()
    }


@pytest.mark.parametrize(("width", "dark"), [(1280, False), (390, False), (390, True)])
@pytest.mark.parametrize("name", ["spans", "tags", "pairs", "sweep"])
def test_nothing_overlaps_or_sticks_out(name, width, dark, browser, pages):
    browser.open(pages[name], width, dark=dark)
    browser.ask("document.querySelectorAll('details').forEach(d => { d.open = true; })")
    assert browser.overlaps() == []
    assert browser.overflow() <= 0
    assert browser.requests == [pages[name].as_uri()]
    assert browser.errors == []
    assert browser.ask("window.hacked") is None
    style = "getComputedStyle(document.body)"
    background, text = browser.ask(f"[{style}.backgroundColor, {style}.color]")
    assert (_brightness(background) < _brightness(text)) == dark


def _brightness(colour):
    return sum(float(part) for part in colour.strip("rgb()").split(",")[:3])


def test_the_test_sees_what_overlaps_and_sticks_out(browser, tmp_path):
    wide, picture = '<div style="width:5000px">three</div>', '<img src="http://example.org/x.png">'
    bad = f'<p>one<p style="margin-top:-2em">two{wide}{picture}'
    (tmp_path / "bad.html").write_text(f"<!doctype html><meta charset=utf-8>{bad}", "utf-8")
    browser.open(tmp_path / "bad.html", 390)
    assert [set(pair[:2]) for pair in browser.overlaps()] == [{"one", "two"}]
    assert browser.overflow() > 4000
    assert "http://example.org/x.png" in browser.requests


COLUMN = """
(title => {
  const table = document.querySelector('table.sortable');
  const headers = [...table.tHead.rows[0].cells];
  const at = headers.findIndex(h => h.textContent.startsWith(title));
  if (title !== 'language') headers[at].querySelector('button').click();
  return [headers[at].getAttribute('aria-sort'), [...table.tBodies[0].rows].map(r => r.cells[0].textContent.trim()),
          [...table.tBodies[0].rows].map(r => r.cells[at].dataset.value || '')];
})
"""


def test_a_click_sorts_and_says_so(browser, tmp_path):
    sentences = {"en": ["Anna/B-PER", "it/O"], "de": ["a/O b/O"], "sw": ["Juma/B-PER na/O Ali/B-PER"]}
    data = rows({**sentences, "fr": ["x/O " * 12]})
    run = make_run(tmp_path / "run")
    evaluate(run, predict(data, first=1))
    browser.open(write_report(run.folder))
    assert browser.ask(f"{COLUMN}('language')")[:2] == ["none", ["en source", "de", "sw", "fr"]]
    order, languages, values = browser.ask(f"{COLUMN}('span F1 (lenient)')")
    assert (order, languages) == ("descending", ["en source", "sw", "de", "fr"])  # what is not defined stays last
    assert [float(value) for value in values if value] == [1.0, pytest.approx(2 / 3)]
    assert browser.ask(f"{COLUMN}('span F1 (lenient)')")[:2] == ["ascending", ["sw", "en source", "de", "fr"]]
    assert browser.ask(f"{COLUMN}('words')")[:2] == ["descending", ["fr", "sw", "en source", "de"]]
    assert browser.ask(f"{COLUMN}('family')")[0] == "ascending"
    assert browser.ask("document.querySelector('table.sortable').querySelectorAll('[aria-sort=none]').length") == 6


def test_sorting_works_without_a_mouse(browser, pages):
    browser.open(pages["sweep"])
    browser.ask("document.querySelector('th button').focus()")
    for kind in ("keyDown", "keyUp"):
        browser.call("Input.dispatchKeyEvent", type=kind, key="Enter", windowsVirtualKeyCode=13, text="\r")
    assert browser.ask("document.querySelector('th').getAttribute('aria-sort')") == "ascending"


def test_scripts_that_are_written_from_right_to_left(browser, pages):
    """Where each line begins and ends on the screen, not only what its HTML says."""
    browser.open(pages["spans"])
    browser.ask("document.querySelectorAll('details').forEach(d => { d.open = true; })")
    lines = "[...document.querySelectorAll('p.line')].filter(p => p.lang === '%s' && p.querySelector('mark'))"
    first, second = "p.querySelectorAll('mark')[0]", "p.querySelectorAll('mark')[1]"
    left = f".map(p => [{first}, {second}].filter(Boolean).map(m => m.getBoundingClientRect().left))"
    several = ".filter(pair => pair.length === 2)"
    for language, right_to_left in (("ar", True), ("he", True), ("zh", False), ("hi", False)):
        found = browser.ask(lines % language + left + several)
        assert found, language
        assert all((a > b) == right_to_left for a, b in found), language
    assert "李明PER" in "".join(browser.ask(lines % "zh" + ".map(p => p.textContent)")).replace("\xa0", "")


def test_on_paper_every_example_is_open(browser, pages):
    browser.open(pages["spans"])
    assert browser.ask("[...document.querySelectorAll('details')].every(d => d.open)") is False
    browser.ask("dispatchEvent(new Event('beforeprint'))")
    assert browser.ask("[...document.querySelectorAll('details')].every(d => d.open)") is True


def test_no_other_script_would_run(browser, pages, tmp_path):
    html = pages["spans"].read_text("utf-8")
    (tmp_path / "copy.html").write_text(html.replace("<main>", f"<main>{HOSTILE}"), "utf-8")
    browser.open(tmp_path / "copy.html")
    assert browser.ask("window.hacked") is None
    assert any("Content Security Policy" in error for error in browser.errors)
