"""The table of a sweep: means, spread and paired intervals, against sums by hand and against `compare`."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest

from dlfa_adapters.learning.frozen import HeadSpec
from dlfa_adapters.learning.rate_choice import UNKNOWN, Attempt, Pair, RateChoice
from dlfa_adapters.predict import Predicted, Predictions
from dlfa_adapters.scores.compare import compare
from dlfa_adapters.scores.translations import Drawn, Translations
from dlfa_adapters.sweeps.show import group_table, language_table, series, sweep_markdown, sweep_notes
from dlfa_adapters.sweeps.table import SweepTable, make_table
from dlfa_adapters.sweeps.trainings import SweepResult, SweepRow
from dlfa_adapters.tasks import NER, POS

LANGUAGES = ("en", "de", "sw")
LENGTHS = {"en": [4, 3], "de": [5, 1, 4], "sw": [2, 8]}


TRIED = (Attempt(Pair(0.001), 60.0, 1.0), Attempt(Pair(0.01), 66.0, np.inf))


def row(name, seed, right, layers=(), dev=(50.0, 60.0), **spec):
    """A head with so many right words in each sentence of each language."""
    counts = {x: np.stack([np.array(right[x]), np.array(LENGTHS[x])], 1) for x in LANGUAGES}
    languages = {x: [0.0, 100 * sum(right[x]) / sum(LENGTHS[x])] for x in LANGUAGES}
    fusion = "last" if name == "last" else "dlfa"
    spec = HeadSpec.of(name=name, seed=seed, fusion=fusion, fuse_layer=layers, **spec)
    rates = RateChoice(Pair(0.01), TRIED) if name == "D_1" else RateChoice(Pair(0.01))
    return SweepRow(spec=spec, epoch=2, dev=list(dev), languages=languages, counts=counts, rates=rates)


RIGHT = {
    ("last", 0): {"en": [2, 2], "de": [1, 1, 2], "sw": [1, 2]},
    ("last", 1): {"en": [2, 3], "de": [2, 1, 2], "sw": [1, 4]},
    ("D_1", 0): {"en": [4, 3], "de": [4, 0, 3], "sw": [2, 5]},
    ("D_1", 1): {"en": [4, 2], "de": [4, 1, 4], "sw": [2, 4]},
    ("D_2", 0): {"en": [2, 2], "de": [1, 1, 2], "sw": [1, 2]},
    ("D_2", 1): {"en": [2, 3], "de": [2, 1, 2], "sw": [1, 4]},
}


@pytest.fixture(scope="module")
def result():
    layers = {"last": (), "D_1": (1,), "D_2": (2,)}
    found = [
        row(name, seed, right, layers[name], (50, 60 + seed + 5 * (name == "D_1")))
        for (name, seed), right in RIGHT.items()
    ]
    return SweepResult(task=POS, tuning="features", num_layers=2, sources=["en"], rows=found)


@pytest.fixture(scope="module")
def table(result):
    return make_table(result, resamples=400)


def share(name, seed, language):
    return sum(RIGHT[name, seed][language]) / sum(LENGTHS[language])


def test_a_table_is_json_also_where_rates_are_not_known(result):
    whole = make_table(
        replace(result, rows=[replace(row, rates=UNKNOWN) for row in result.rows]), resamples=9
    ).to_dict()
    assert json.loads(json.dumps(whole, allow_nan=False)) == json.loads(json.dumps(whole))
    assert whole["lines"][0]["rates"] == {"head": None, "encoder": None, "tried": []}
    assert RateChoice.from_dict(whole["lines"][0]["rates"]).to_dict() == UNKNOWN.to_dict()


def test_means_and_spread_are_those_by_hand(table):
    line = table.line("D_1")
    targets = [(share("D_1", s, "de") + share("D_1", s, "sw")) / 2 for s in (0, 1)]
    assert (line.seeds, line.epoch, line.dev) == (2, 2.0, 0.655)
    assert line.dev_spread == pytest.approx(math.sqrt(0.5) / 100)
    assert line.means["targets"].value == pytest.approx(sum(targets) / 2)
    assert line.spread["targets"] == pytest.approx(np.std(targets, ddof=1))
    assert line.languages["sw"].value == pytest.approx((share("D_1", 0, "sw") + share("D_1", 1, "sw")) / 2)
    assert line.means["all"].value == pytest.approx(np.mean([share("D_1", s, x) for s in (0, 1) for x in LANGUAGES]))
    low, high = line.means["targets"].low, line.means["targets"].high
    assert low < line.means["targets"].value < high
    assert list(table.groups)[:2] == ["targets", "all"]


def test_differences_are_paired(table):
    against = table.line("D_1").against["targets"]
    expected = table.line("D_1").means["targets"].value - table.line("last").means["targets"].value
    assert set(against) == {"last", "D_2"}
    assert against["last"].difference == pytest.approx(expected)
    assert against["last"].low <= expected <= against["last"].high
    control = table.line("D_2").against["targets"]["last"]  # what both got right is the same
    assert (control.difference, control.low, control.high, control.p_value) == (0, 0, 0, 1)
    assert table.line("last").against["targets"].keys() == {"D_2"}


def test_with_one_seed_the_difference_and_its_interval_are_those_of_compare(result):
    rows = [row for row in result.rows if row.spec.seed == 0 and row.spec.name != "D_2"]
    table = make_table(SweepResult(task=POS, tuning="features", num_layers=2, sources=["en"], rows=rows), resamples=300)

    def predictions(name):
        right = RIGHT[name, 0]
        languages = [
            Predicted(
                language=x, kind="tagging", ids=[str(i) for i in range(len(LENGTHS[x]))],
                inputs=[["w"] * n for n in LENGTHS[x]], gold=[["NOUN"] * n for n in LENGTHS[x]],
                placeholder=[False] * len(LENGTHS[x]),
                predicted=[["NOUN"] * r + ["VERB"] * (n - r) for r, n in zip(right[x], LENGTHS[x], strict=True)],
            )
            for x in LANGUAGES
        ]  # fmt: skip
        return Predictions(name=name, task=POS, source_languages=["en"], languages=languages)

    both = compare(predictions("last"), predictions("D_1"), resamples=300)
    expected = both.means[0].scores["accuracy"]
    found = table.line("D_1").against["targets"]["last"]
    assert found.difference == pytest.approx(expected.difference)
    # `compare` draws for more scores at once, from the same numbers: the resamples are the same
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high))
    assert found.p_value == pytest.approx(expected.p_value)


def test_heads_that_say_the_same_do_not_differ_in_any_resample():
    """Also where many a resample has no score: a language in which one sentence of four has an entity."""
    counts = {"en": np.array([[1, 1, 1]]), "sw": np.array([[0, 0, 0]] * 3 + [[1, 2, 3]] + [[0, 1, 0]] * 2)}
    specs = [
        HeadSpec.of("last", fusion="last"),
        HeadSpec.of("D_1", fuse_layer=(1,)),
        HeadSpec.of("D_2", fuse_layer=(2,)),
    ]
    found = [
        SweepRow(spec=spec, epoch=1, dev=[50.0], languages={"en": [0], "sw": [0]},
                 counts={x: part if spec.name != "D_1" else part // 2 for x, part in counts.items()})
        for spec in specs
    ]  # fmt: skip
    table = make_table(SweepResult(task=NER, tuning="features", num_layers=2, sources=["en"], rows=found))
    line = table.line("last")
    assert line.languages["sw"].low < line.languages["sw"].high
    for difference in (line.against["targets"]["D_2"], table.line("D_2").against["targets"]["last"]):
        assert (difference.difference, difference.low, difference.high, difference.p_value) == (0, 0, 0, 1)
        assert (difference.simultaneous_low, difference.simultaneous_high, difference.adjusted_p) == (0, 0, 1)


def test_all_heads_are_tested_at_once(result, table):
    against = {name: table.line(name).against["targets"] for name in ("last", "D_1", "D_2")}
    found = against["D_1"]["last"]
    assert found.difference == pytest.approx((found.simultaneous_low + found.simultaneous_high) / 2)
    assert found.simultaneous_high - found.simultaneous_low > 0
    assert found.adjusted_p >= 1 / 401
    same = against["D_2"]["last"]  # a head that does not differ from another in any resample
    assert (same.simultaneous_low, same.simultaneous_high, same.adjusted_p) == (0, 0, 1)
    assert "for all 2 at once (max-T)" in " ".join(sweep_notes(result, table))
    two = [row for row in result.rows if row.spec.name != "D_2"]
    alone = make_table(SweepResult(task=POS, tuning="features", num_layers=2, sources=["en"], rows=two), resamples=400)
    assert alone.line("D_1").against["targets"]["last"].adjusted_p is None
    assert "at once" not in " ".join(sweep_notes(result, alone))


def test_translations_are_drawn_together(result):
    """The same scores in both languages: the mean over them is no surer than one."""
    rows = [
        SweepRow(spec=r.spec, epoch=r.epoch, dev=r.dev, languages=r.languages,
                 counts={x: r.counts["de"] for x in LANGUAGES})
        for r in result.rows
    ]  # fmt: skip
    drawn = Drawn(together=True, by="index_id", shared=3, alone=0, sentence="Languages are resampled together.")
    keys = {language: ["id 1", "id 2", "id 3"] for language in LANGUAGES}
    both = [
        make_table(
            SweepResult(task=POS, tuning="features", num_layers=2, sources=["en"], rows=rows, translations=found),
            resamples=400,
        )
        for found in (Translations(keys, drawn), None)
    ]
    (mean, one), (apart, _) = (
        (table.line("D_1").means["targets"], table.line("D_1").languages["de"]) for table in both
    )
    assert (mean.low, mean.high) == pytest.approx((one.low, one.high))
    assert apart.high - apart.low < mean.high - mean.low
    assert "Languages are resampled together" in sweep_markdown(result, both[0])
    assert both[0].to_dict()["drawn"]["by"] == "index_id"


def test_a_language_without_a_score_is_left_out_of_the_mean(result):
    empty = [
        SweepRow(
            spec=r.spec, epoch=r.epoch, dev=r.dev, languages=r.languages, counts={**r.counts, "sw": r.counts["sw"] * 0}
        )
        for r in result.rows
    ]
    table = make_table(SweepResult(task=POS, tuning="full", num_layers=2, sources=["en"], rows=empty), resamples=50)
    line = table.line("D_1")
    assert line.languages["sw"].value is None
    assert line.languages["sw"].low is None
    assert line.means["targets"].value == pytest.approx(line.languages["de"].value)


def test_the_best_head_is_chosen_on_dev_by_the_mean_over_seeds(result):
    assert (result.best().spec.name, result.best().spec.seed) == ("D_1", 1)
    lucky = row("D_2", 2, RIGHT["D_2", 0], (2,), (0, 66.5))
    with_lucky = SweepResult(task=POS, tuning="features", num_layers=2, sources=["en"], rows=[*result.rows, lucky])
    assert with_lucky.best().spec.name == "D_1"


def test_rows_of_text(result, table):
    shown = group_table(table, "targets")
    found = shown.rows
    assert shown.header == ["", "rate", "epoch", "dev", "targets (without en)", "95 %", "against last", "against D_2"]
    assert [cells[0] for cells in found] == ["last", "D_1", "D_2"]
    assert found[1][:5] == ["D_1", "0.01!", "2.0", "65.5 ± 0.7", "72.5 ± 3.5"]
    assert found[1][6].startswith("+30.0 [")
    assert found[2][6] == "+0.0 [+0.0, +0.0]"
    assert found[0][6] == ""
    shown = language_table(table, table.lines)
    assert shown.header == ["", "last", "D_1", "D_2"]
    assert shown.rows[2] == ["sw", "40.0", "65.0", "40.0"]


def table_in_percent(table):
    """What is written of it, but for rounding."""
    return json.loads(json.dumps(table.to_dict()), parse_float=lambda text: round(float(text), 9))


def test_all_of_it_is_json_and_read_again(table):
    told = json.loads(json.dumps(table.to_dict(), allow_nan=False))
    assert told["lines"][1]["dev"] == pytest.approx(65.5)  # percent in the file
    assert table_in_percent(SweepTable.from_dict(told)) == table_in_percent(table)
    assert told["lines"][1]["rates"]["tried"][1] == {"head": 0.01, "encoder": None, "dev": 66.0, "loss": None}


def test_the_notes_say_what_must_be_known(result, table):
    text = " ".join(sweep_notes(result, table))
    for expected in ("2 seeds", "not over seeds", "English dev", "D_1 (seed 1, epoch 2, dev 66.00)", "by algebra"):
        assert expected in text, expected
    text = sweep_markdown(result, table)
    assert "rate: the head's, the best on dev of 0.001, 0.01, which each" in text
    assert "another may be better (D_1)" in text
    assert "| D_1 | 0.01! | 2.0 | 65.5 ± 0.7 |" in text
    assert "## By language" in text


def test_what_is_one_line_in_a_plot():
    specs = [
        ("last", ()),
        ("D_1", (1,)),
        ("D_12", (12,)),
        ("D_1 product", (1,)),
        ("layer 1", (1,)),
        ("D_1 r=1", (1,)),
        ("D_2-1", (2, 1)),
    ]
    found = [row(name, 0, RIGHT["last", 0], layers) for name, layers in specs]
    result = SweepResult(task=POS, tuning="features", num_layers=12, sources=["en"], rows=found)
    assert series(result) == {
        "D_k": {1: "D_1", 12: "D_12"}, "D_k product": {1: "D_1 product"}, "layer k": {1: "layer 1"},
        "D_k r=1": {1: "D_1 r=1"},
    }  # fmt: skip
