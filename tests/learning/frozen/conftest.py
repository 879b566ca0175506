"""A few tagged sentences with the states of a tiny encoder."""

import pytest


@pytest.fixture(scope="session")
def encoder(tiny_folder):
    from dlfa_adapters.encoders import load_encoder

    return load_encoder(str(tiny_folder))


SENTENCES = [
    (["Anna", "met", "Bob", "in", "Rome"], ["B-PER", "O", "B-PER", "O", "B-LOC"]),
    (["Rome", "fell"], ["B-LOC", "O"]),
    ([], []),
    (["the", "Red", "Fox", "Club", "met", "in", "Oslo", "and", "in", "Bern"],
     ["O", "B-ORG", "I-ORG", "I-ORG", "O", "O", "B-LOC", "O", "O", "B-LOC"]),
    (["Bob"], ["B-PER"]),
    (["a" * 60, "saw", "Ann", "Lee"], ["O", "O", "B-PER", "I-PER"]),
    (["no", "name", "here"], ["O", "O", "O"]),
]  # fmt: skip


@pytest.fixture(scope="session")
def tagged(encoder):
    """The sentences above with their states; windows of 32 pieces, so that some have more than one."""
    from dlfa_adapters.learning.frozen import encode_tagged

    words, tags = ([list(part) for part in column] for column in zip(*SENTENCES, strict=True))
    return encode_tagged(encoder.model, encoder.tokenizer, words, tags, max_length=32, context=16)
