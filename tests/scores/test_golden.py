"""What is written of an evaluation, a comparison and a sweep, letter for letter as files that were saved before.

To write them anew, after a change that is meant to show: `python -m tests.scores.test_golden`.
"""

import json
import re
from pathlib import Path

import numpy as np
import pytest

from dlfa_adapters.learning.frozen import HeadSpec
from dlfa_adapters.learning.rate_choice import Attempt, Pair, RateChoice
from dlfa_adapters.report.page import render_page, report_page
from dlfa_adapters.scores.compare import compare_all
from dlfa_adapters.scores.evaluate import build_report
from dlfa_adapters.scores.show import comparison_markdown, markdown
from dlfa_adapters.sweeps.show import group_table, language_table, sweep_markdown
from dlfa_adapters.sweeps.table import make_table
from dlfa_adapters.sweeps.trainings import SweepResult, SweepRow
from dlfa_adapters.tasks import NER, PAWSX, POS
from tests.predict.fakes import FakeClassifier, FakeTagger, ask, oracle
from tests.report import pages

FOLDER = Path(__file__).parent / "golden"
TEXTS = [f"text {i}" for i in range(12)]


def ner(first=2, name="model"):
    data = pages.rows()
    return ask(FakeTagger(oracle(data, first)), data, name=name)


def pos(name="model"):
    tags = ["NOUN", "VERB", "X", "PUNCT"]
    data = [
        {"language": x, "words": [f"{x}{i}{j}" for j in range(2 + i % 3)],
         "tags": [tags[(i * j) % 4] for j in range(2 + i % 3)]}
        for x in ("en", "de", "ar") for i in range(35)
    ]  # fmt: skip
    return ask(FakeTagger(lambda words: [tags[len(word + words[0]) % 4] for word in words], POS.labels), data, POS)


def pawsx(flip, name="model"):
    """The same pairs in every language; one of them is none, and one language lacks the last."""
    labels = list(PAWSX.labels)
    data = [
        {"language": x, "id": str(i), "label": labels[i % 2],
         "text": "NS" if i == 3 else text, "text_pair": "NS" if i == 3 else f"{text} again"}
        for x in ("en", "de", "fr", "zh") for i, text in enumerate(TEXTS[: 11 if x == "zh" else 12])
    ]  # fmt: skip

    def answer(text, pair):
        return labels[(len(text) + (text in flip)) % 2]

    return ask(FakeClassifier(answer, labels), data, PAWSX, name=name)


def sweep():
    """Two seeds of five heads; in one language few sentences have entities."""
    lengths = {"en": (3, 2, 0, 4, 1), "de": (2, 0, 3, 1), "sw": (0, 0, 2), "zz": (0, 0)}
    layers = {"last": (), "D_1": (1,), "D_2": (2,), "D_3": (3,), "D_1 product": (1,)}
    tried = (Attempt(Pair(0.001), 60.0, 1.0), Attempt(Pair(0.01), 66.0, float("inf")))
    found = []
    for number, (name, fused) in enumerate(layers.items()):
        for seed in (0, 1):
            random = np.random.default_rng([0 if name == "D_3" else number, seed])
            counts, scores = {}, {}
            for language, gold in lengths.items():
                gold = np.array(gold)
                predicted = random.integers(0, gold + 1)
                counts[language] = np.stack([random.integers(0, predicted + 1), predicted, gold], axis=1)
                right, guessed, there = counts[language].sum(0)
                scores[language] = [0.0, 200 * right / (guessed + there) if there else float("nan")]
            spec = HeadSpec.of(name=name, seed=seed, fusion="dlfa" if fused else "last", fuse_layer=fused)
            found.append(
                SweepRow(spec=spec, epoch=2, dev=[50.0, 60.0 + number / 3 + seed], languages=scores, counts=counts,
                         rates=RateChoice(Pair(0.01), tried if number == 1 else ()))
            )  # fmt: skip
    return SweepResult(task=NER, tuning="features", num_layers=3, sources=["en"], rows=found,
                       about={"encoder": {"name": "offline"}})  # fmt: skip


def as_json(value):
    return json.dumps(value, ensure_ascii=False, indent=1, allow_nan=False) + "\n"


def as_lines(table):
    return "\n".join("\t".join(line) for line in (table.header, *table.rows)) + "\n"


def page_of(folder):
    """What a page shows, without its style and script."""
    html = render_page(report_page(folder))
    return re.sub(r"(Written by <code>dlfa report ).*", r"\1", html[html.index("<header>") : html.index("<script>")])


def written(tmp):
    """Every file by name."""
    files = {}
    for name, predictions in {"ner": ner(), "pos": pos(), "pawsx": pawsx(TEXTS[:3]), "one": ner()}.items():
        if name == "one":  # a language alone
            del predictions.languages[1:]
        report = build_report(predictions, resamples=60, seed=1)
        files |= {f"{name}.json": as_json(report.to_dict()), f"{name}.md": markdown(report)}
    models = [ner(first, f"model {first}") for first in (2, 3, 9, 1)]
    pairs = [pawsx(TEXTS[:3], "a"), pawsx(TEXTS[5:9], "b")]
    for name, found in {"models": compare_all(models, resamples=60), "pairs": compare_all(pairs, resamples=60)}.items():
        files[f"compare-{name}.json"] = as_json([x.to_dict() for x in found])
        files[f"compare-{name}.md"] = "\n".join(map(comparison_markdown, found))
    result = sweep()
    table = make_table(result, resamples=60)
    files |= {"sweep.json": as_json(table.to_dict()), "sweep.md": sweep_markdown(result, table)}
    for group in table.groups:
        files[f"sweep-{group}.txt"] = as_lines(group_table(table, group))
    files["sweep-languages.txt"] = as_lines(language_table(table, table.lines))
    files["page-sweep.html"] = page_of(pages.sweep(tmp / "sweep"))
    for name, predictions in {"ner": ner(), "pos": pos(), "pawsx": pawsx(TEXTS[:3])}.items():
        run = pages.make_run(tmp / name)
        folder = pages.evaluate(run, predictions, folder=tmp / f"{name}-saved")
        text = page_of(folder)
        files[f"page-{name}.html"] = text[text.index("<main>") : text.index('<h3 id="evaluation-1-data">')]
    return files


@pytest.fixture(scope="module")
def now(tmp_path_factory):
    return written(tmp_path_factory.mktemp("golden"))


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*")), ids=lambda path: path.name)
def test_what_is_written_is_what_was(path, now):
    before, text = path.read_text("utf-8"), now[path.name]
    if path.suffix == ".json":
        assert close(json.loads(before), json.loads(text))
    else:
        assert text == before


def close(a, b):
    """Equal, floats but for rounding; keys in the same order."""
    if isinstance(a, dict):
        return list(a) == list(b) and all(close(a[key], b[key]) for key in a)
    if isinstance(a, list):
        return len(a) == len(b) and all(map(close, a, b))
    return a == pytest.approx(b, rel=1e-12, abs=1e-12) if isinstance(a, float) and isinstance(b, float) else a == b


def test_no_file_is_missing(now):
    assert set(now) == {path.name for path in FOLDER.iterdir()}


if __name__ == "__main__":
    import tempfile

    with tempfile.TemporaryDirectory() as temporary:
        for file_name, content in written(Path(temporary)).items():
            (FOLDER / file_name).write_text(content, "utf-8")
