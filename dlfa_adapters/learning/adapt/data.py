"""Unlabelled text as rows with hidden pieces: for training a new mask each time, held out in each language one mask."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from dlfa_adapters.data.places import each_place
from dlfa_adapters.ground.errors import ConfigError, DataError
from dlfa_adapters.kinds.encoded import Row
from dlfa_adapters.learning.adapt.rows import Pieces, RowMaker, RowMasking
from dlfa_adapters.learning.adapt.text import Text, UnlabelledText
from dlfa_adapters.learning.language.masking import MaskedDraws
from dlfa_adapters.learning.language.text import LEAST, MaskedText, check_masks, fingerprint_of, hold_out


def mask_domain(
    text: UnlabelledText,
    tokenizer: Any,
    source: Any,
    *,
    whole_words: bool,
    max_length: int,
    count: int,
    seed: int,
) -> MaskedText[dict[str, list[Row]]]:
    """Hold some of the text out in each language, and cut the rest into rows.

    Of a language with fewer than 20 different texts all is learnt from. No copy of what is held out is learnt from, in
    any language.

    Args:
        text: The text.
        tokenizer: A fast one, with a mask token.
        source: Where it is from, for the record.
        whole_words: See `RowMasking`.
        max_length: Most pieces of a row.
        count: How many rows training takes.
        seed: Of the choice, the order and the masks.

    Raises:
        ConfigError: If the tokenizer has no mask token or is slow, or `max_length` leaves no room.
        DataError: If there is too little text.
    """
    check_masks(tokenizer)
    maker, masking = RowMaker(tokenizer, max_length), RowMasking(tokenizer, whole_words)
    if max_length < maker.least_length:
        raise ConfigError(f"max_length must be at least {maker.least_length}, got {max_length}; type 128.")
    held = {x: hold_out(of, seed)[0] for x, of in text.texts.items() if len(set(of)) >= LEAST}
    if not held:
        most = max(map(len, map(set, text.texts.values())))
        raise DataError(
            f"{source}: expected at least {LEAST} different texts in one of the languages, a text a line, got at most "
            f"{most}; name more text, or another split with --split"
        )
    out = {each for texts in held.values() for each in texts}
    pairs = sum(isinstance(each, tuple) for of in text.texts.values() for each in of)

    def rows_of(texts: Sequence[Text], language: str) -> list[Pieces]:
        rows = list(maker.rows(texts, language, language in text.words, bool(pairs)))
        known = [row for row in rows if masking.has_candidates(row)]
        maker.dropped["row_without_known_piece"] += len(rows) - len(known)
        return known

    learnt = [row for x, of in text.texts.items() for row in rows_of([each for each in of if each not in out], x)]
    measured = {language: rows for language, of in held.items() if (rows := rows_of(of, language))}
    if not learnt or not measured:
        raise DataError("the tokenizer knows no piece of this text; name another encoder with --model.")
    fixed = {
        language: [masking(row, np.random.default_rng((seed, 0, i))) for i, row in enumerate(rows)]
        for language, rows in measured.items()
    }
    about = {
        "source": [str(place) for place in each_place(source)],
        "languages": {language: len(of) for language, of in text.texts.items()},
        "pairs": pairs,
        "held_out": sum(map(len, held.values())),
        "rows": len(learnt),
        "pieces": sum(len(row.ids) for row in learnt),
        "dropped": dict(+(text.dropped + maker.dropped)),
        "fingerprint": fingerprint_of(_lines(text.texts)),
    }
    return MaskedText(MaskedDraws(learnt, masking, count, seed), [row.ids for row in learnt], fixed, about)


def _lines(texts: Mapping[str, Sequence[Text]]) -> list[str]:
    """What a training reads, a line each."""
    return [
        f"{language}\t{each if isinstance(each, str) else chr(9).join(each)}"
        for language, of in texts.items()
        for each in of
    ]
