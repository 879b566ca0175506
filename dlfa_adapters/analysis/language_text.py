"""Text of languages, from files or any data, as rows of which every piece or every word counts once."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

from dlfa_adapters.data.alignment import special_ids
from dlfa_adapters.data.assemble import Loaded
from dlfa_adapters.data.backend import marker_ids, plain_backend, special_tokens
from dlfa_adapters.data.layout import UNKNOWN_LANGUAGE
from dlfa_adapters.data.pairs import encode_texts
from dlfa_adapters.data.readers.base import Notes
from dlfa_adapters.data.readers.lines import iter_lines
from dlfa_adapters.data.sources import load_source
from dlfa_adapters.data.windows import make_windows
from dlfa_adapters.data.words import split_words
from dlfa_adapters.encoders.means import CountedRow, some_at_once
from dlfa_adapters.ground.errors import ConfigError, DataError

_AT_ONCE = 256  # texts that are in memory as pieces
_NO_LIMIT = 10**9

Text = str | tuple[str, str | None] | Sequence[str]
"""Running text; a text with its second one, or None; or the words of a sentence."""


@dataclass
class LanguageText:
    """Text of a language, which is read once.

    Attributes:
        texts: All of one sort of `Text`.
        source: Where it comes from.
        total: How many there are.
        dropped: What has been left out so far, by reason.
    """

    texts: Iterable[Text]
    source: str
    total: int
    dropped: Counter[str] = field(default_factory=Counter)


def text_of_files(paths: Sequence[str | Path], limit: int | None = None) -> LanguageText:
    """The lines of some files, one paragraph each; they are never all in memory.

    Args:
        paths: UTF-8 files. They are read twice, so that what is wrong with one is known before a model is loaded.
        limit: Take the first of their lines.

    Raises:
        DataError: If a file cannot be read, or there is nothing in them.
    """
    dropped: Counter[str] = Counter()

    def lines() -> Iterator[str]:
        for path in paths:
            for line in iter_lines(path, Notes(path)):
                if line.strip():
                    yield line
                else:
                    dropped["empty_line"] += 1

    total = sum(1 for _ in islice(lines(), limit))
    if not total:
        raise DataError(f"{paths[0]}: expected lines of text; there are none")
    dropped.clear()
    return LanguageText(islice(lines(), limit), ", ".join(map(str, paths)), total, dropped)


def text_of_data(
    source: str | Path | Iterable[Any],
    task: str | None = None,
    split: str = "train",
    languages: Sequence[str] | None = None,
    limit: int | None = None,
    **reading: Any,
) -> tuple[dict[str, LanguageText], Loaded]:
    """The words or texts of any data, by language, without their labels.

    Args:
        source: See `data.sources.load_source`.
        task: See there.
        split: `train`, `dev` or `test`.
        languages: Those wanted; default: all there are.
        limit: Take only so many sentences or texts from the start of each.
        **reading: `format`, `word_column`, `tag_column`.

    Raises:
        DataError: If the data cannot be read, or do not say in which language they are.
    """
    loaded = load_source(source, task, split, languages, **reading)
    columns = {name: loaded.dataset[name] for name in loaded.dataset.column_names}
    given: Iterable[Text] = columns.get("words") or [
        first if second is None else (first, second)
        for first, second in zip(columns["text"], columns["text_pair"], strict=True)
    ]
    texts: dict[str, list[Text]] = {}
    dropped: dict[str, Counter[str]] = {}
    for language, text in zip(columns["language"], given, strict=True):
        of_it, without = texts.setdefault(language, []), dropped.setdefault(language, Counter())
        if not any(part and part.strip() for part in ([text] if isinstance(text, str) else text)):
            without["no_words"] += 1
        elif limit is None or len(of_it) < limit:
            of_it.append(text)
    if UNKNOWN_LANGUAGE in texts:
        raise DataError(f"{loaded.source}: expected data that say their language; name it with --languages.")
    named = f"{loaded.source} ({split})"
    found = {language: LanguageText(of_it, named, len(of_it), dropped[language]) for language, of_it in texts.items()}
    return found, loaded


class CountedRows:
    """Texts as rows of which every piece or word counts once.

    Args:
        tokenizer: A fast tokenizer.
        unit: See `measure_means`.
        max_length: See `measure_means`.

    Attributes:
        texts: How many there have been.
        dropped: What was left out of them.
    """

    def __init__(self, tokenizer: Any, unit: str, max_length: int) -> None:
        self.tokenizer, self.unit, self.max_length = tokenizer, unit, max_length
        self.texts, self.dropped = 0, Counter[str]()
        backend = plain_backend(tokenizer)
        self.specials, self.around = special_ids(tokenizer), special_tokens(backend)
        self.markers = marker_ids(backend)
        if max_length < len(self.around) + 1:
            raise ConfigError(f"max_length must be at least {len(self.around) + 1}, got {max_length}; type 128.")

    def of(self, texts: Iterable[Text], language: str) -> Iterator[CountedRow]:
        """The rows of some texts."""
        for some in some_at_once(texts, _AT_ONCE):
            self.texts += len(some)
            yield from self._of_some(some, language)

    def _of_some(self, texts: Sequence[Any], language: str) -> Iterator[CountedRow]:
        if all(isinstance(text, str) for text in texts):
            if self.unit == "pieces":
                return self._of_running(texts)
            return self._of_words([split_words(text, language) for text in texts])
        if not all(isinstance(text, tuple) and len(text) == 2 for text in texts):
            return self._of_words(texts)
        if self.unit == "pieces":
            return self._of_pairs(*zip(*texts, strict=True))
        return self._of_words([split_words(text, language) for pair in texts for text in pair])

    def _of_running(self, texts: Sequence[str]) -> Iterator[CountedRow]:
        """Text as it stands; what is longer than a row goes on in the next one."""
        before, after = self.around.before, self.around.after
        room = self.max_length - len(self.around)
        for item in encode_texts(self.tokenizer, texts, max_length=_NO_LIMIT)[0]:
            inside = item.input_ids[len(before) : len(item.input_ids) - len(after)]
            for start in range(0, len(inside), room):
                ids = [*before, *inside[start : start + room], *after]
                yield CountedRow(ids, item.token_type_ids and [item.token_type_ids[0]] * len(ids), self._plain(ids))

    def _of_pairs(self, first: Sequence[str], second: Sequence[str]) -> Iterator[CountedRow]:
        """Pairs in a row each, as a classifier reads them."""
        items, counts = encode_texts(self.tokenizer, first, second, max_length=self.max_length)
        self.dropped["pieces_cut_off"] += counts.pieces_dropped
        for item in items:
            yield CountedRow(*item, self._plain(item.input_ids))

    def _of_words(self, sentences: Sequence[Sequence[str]]) -> Iterator[CountedRow]:
        """Words as a tagger reads them; of those that stand in two windows the one counts in which they are scored."""
        windows, counts = make_windows(self.tokenizer, sentences, max_length=self.max_length, context=0)
        self.dropped["word_cut_off"] += counts.n_giant
        for window in windows:
            weights = [0.0] * len(window.input_ids)
            for start, stop in window.pieces:
                if self.unit == "words":
                    weights[start:stop] = [1 / (stop - start)] * (stop - start)
                else:
                    first = start - (start > 0 and window.input_ids[start - 1] in self.markers)
                    weights[first:stop] = [1.0] * (stop - first)
            yield CountedRow(window.input_ids, None, weights)

    def _plain(self, ids: Sequence[int]) -> list[float]:
        return [float(piece not in self.specials) for piece in ids]
