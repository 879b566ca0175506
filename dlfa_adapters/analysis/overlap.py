"""Which sub-words of the test data of a language were in the training data of the source.

Wu and Dredze 2019, "Beto, Bentz, Becas", arXiv 1904.09077, their Figure 3. With V the set of sub-words of some data and
c(w) how often w occurs in the test data of a language,

    p_type  = 100 |V_train ∩ V_test| / |V_test|
    p_token = 100 Σ c(w) over V_train ∩ V_test / Σ c(w) over V_test

What the paper leaves open, and is done here: all of an item counts, not what a length limit leaves of it; special
tokens, and pieces that only mark the beginning of a word (a bare "▁"), are no sub-words; the unknown piece stands for
other text each time, so it counts as a sub-word of the test data that training does not have.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import chain
from typing import Any

from dlfa_adapters.data.alignment import align_words, special_ids
from dlfa_adapters.data.backend import check_fast, marker_ids, pieces_of, plain_backend
from dlfa_adapters.data.languages import main_code
from dlfa_adapters.ground.errors import DataError
from dlfa_adapters.scores.groups import family_of

_TEXT = ("words", "text", "text_pair")


@dataclass(frozen=True, kw_only=True)
class LanguageOverlap:
    """The test data of a language against the training data of the source.

    Attributes:
        language: As the data spell it.
        family: Its family, or None if the table of families does not have it.
        is_source: Whether it is a language of the training data.
        items: Sentences, texts or pairs of test data.
        types: Different sub-words in them.
        tokens: Sub-words in them.
        p_type: Per cent of the types that are in the training data.
        p_token: Per cent of the tokens whose type is.
        unknown: Per cent of the tokens that the tokenizer does not know.
    """

    language: str
    family: str | None
    is_source: bool
    items: int
    types: int
    tokens: int
    p_type: float
    p_token: float
    unknown: float

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)


def sub_words(tokenizer: Any, columns: Mapping[str, Sequence[Any]]) -> Counter[int]:
    """How often each piece of a tokenizer occurs in some data.

    Args:
        tokenizer: A fast tokenizer.
        columns: What `load_data` gives: `words`, each read as the encoder reads it in a sentence; or `text` and
            `text_pair`, both counted.

    Returns:
        Piece -> times; neither special tokens nor marks of a word's beginning.

    Raises:
        ConfigError: If the tokenizer is slow.
    """
    check_fast(tokenizer)
    backend = plain_backend(tokenizer)
    left_out = special_ids(tokenizer) | marker_ids(backend)
    counts: Counter[int] = Counter()
    if "words" in columns:
        words = Counter(chain.from_iterable(columns["words"]))
        for word, pieces in align_words(tokenizer, words, backend).items():
            for piece in () if pieces.vanished else pieces.ids:
                counts[piece] += words[word]
    else:
        texts = [text for name in ("text", "text_pair") for text in columns.get(name, ()) if text is not None]
        for ids in pieces_of(backend, texts):
            counts.update(ids)
    return Counter({piece: times for piece, times in counts.items() if piece not in left_out})


def measure_overlap(tokenizer: Any, train: Any, test: Any, limit: int | None = None) -> list[LanguageOverlap]:
    """The overlap of the test data of each language with the training data.

    Args:
        tokenizer: A fast tokenizer.
        train: The training data, a dataset of `load_data` in one language or several, all of which count.
        test: Test data, likewise.
        limit: Take the first items of each language of `test`.

    Raises:
        ConfigError: If the tokenizer is slow.
        DataError: If there is no sub-word in some of the data.
    """
    known = sub_words(tokenizer, {name: list(train[name]) for name in _TEXT if name in train.column_names})
    if not known:
        raise DataError("expected training data with sub-words, but the tokenizer leaves none")
    sources = {main_code(language) for language in set(train["language"])}
    unknown, measured = tokenizer.unk_token_id, []
    for language, columns in columns_by_language(test, limit).items():
        counts = sub_words(tokenizer, columns)
        if not counts:
            raise DataError(f"expected test data with sub-words, but the tokenizer leaves none in {language}")
        shared = [piece for piece in counts if piece in known and piece != unknown]
        tokens, family = counts.total(), family_of(language)
        measured.append(
            LanguageOverlap(
                language=language,
                family=family[0] if family else None,
                is_source=main_code(language) in sources,
                items=len(next(iter(columns.values()))),
                types=len(counts),
                tokens=tokens,
                p_type=100 * len(shared) / len(counts),
                p_token=100 * sum(counts[piece] for piece in shared) / tokens,
                unknown=100 * counts[unknown] / tokens,
            )
        )
    return measured


def columns_by_language(data: Any, limit: int | None = None) -> dict[str, dict[str, list[Any]]]:
    """The columns of a dataset of `load_data` that hold text, by language, without sentences that have no word.

    With a limit only the first items of each language are taken.
    """
    columns = {name: list(data[name]) for name in _TEXT if name in data.column_names}
    rows: dict[str, list[int]] = {}
    for row, language in enumerate(data["language"]):
        rows.setdefault(language, [])
        if "words" not in columns or columns["words"][row]:
            rows[language].append(row)
    return {
        language: {name: [values[row] for row in mine[:limit]] for name, values in columns.items()}
        for language, mine in rows.items()
    }
