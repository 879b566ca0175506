"""Windows of sentences for a parser, and trees from their scores: against a table of scores of a whole sentence."""

import weakref
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from tiny_tokenizer import character_tokenizer

from dlfa_adapters.ground.errors import ConfigError, DataError
from dlfa_adapters.kinds import kind_of_task
from dlfa_adapters.kinds.parsing.assemble import words_of_pieces
from dlfa_adapters.kinds.parsing.decode import best_tree
from dlfa_adapters.kinds.parsing.encode import Trees, collate_words
from dlfa_adapters.kinds.parsing.parser import Parser, tagged
from dlfa_adapters.kinds.parsing.tree import Arc, check_tree
from dlfa_adapters.tasks import PARSE

LABELS = list(PARSE.labels)
WORDS = ["ab", "c", "def", "gh", "i", "jkl"]


@pytest.fixture(scope="module")
def tokenizer():
    return character_tokenizer()


class Oracle:
    """A model whose arc scores are a function of both words, wherever they stand in a row.

    It reads a word from its pieces, so that what it says of two words is the same in every window. A label is the
    number of pieces of the dependent.
    """

    device = torch.device("cpu")

    def __init__(self):
        self.seen = []

    def eval(self):
        return self

    def __call__(self, input_ids, attention_mask, word_ids, word_mask, upos_ids):
        self.seen.append(input_ids.shape)
        batch, words = word_mask.shape
        keys = torch.zeros(batch, words, dtype=torch.double)
        sizes = torch.zeros(batch, words, dtype=torch.long)
        for row in range(batch):
            for word in range(words):
                pieces = input_ids[row][word_ids[row] == word + 1].tolist()
                keys[row, word] = sum((i + 1) * piece for i, piece in enumerate(pieces))
                sizes[row, word] = len(pieces)
        scores = score_of(keys[:, :, None], torch.cat((torch.zeros(batch, 1).double(), keys), 1)[:, None])
        here = torch.cat((torch.ones(batch, 1, dtype=torch.bool), word_mask), 1)
        arcs = scores.masked_fill(~here[:, None], -torch.inf)
        rels = torch.nn.functional.one_hot(sizes, len(LABELS))[:, :, None].expand(-1, -1, words + 1, -1).float()
        return SimpleNamespace(logits=(arcs, rels))


def score_of(dependent, head):
    """Some score without ties."""
    return torch.sin(dependent * 12.9898 + head * 78.233 + 1) * 5


def keys_of(tokenizer, words):
    ids = [tokenizer(word, add_special_tokens=False)["input_ids"] for word in words]
    return torch.tensor([0, *(sum((i + 1) * piece for i, piece in enumerate(each)) for each in ids)]).double()


def parser_of(tokenizer, **options):
    return Parser(Oracle(), tokenizer, LABELS, **{"pooling": "mean", **options})


def test_a_sentence_in_one_window_has_the_best_tree_of_its_scores(tokenizer):
    keys = keys_of(tokenizer, WORDS)
    expected = best_tree(score_of(keys[1:, None], keys[None]).numpy())
    [arcs] = parser_of(tokenizer).predict([WORDS])
    assert [arc.head for arc in arcs] == expected
    assert [arc.deprel for arc in arcs if arc.head] == [
        LABELS[len(word)] for word, head in zip(WORDS, expected, strict=True) if head
    ]
    assert [arc.deprel for arc in arcs if not arc.head] == ["root"]


def words_of(count):
    letters = "abcdefghijklmnopqrstuvwxyz"
    return [letters[i % 26] + letters[i // 26 % 26] + letters[i % 7] for i in range(count)]


@pytest.mark.parametrize(("max_length", "context"), [(23, 10), (50, 24), (514, 64)])
def test_windows_give_the_tree_of_the_arcs_that_they_hold(tokenizer, max_length, context):
    """Each word's scores come from the window that scores it; a head outside it is never taken."""
    words = words_of(200)
    encoded = Trees(tokenizer, tagged([words], None), LABELS, max_length, context, "first")
    assert len(encoded.windows) > 1
    keys = keys_of(tokenizer, words)
    allowed = np.zeros((200, 201), bool)
    for window in encoded.windows:
        held = range(len(window.held))
        for word in window.words:
            allowed[word, 0] = True
            allowed[word, [window.first + 1 + i for i in held]] = True
    scores = np.where(allowed, score_of(keys[1:, None], keys[None]).numpy(), -np.inf)
    [arcs] = parser_of(tokenizer, max_length=max_length, context=context).predict([words])
    assert [arc.head for arc in arcs] == best_tree(scores)
    assert check_tree(arcs) is None
    assert all(allowed[word, arc.head] for word, arc in enumerate(arcs))


def test_a_tree_over_512_pieces_is_one_tree(tokenizer):
    words = words_of(400)  # 1,200 pieces
    parser = parser_of(tokenizer, max_length=512)
    [arcs] = parser.predict([words])
    assert parser.counts.n_windows > 2
    assert parser.counts.words_total == 400
    assert len(arcs) == 400
    assert check_tree(arcs) is None
    assert sum(arc.head == 0 for arc in arcs) == sum(arc.deprel == "root" for arc in arcs) == 1


def test_one_word_no_word_and_words_that_vanish(tokenizer):
    parser = parser_of(tokenizer)
    one, none, vanished = parser.predict([["a"], [], ["", "b", "\u200b"]])
    assert one == [Arc(0, "root")]
    assert none == []
    assert len(vanished) == 3
    assert check_tree(vanished) is None
    assert (parser.counts.n_vanished, parser.counts.n_unk_only) == (1, 1)
    assert parser.predict([]) == []


def test_a_batch_of_one_gives_what_a_full_batch_gives(tokenizer):
    sentences = [words_of(n)[::-1] for n in (1, 7, 30, 2, 90, 12)]
    parser = parser_of(tokenizer, max_length=64, context=32)
    together = parser.predict(sentences)
    assert together == [parser.predict([each])[0] for each in sentences]
    assert together == parser.predict(sentences, max_tokens=1)
    assert {shape[0] for shape in parser.model.seen} > {1}


def test_gold_is_learned_in_the_window_that_scores_a_word_and_only_inside_it(tokenizer):
    words = words_of(40)
    gold = [Arc(0, "root")] + [Arc(i if i % 3 else 1, "nsubj:pass" if i % 2 else "obj") for i in range(1, 40)]
    encoded = Trees(tokenizer, tagged([words], None), LABELS, 32, 15, "first")
    rows = encoded.labelled([gold])
    learned = {}
    for window, row in zip(encoded.windows, rows, strict=True):
        assert len(row.heads) == len(row.rels) == len(window.held)
        for place, (head, rel) in enumerate(zip(row.heads, row.rels, strict=True)):
            word = window.first + place
            if head != -100:
                assert word in window.words
                assert word not in learned
                learned[word] = (head and head + window.first, LABELS[rel])
            else:
                assert rel == -100
    inside = {
        word: (arc.head, arc.deprel.split(":")[0])
        for window in encoded.windows
        for word in window.words
        if (arc := gold[word]).head == 0 or window.first < arc.head <= window.first + len(window.held)
    }
    assert learned == inside
    assert 20 < len(learned) < 40  # heads at word 1 lie outside most windows


def test_pieces_speak_for_words_as_pooling_says(tokenizer):
    for pooling, expected in (
        ("first", [0, 1, 0, 2, 3, 0, 0, 0]),
        ("last", [0, 0, 1, 2, 0, 0, 3, 0]),
        ("mean", [0, 1, 1, 2, 3, 3, 3, 0]),
    ):
        encoded = Trees(tokenizer, tagged([["ab", "c", "def"]], None), LABELS, 64, 32, pooling)
        assert [row.word_ids for row in encoded.rows] == [expected]
    with pytest.raises(ConfigError, match="expected pooling first, last or mean, got 'frist'"):
        words_of_pieces(encoded.windows[0], "frist")


def test_a_batch_is_padded_and_says_so_by_masks(tokenizer):
    inputs = tagged([["ab", "c"], ["d"]], [["NOUN", "VERB"], ["_"]])
    encoded = Trees(tokenizer, inputs, LABELS, 64, 32, "first")
    rows = encoded.labelled([[Arc(2, "nsubj"), Arc(0, "root")], [Arc(0, "unheard-of")]])
    batch = collate_words(rows, tokenizer.pad_token_id)
    assert batch["attention_mask"].tolist() == [[1, 1, 1, 1, 1], [1, 1, 1, 0, 0]]
    assert batch["word_ids"].tolist() == [[0, 1, 0, 2, 0], [0, 1, 0, 0, 0]]
    assert batch["word_mask"].tolist() == [[True, True], [True, False]]
    assert batch["upos_ids"].tolist() == [[8, 16], [0, 0]]  # the tags in the order of the task pos, from 1
    assert batch["labels_arcs"].tolist() == [[2, 0], [0, -100]]
    assert batch["labels_rels"].tolist() == [[LABELS.index("nsubj"), LABELS.index("root")], [-100, -100]]
    assert set(collate_words(encoded.rows, 0)) == set(batch) - {"labels_arcs", "labels_rels"}


def test_subtypes_are_learned_where_the_labels_have_them(tokenizer):
    task = kind_of_task(PARSE).make_task("parse", ["nsubj:pass", "obj"])
    assert task.labels == ("nsubj:pass", "obj", "nsubj", "root")
    encoded = Trees(tokenizer, tagged([["a", "b", "c"]], None), task.labels, 64, 32, "first")
    [row] = encoded.labelled([[Arc(0, "root"), Arc(1, "nsubj:pass"), Arc(1, "nsubj:outer")]])
    assert row.rels == [3, 0, 2]


def test_logits_of_many_batches_may_be_put_below_each_other(tokenizer):
    """As Trainer does with what it is given to keep: padded with -100 in the second axis."""
    sentences = [words_of(n) for n in (3, 9, 5)]
    parser = parser_of(tokenizer)
    encoded = parser.encode(tagged(sentences, None))
    lines = [encoded.kept(parser.model(**collate_words([row], 0)).logits) for row in encoded.rows]
    longest = max(line.shape[1] for line in lines)
    kept = torch.cat([torch.nn.functional.pad(line, (0, longest - line.shape[1]), value=-100) for line in lines])
    assert encoded.decode([(range(3), kept)]) == parser.predict(sentences)


def test_what_is_no_list_of_words_is_refused(tokenizer):
    parser = parser_of(tokenizer)
    with pytest.raises(DataError, match="expected sentence 0 to be a list of words"):
        parser.predict(["a text"])
    with pytest.raises(DataError, match="a part of speech for each word"):
        parser.predict([["a", "b"]], upos=[["NOUN"]])


def test_scores_are_kept_only_until_the_last_window_of_a_sentence_is_there(tokenizer, monkeypatch):
    sentences = [[*WORDS[: 1 + number % 6]] for number in range(40)] + [WORDS * 5]
    plain = Parser(Oracle(), tokenizer, LABELS, max_length=12, context=4)
    encoded = plain.encode(tagged(sentences, None))
    assert len(encoded.windows) > len(sentences) + 4
    alive, most, best = [], [], Trees.best

    def watched(self, rows, logits):
        most.append(sum(ref() is not None for ref in alive))
        lines = best(self, rows, logits)
        alive.append(weakref.ref(lines))
        return lines

    monkeypatch.setattr(Trees, "best", watched)
    parsed = plain.predict(sentences, max_tokens=12)
    assert len(most) > 20
    assert max(most) <= 2  # one that is read, and one whose successor is asked for
    batches = [([row], best(encoded, [row], Oracle()(**encoded.collate([encoded.rows[row]], 0)).logits))
               for row in range(len(encoded.rows))]  # fmt: skip
    assert encoded.collect(batches) == encoded.collect(reversed(batches)) == parsed
