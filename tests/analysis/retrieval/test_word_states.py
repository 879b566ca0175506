"""Vectors of words alone and in context: against a forward pass of each place by itself."""

from collections import defaultdict

import pytest
import torch

from dlfa_adapters.analysis.retrieval.word_states import words_alone, words_in_context
from dlfa_adapters.analysis.states import Opened, open_encoder, open_run
from dlfa_adapters.data.words import split_words
from dlfa_adapters.ground.errors import ConfigError
from dlfa_adapters.learning import train

LINES = ["Anna met Bob in Rome.", "The far bank, and Bob.", "nothing here", "bob saw Bob: far, far", "", "In Rome"]
WORDS = ["Bob", "far", "rome", "Bank", "absent", "été"]
NER = [(["Anna", "met", "Bob"], ["B-PER", "O", "B-PER"]), (["in", "Rome"], ["O", "B-LOC"])] * 3


@pytest.fixture(scope="module")
def opened(tiny_folder):
    return open_encoder(str(tiny_folder))


def states_by_hand(opened, words):
    """All states of the pieces of a list of words, and where each word's are: (layers, pieces, width) and ranges."""
    ids, spans = [2], []  # [CLS]
    for word in words:
        pieces = opened.tokenizer(word, add_special_tokens=False).input_ids
        spans.append((len(ids), len(ids) + len(pieces)))
        ids += pieces
    with torch.no_grad():
        out = opened.model.base_model(torch.tensor([[*ids, 3]]), output_hidden_states=True)
    return torch.stack(out.hidden_states)[:, 0], spans


def test_words_alone(opened):
    found = words_alone(opened, WORDS)
    assert list(found.rows) == ["Bob", "far", "rome", "Bank", "absent"]  # of été the tokenizer knows no piece
    assert list(found.states) == ["0", "1", "2", "3"]
    for word in found.rows:
        states, [(start, stop)] = states_by_hand(opened, [word])
        for layer, expected in enumerate(states[:, start:stop].mean(1)):
            torch.testing.assert_close(found.of([word], str(layer))[0], expected, rtol=1e-4, atol=1e-5)


def test_words_in_context_are_means_over_places(opened):
    places = defaultdict(list)
    for line in LINES:
        if not line:
            continue
        words = split_words(line, "en")
        states, spans = states_by_hand(opened, words)
        for word, (start, stop) in zip(words, spans, strict=True):
            places[word.lower()].append(states[:, start:stop].mean(1))
    assert [len(places[word]) for word in ("bob", "far", "rome", "bank")] == [4, 3, 2, 1]
    done = []
    found = words_in_context(opened, WORDS, LINES, "en", progress=lambda *step: done.append(step))
    assert list(found.rows) == ["Bob", "far", "rome", "Bank"]
    for word in found.rows:
        expected = torch.stack(places[word.lower()]).mean(0)
        for layer in range(4):
            torch.testing.assert_close(found.of([word], str(layer))[0], expected[layer], rtol=1e-4, atol=1e-5)
    assert sum(step[1] for step in done) == done[0][2] == 4  # the lines without such a word were not read


def test_the_first_contexts_alone(opened):
    one = words_in_context(opened, WORDS, LINES, "en", contexts=1)
    first = words_in_context(opened, ["Bob"], LINES[:1], "en")
    torch.testing.assert_close(one.of(["Bob"], "3"), first.of(["Bob"], "3"), rtol=1e-4, atol=1e-5)
    two = words_in_context(opened, ["Bob"], LINES[:2], "en")
    found = words_in_context(opened, WORDS, LINES, "en", contexts=2)
    torch.testing.assert_close(found.of(["Bob"], "3"), two.of(["Bob"], "3"), rtol=1e-4, atol=1e-5)
    assert not torch.allclose(found.of(["Bob"], "3"), one.of(["Bob"], "3"), atol=1e-4)
    with pytest.raises(ConfigError, match="one context or more a word, got 0"):
        words_in_context(opened, WORDS, LINES, "en", contexts=0)


def test_two_spellings_of_a_word_are_apart_where_the_text_has_both(opened):
    found = words_in_context(opened, ["Bob", "bob", "far", "FAR"], LINES, "en")
    assert not torch.allclose(found.of(["Bob"], "2"), found.of(["bob"], "2"), atol=1e-4)
    assert list(found.rows) == ["Bob", "bob", "far"]  # far is spelled so each time
    found = words_in_context(opened, ["In", "in"], ["IN a Bank"], "en")
    assert torch.equal(found.of(["In"], "2"), found.of(["in"], "2"))


def test_long_lines_are_cut_into_windows_and_no_place_is_lost(opened):
    line = "a b c " * 30 + "far"
    short = Opened(opened.name, opened.model, opened.tokenizer, max_length=16)
    seen = []
    found = words_in_context(short, ["far", "b"], [line], "en", progress=lambda *step: seen.append(step))
    assert list(found.rows) == ["far", "b"]
    assert seen[0][2] > 5
    whole = words_in_context(opened, ["far"], ["c a b c a b c far"], "en")
    assert found.of(["far"], "0").shape == whole.of(["far"], "0").shape


def test_the_fused_state_of_a_run(tiny_folder, tmp_path):
    run = train(
        "ner", train_data=NER, dev_data=NER, language="en", model=str(tiny_folder), tuning="features", epochs=1,
        batch_size=3, fusion="last", out=tmp_path / "run",
    )  # fmt: skip
    found = words_in_context(open_run(run), WORDS, LINES, "en")
    assert list(found.states) == ["0", "1", "2", "3", "fused"]
    torch.testing.assert_close(found.states["fused"], found.states["3"])
