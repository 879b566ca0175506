"""Languages told apart layer by layer: against scikit-learn, by hand, on runs, and on the screen."""

import json
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
import torch
from typer.testing import CliRunner

from dlfa_adapters.analysis import language_id
from dlfa_adapters.analysis.language_id import identify_languages
from dlfa_adapters.analysis.language_id_options import LanguageIdOptions
from dlfa_adapters.analysis.language_id_report import language_id_notes, language_id_tables
from dlfa_adapters.analysis.states import open_encoder, open_run, sentence_states
from dlfa_adapters.data.pairs import encode_texts
from dlfa_adapters.data.text_by_language import PARTS, part_of, read_text_by_language
from dlfa_adapters.ground.errors import ConfigError, DataError, RunError
from dlfa_adapters.learning import train
from dlfa_adapters.predict.load import load_run
from dlfa_adapters.scores.intervals import Estimate
from dlfa_cli.main import app

LETTERS = {"aa": "abcdefgh", "bg": "efghijkl", "cs": "ijklabcd"}
"""A language is made of letters of which each is of two languages, so that short texts cannot be told for sure."""
NER = [(["Anna", "met", "Bob"], ["B-PER", "O", "B-PER"]), (["in", "Rome"], ["O", "B-LOC"])] * 3
QUICK = LanguageIdOptions(epochs=8, learning_rates=(1e-2,), resamples=100)


def sentences(language, number=150):
    random = np.random.default_rng(sorted(LETTERS).index(language))
    words = (
        ["".join(random.choice(list(LETTERS[language]), 3)) for _ in range(random.integers(1, 5))]
        for _ in range(number)
    )
    return [" ".join(each) for each in words]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    root = tmp_path_factory.mktemp("text")
    for language in LETTERS:
        (root / f"{language}.txt").write_text("\n".join(sentences(language)) + "\n", "utf-8")
    return root


@pytest.fixture(scope="module")
def text(folder):
    return read_text_by_language(folder)


@pytest.fixture(scope="module")
def model(tiny_folder):
    return open_encoder(str(tiny_folder))


@pytest.fixture(scope="module")
def report(model, text):
    return identify_languages(model, text, QUICK)


@pytest.fixture(scope="module")
def runs(tiny_folder, tmp_path_factory):
    root = tmp_path_factory.mktemp("runs")
    given = {"train_data": NER, "dev_data": NER, "language": "en", "model": str(tiny_folder), "epochs": 2}
    return {
        name: train("ner", **given, **more, out=root / name)
        for name, more in {
            "last": {"tuning": "features", "fusion": "last"},
            "dlfa": {"tuning": "bottleneck", "fuse_layer": 1, "learning_rate": 1e-2, "batch_size": 3},
        }.items()
    }


def means_by_hand(model, texts):
    """(texts, layers, width): the mean state over the tokens of each text alone."""
    rows = []
    for each in texts:
        ids = torch.tensor([encode_texts(model.tokenizer, [each])[0][0].input_ids])
        with torch.no_grad():
            states = model.model.base_model(ids, output_hidden_states=True).hidden_states
        rows.append(torch.stack([state[0].mean(0) for state in states]))
    return torch.stack(rows)


def test_accuracies_are_about_those_of_logistic_regression(model, text):
    """That of scikit-learn goes on to the optimum of the training part; ours ends where dev stands still."""
    from sklearn.linear_model import LogisticRegression

    options = LanguageIdOptions(epochs=30, learning_rates=(1e-2, 1e-1), resamples=50)
    report = identify_languages(model, text, options)
    parts = {
        name: [(each, language) for language, those in text.part(name).items() for each in those] for name in PARTS
    }
    states = {name: means_by_hand(model, [each for each, _ in rows]).numpy() for name, rows in parts.items()}
    gold = {name: [language for _, language in rows] for name, rows in parts.items()}
    for layer, found in enumerate(report.states):
        other = LogisticRegression(C=1e3, max_iter=1000).fit(states["train"][:, layer], gold["train"])
        predicted = other.predict(states["test"][:, layer])
        right = {x: np.mean([p == x for p, g in zip(predicted, gold["test"], strict=True) if g == x]) for x in LETTERS}
        assert found.accuracy.value == pytest.approx(np.mean(list(right.values())), abs=0.15)
        assert found.accuracy.value > 0.6


def test_a_report_counts_what_was_predicted(model, text, monkeypatch):
    """Accuracies by language, their mean, and who is mixed up with whom, recounted from the predictions."""
    seen = {}

    def spy(heads, data, labels):
        """What the heads say, and for layer k the first language for the first 9 k sentences."""
        seen["gold"], seen["labels"] = [tag for [tag] in data.tags], labels
        predicted = predict(heads, data, labels)
        seen["predicted"] = [[["aa"]] * (9 * k) + tags[9 * k :] for k, tags in enumerate(predicted)]
        return seen["predicted"]

    predict = language_id.predict_heads
    monkeypatch.setattr(language_id, "predict_heads", spy)
    report = identify_languages(model, text, LanguageIdOptions(epochs=3, learning_rates=(1e-2,), resamples=100))
    assert [state.state for state in report.states] == ["0", "1", "2", "3"]
    assert seen["labels"] == list(LETTERS)
    assert len(seen["gold"]) == sum(part_of(each) == "test" for those in text.texts.values() for each in those)
    mixed = 0
    for state, predicted in zip(report.states, seen["predicted"], strict=True):
        pairs = Counter(zip(seen["gold"], (tag for [tag] in predicted), strict=True))
        for language in LETTERS:
            of_it = sum(n for (gold, _), n in pairs.items() if gold == language)
            assert state.languages[language].value == pytest.approx(pairs[language, language] / of_it)
            assert report.sizes[language]["test"] == of_it
        mean = np.mean([each.value for each in state.languages.values()])
        assert state.accuracy.value == pytest.approx(mean)
        assert state.accuracy.low <= mean <= state.accuracy.high
        assert state.mixed_up == {pair: n for pair, n in pairs.items() if pair[0] != pair[1]}
        mixed += sum(state.mixed_up.values())
    assert mixed > 10
    last = report.states[-1]
    assert last.against is None
    for state in report.states[:-1]:
        assert state.against.difference == pytest.approx(state.accuracy.value - last.accuracy.value)
        assert state.against.adjusted_p is not None
    assert len({state.accuracy.value for state in report.states}) > 1


def test_pairs_are_counted_in_both_directions_over_all_states(report):
    times = Counter()
    for state in report.states:
        for (a, b), number in state.mixed_up.items():
            times[frozenset((a, b))] += number
    assert report.pairs() == [tuple(sorted(pair)) for pair in sorted(times, key=lambda p: (-times[p], sorted(p)))]
    assert report.pairs(1) == report.pairs()[:1]


@pytest.mark.parametrize("pooling", ["mean", "sum", "first", "last"])
def test_what_stands_for_a_text(model, text, pooling, monkeypatch):
    kept = {}
    monkeypatch.setattr(
        language_id, "learn_on_states", lambda specs, train, dev, *_, **__: kept.update(train=train, dev=dev) or 1 / 0
    )
    with pytest.raises(ZeroDivisionError):
        identify_languages(model, text, LanguageIdOptions(pooling=pooling))
    data = kept["dev"]
    given = [each for those in text.part("dev").values() for each in those]
    assert [tag for [tag] in data.tags] == [x for x, those in text.part("dev").items() for _ in those]
    for number, each in enumerate(given[:6]):
        ids = torch.tensor([encode_texts(model.tokenizer, [each])[0][0].input_ids])
        with torch.no_grad():
            states = [state[0] for state in model.model.base_model(ids, output_hidden_states=True).hidden_states]
        expected = {
            "mean": lambda s: s.mean(0),
            "sum": lambda s: s.sum(0),
            "first": lambda s: s[0],
            "last": lambda s: s[-1],
        }
        by_hand = torch.stack([expected[pooling](state) for state in states])
        torch.testing.assert_close(data.states.tokens_of([number])[0], by_hand, rtol=1e-4, atol=1e-5)


def test_the_schedule_is_that_of_the_paper(model, text, monkeypatch):
    """Adam, 1e-3, batches of 32, halved on dev; each layer alone, all of them at once."""
    seen = {}

    def spy(specs, train, dev, task, schedule, *, rates, **more):
        seen.update(specs=specs, schedule=schedule, rates=rates, train=len(train.words), dev=len(dev.words))
        return learn(specs, train, dev, task, schedule, rates=rates, **more)

    learn = language_id.learn_on_states
    monkeypatch.setattr(language_id, "learn_on_states", spy)
    steps = []
    identify_languages(model, text, LanguageIdOptions(epochs=3), lambda *step: steps.append(step))
    assert type(seen["schedule"]).__name__ == "Halving"
    assert (seen["schedule"].epochs, seen["schedule"].batch_size) == (3, 32)
    assert [list(map(tuple, each)) for each in seen["rates"]] == [[(1e-3, 0.0)]] * 4
    assert [(spec.name, spec.head.fusion, spec.head.layers) for spec in seen["specs"]] == [
        (str(k), "layer", (k,)) for k in range(4)
    ]
    sizes = {name: sum(map(len, text.part(name).values())) for name in PARTS}
    assert (seen["train"], seen["dev"]) == (sizes["train"], sizes["dev"])
    for stage in {stage for stage, *_ in steps}:
        assert sum(done for name, done, _ in steps if name == stage) == next(t for name, _, t in steps if name == stage)


def test_where_all_rates_come_to_their_end(model, text):
    """At a rate that is much too large dev soon stands still; the bar on the screen is full all the same."""
    steps = []
    options = LanguageIdOptions(epochs=300, learning_rates=(10.0,), resamples=10)
    report = identify_languages(model, text, options, lambda *step: steps.append(step))
    assert all(state.at_end for state in report.states)
    assert "had not come to its end" not in " ".join(language_id_notes([report], None))
    learning = [step for step in steps if step[0].startswith("Learning")]
    total = 300 * -(-sum(map(len, text.part("train").values())) // 32)
    assert sum(done for _, done, _ in learning) == total
    assert learning[-1][1] > 1  # the rest at once


def test_several_rates_of_which_dev_chooses(model, text):
    report = identify_languages(model, text, LanguageIdOptions(epochs=3, learning_rates=(1e-4, 3e-2), resamples=20))
    assert {state.learning_rate for state in report.states} == {3e-2}


def test_the_fused_state_of_a_run(runs, text, monkeypatch):
    """It is what the fusion gives, with the adapters of the run; without an own fusion it is the last layer."""
    report = identify_languages(open_run(runs["dlfa"]), text, QUICK)
    assert (report.name, report.fusion) == (str(runs["dlfa"].folder), "dlfa of layer 1")
    assert [state.state for state in report.states] == ["0", "1", "2", "3", "fused"]
    assert report.fused is report.states[-1]
    assert report.fused.against is not None
    assert report.layers == report.states[:-1]
    assert report.layers[-1].against is None
    same = identify_languages(open_run(runs["last"].folder), text, QUICK)
    last, fused = same.states[-2:]
    assert fused.mixed_up == last.mixed_up
    assert fused.against.difference == 0

    predictor, kept = load_run(runs["dlfa"]), {}
    monkeypatch.setattr(
        language_id, "learn_on_states", lambda specs, train, dev, *_, **__: kept.update(dev=dev) or 1 / 0
    )
    with pytest.raises(ZeroDivisionError):
        identify_languages(open_run(runs["dlfa"]), text, QUICK)
    given = [each for those in text.part("dev").values() for each in those]
    items = encode_texts(predictor.tokenizer, given)[0]
    states = sentence_states(predictor.model, items, predictor.tokenizer.pad_token_id)
    found = kept["dev"].states.tokens_of(range(len(given)))
    torch.testing.assert_close(found, torch.stack(list(states.values()), 1), rtol=1e-4, atol=1e-5)


def test_tables_and_notes(report, folder):
    by_state, by_language, pairs = language_id_tables([report])
    assert (
        by_state.title
        == f"{report.name}: 3 languages, {sum(s['test'] for s in report.sizes.values())} sentences of test"
    )
    assert [row[0] for row in by_state.rows] == ["0", "1", "2", "3"]
    for row, state in zip(by_state.rows, report.states, strict=True):
        assert row[1] == f"{100 * state.accuracy.value:.1f}"
        lowest = min(each.value for each in state.languages.values())
        assert row[4] == f"{100 * lowest:.1f}"
        assert state.languages[row[3]].value == lowest
    assert by_language.header == ["", "test", "0", "1", "2", "3"]
    assert [row[:2] for row in by_language.rows] == [[x, str(s["test"])] for x, s in report.sizes.items()]
    first = report.pairs()[0]
    assert pairs.rows[0] == [
        ", ".join(first),
        *(str(state.mixed_up[first] + state.mixed_up[first[::-1]]) for state in report.states),
    ]
    notes = " ".join(language_id_notes([report], 50))
    total = {part: sum(s[part] for s in report.sizes.values()) for part in PARTS}
    assert f"{total['train']} train, {total['dev']} dev, {total['test']} test" in notes
    assert "mean state over its tokens, special ones included" in notes
    assert "At most 50 sentences of a language" in notes
    assert "had not come to its end in 0, 1, 2, 3; more --epochs" in notes
    assert "Fewer than 30 items in aa" in notes
    assert "At most" not in " ".join(language_id_notes([report], None))


def test_where_nothing_is_wrong_the_interval_says_too_much(report):
    states = [
        replace(state, accuracy=Estimate(value, value, 1.0))
        for state, value in zip(report.states, (0.5, 1, 0.9, 0.8), strict=True)
    ]
    tested = sum(sizes["test"] for sizes in report.sizes.values())
    told = f"up to {300 / tested:.1f} % may be wrong all the same"
    assert told in " ".join(language_id_notes([replace(report, states=states)], None))
    assert "all the same" not in " ".join(language_id_notes([replace(report, states=states[:1])], None))


def test_a_text_that_is_too_long_is_told(model, tmp_path):
    for language in ("de", "en"):
        texts = [f"{language} {i} " + "a " * (200 if i < 3 else 1) for i in range(80)]
        (tmp_path / f"{language}.txt").write_text("\n".join(texts), "utf-8")
    report = identify_languages(model, read_text_by_language(tmp_path), LanguageIdOptions(epochs=1, resamples=10))
    assert report.truncated == 6
    assert "6 sentences were cut" in " ".join(language_id_notes([report], None))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"pooling": "max"}, "pooling must be one of mean, sum, first, last; got 'max'"),
        ({"learning_rates": ()}, "a learning rate or several, got none"),
        ({"learning_rates": (1e-3, 0.0)}, "learning_rate must be a number above 0, got 0"),
        ({"epochs": 0}, "epochs must be a whole number from 1 up"),
        ({"batch_size": 0}, "batch_size must be"),
        ({"resamples": 0}, "at least one resample"),
        ({"seed": -1}, "seed must be"),
    ],
)
def test_options_that_cannot_work(options, message):
    with pytest.raises(ConfigError, match=message):
        LanguageIdOptions(**options)


def test_one_language_is_refused_before_the_encoder_runs(model, folder, monkeypatch):
    monkeypatch.setattr(language_id, "sentence_states", lambda *_: pytest.fail("the encoder ran"))
    with pytest.raises(DataError, match="two or more languages, got aa alone"):
        identify_languages(model, read_text_by_language(folder, ["aa"]))


@pytest.fixture
def command(monkeypatch):
    monkeypatch.setattr("dlfa_cli.screen.quiet_libraries", lambda: None)  # it would silence the rest of the session
    return lambda *arguments: CliRunner().invoke(app, ["analyze", "language-id", *map(str, arguments)])


def test_the_command_prints_and_draws(command, runs, folder, tiny_folder, tmp_path):
    done = command(
        runs["dlfa"].folder, "--model", tiny_folder, "--data", folder, "--limit", 40, "--lr", "1e-2", "--epochs", 3,
        "--resamples", 50, "--plot", tmp_path / "by-layer.svg",
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    lines = [line.split() for line in done.stdout.splitlines()]
    assert [line[0] for line in lines if line and line[0] in "0123fused" and "[" in "".join(line)] == [
        *"0123", *"0123", "fused"
    ]  # fmt: skip
    assert "At most 40 sentences" in done.stdout
    drawing = (tmp_path / "by-layer.svg").read_text("utf-8")
    assert "languages identified" in drawing
    assert "fused" in drawing


def test_the_command_as_json(command, folder, tiny_folder, model):
    done = command(
        "--model", tiny_folder, "--data", folder, "--epochs", 2, "--lr", "1e-2,1e-3", "--languages", "aa,cs", "--json"
    )
    told = json.loads(done.stdout)
    text = read_text_by_language(folder, ["aa", "cs"], 1000)
    assert (told["data"], told["limit"], told["left_out"]) == (str(folder), 1000, dict(text.dropped))
    [found] = told["models"]
    direct = identify_languages(model, text, LanguageIdOptions(epochs=2, learning_rates=(1e-2, 1e-3)))
    assert found["states"] == json.loads(json.dumps(direct.to_dict()["states"]))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "add --data FOLDER"),
        (["--data", "TEXT"], "run folders, or an encoder with --model"),
        (["--data", "TEXT", "--model", "offline", "--plot", "x.jpg"], r"ends in \.svg, \.png, \.pdf, got x\.jpg"),
        (["--data", "TEXT", "--model", "offline", "--languages", "aa"], "got aa alone"),
        (["--data", "TEXT", "--model", "offline", "--pooling", "x"], "pooling must be one of mean"),
        (["--data", "TEXT", "--model", "offline", "--lr", "x"], "expected a rate or several"),
        (["--data", "no-folder", "--model", "offline"], "no-folder: expected a file or a folder"),
        (["nothing", "--data", "TEXT"], "no run folder nothing"),
    ],
)
def test_what_the_command_refuses(command, folder, arguments, message):
    done = command(*(folder if argument == "TEXT" else argument for argument in arguments))
    assert done.exit_code == 1
    with pytest.raises((ConfigError, DataError, RunError), match=message):
        raise done.exception
