"""word2vec on a small text, and linear maps; needs gensim."""

import numpy as np
import pytest
import torch

pytest.importorskip("gensim")

from dlfa_adapters.analysis.retrieval import linear_map
from dlfa_adapters.analysis.retrieval.linear_map import check_static, learn_map
from dlfa_adapters.analysis.retrieval.word2vec import Word2VecOptions, train_word2vec, train_word2vec_together
from dlfa_adapters.data.vectors import STATE
from dlfa_adapters.encoders import load_tokenizer
from dlfa_adapters.ground.errors import DataError, MissingExtraError
from dlfa_adapters.learning.pretrain import skip_gram

ANIMALS, CARS = ["the cat and the dog eat", "a dog and a cat sleep"], ["cars need new wheels", "wheels move fast cars"]
LINES = (ANIMALS + CARS) * 60
OPTIONS = Word2VecOptions(size=8, window=3, epochs=5)
MANY = Word2VecOptions(size=8, window=3, epochs=150)


def cosine(vectors, a, b):
    return torch.cosine_similarity(vectors.of([a], STATE), vectors.of([b], STATE)).item()


def test_words_of_like_contexts_are_alike():
    words = ["cat", "dog", "Wheels", "cars", "absent"]
    found = train_word2vec(words, LINES, "en", options=MANY)
    assert set(found.rows) == {"cat", "dog", "Wheels", "cars"}
    assert cosine(found, "cat", "dog") > cosine(found, "cat", "cars") + 0.2
    assert cosine(found, "Wheels", "cars") > cosine(found, "Wheels", "dog") + 0.2


def test_the_same_again_and_a_step_an_epoch():
    done = []
    once = train_word2vec(["cat"], LINES, "en", options=OPTIONS, progress=lambda *step: done.append(step))
    assert done == [("word2vec (en)", step, 5) for step in (0, 1, 1, 1, 1, 1)]
    again = train_word2vec(["cat"], LINES, "en", options=OPTIONS)
    assert torch.equal(again.of(["cat"], STATE), once.of(["cat"], STATE))


def test_rare_words_have_no_vector_where_that_is_asked():
    options = Word2VecOptions(size=8, epochs=1, min_count=2)
    assert list(train_word2vec(["cat", "once"], [*LINES, "once"], "en", options=options).rows) == ["cat"]


def test_long_lines_are_not_cut_off(monkeypatch):
    """gensim drops what stands behind 10,000 words of a sentence, without a word."""
    line = " ".join(f"w{i}" for i in range(10_005)) + " the very end"

    def of_end(epochs):
        return train_word2vec(["end"], [line], "en", options=Word2VecOptions(size=4, epochs=epochs)).of(["end"], STATE)

    assert not torch.equal(of_end(1), of_end(3))
    monkeypatch.setattr(skip_gram, "MOST", 10**6)
    assert torch.equal(of_end(1), of_end(3))


def test_all_languages_together_over_the_pieces_of_a_tokenizer(tiny_folder):
    tokenizer = load_tokenizer(str(tiny_folder))  # a letter is a piece
    texts = {"en": ["abc cab"] * 20, "xx": ["abd dab"] * 20}
    words = {"en": ["ab", "cz"], "xx": ["ab", "da", "ü"]}
    found = train_word2vec_together(words, texts, tokenizer, options=OPTIONS)
    assert [list(found[x].rows) for x in ("en", "xx")] == [["ab"], ["ab", "da"]]  # z is not in the text, ü no piece
    assert torch.equal(found["en"].of(["ab"], STATE), found["xx"].of(["ab"], STATE))
    assert not torch.equal(found["xx"].of(["da"], STATE), found["xx"].of(["ab"], STATE))
    empty = train_word2vec_together({"en": ["zz"]}, texts, tokenizer, options=OPTIONS)
    assert tuple(empty["en"].states[STATE].shape) == (0, 8)


def test_there_must_be_text():
    with pytest.raises(DataError, match=r"word2vec \(en\): expected text"):
        train_word2vec(["cat"], ["", " "], "en")


def test_a_map_is_the_best_rotation():
    random = torch.Generator().manual_seed(2)
    first, second = torch.randn(2, 50, 5, generator=random)
    found = learn_map(first, second)
    torch.testing.assert_close(found.rotation @ found.rotation.T, torch.eye(5), atol=1e-5, rtol=0)
    x, y = found(first, second)
    unit = first / first.norm(dim=1, keepdim=True)
    centred = unit - unit.mean(0)
    torch.testing.assert_close(x, centred / centred.norm(dim=1, keepdim=True) @ found.rotation)

    def quality(rotation):
        return (x @ found.rotation.T @ rotation * y).sum().item()

    best = quality(found.rotation)
    for _ in range(200):
        small = 0.1 * torch.randn(5, 5, generator=random)
        assert quality(found.rotation @ torch.matrix_exp(small - small.T)) <= best
    # Kabsch: the sum is that of the singular values.
    values = np.linalg.svd((x @ found.rotation.T).T.double().numpy() @ y.double().numpy(), compute_uv=False)
    assert best == pytest.approx(values.sum(), rel=1e-5)


def test_what_a_map_cannot_be_learnt_on():
    for sizes in ((1, 1), (3, 2)):
        with pytest.raises(DataError, match=f"got {sizes[0]} and {sizes[1]}"):
            learn_map(*(torch.ones(size, 2) for size in sizes))


@pytest.mark.parametrize("missing", ["gensim", "scipy"])
def test_the_extra_is_named_where_it_is_missing(monkeypatch, missing):
    monkeypatch.setattr(linear_map, "find_spec", lambda name: None if name == missing else object())
    with pytest.raises(MissingExtraError, match=rf"need {missing}; type pip install 'dlfa-adapters\[static\]'"):
        check_static()
