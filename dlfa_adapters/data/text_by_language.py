"""A folder of text in many languages, and which part of it each text is in: by a hash, so that nothing else decides."""

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from dlfa_adapters.data.languages import as_spelled
from dlfa_adapters.data.layout import UNKNOWN_LANGUAGE, language_of, text_files
from dlfa_adapters.data.places import check_there
from dlfa_adapters.data.readers import Sentence, read_file
from dlfa_adapters.ground.errors import DataError

PARTS = ("train", "dev", "test")

_TENTHS = {0: "test", 1: "dev"}


@dataclass(frozen=True)
class TextByLanguage:
    """Texts in several languages, each text once.

    Attributes:
        texts: By language, sorted; in the order of their hashes, which is no order of theirs.
        dropped: What was left out, by reason.
        limit: Most texts of a language that were taken; None: all.
    """

    texts: dict[str, list[str]]
    dropped: Counter[str]
    limit: int | None = None

    def part(self, name: str) -> dict[str, list[str]]:
        """The texts of a part of `PARTS`, by language."""
        return {language: [text for text in texts if part_of(text) == name] for language, texts in self.texts.items()}

    def check_parts(self) -> None:
        """Refuse text in one language, and languages that have nothing to learn from or to be tested on.

        Raises:
            DataError: If so.
        """
        if len(self.texts) < 2:
            raise DataError(f"expected text in two or more languages, got {', '.join(self.texts)} alone")
        for part in ("train", "test"):
            if lacking := [language for language, texts in self.part(part).items() if not texts]:
                raise DataError(
                    f"expected text for {part} in every language, but the hash puts none there of the texts in "
                    f"{', '.join(lacking)}; add some, or leave these out with --languages"
                )
        if not any(self.part("dev").values()):
            raise DataError("expected text for dev, but the hash puts none there; add some")


def part_of(text: str) -> str:
    """The part that a text is in: of ten texts one in `test`, one in `dev` and eight in `train`, by a hash of the text.

    So a text is in the same part whatever else there is, in whichever order and file.
    """
    return _TENTHS.get(_hash(text) % 10, "train")


def _hash(text: str) -> int:
    """A number of 64 bits: its last digit says the part, its size which texts a limit takes."""
    return int.from_bytes(hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:8], "big")


def read_text_by_language(
    folder: str | Path, languages: Sequence[str] | None = None, limit: int | None = None, format: str | None = None
) -> TextByLanguage:
    """The text of a folder by language.

    The name of a file tells its language, or that of its folder does: `de.txt`, `de/any.txt`, `test-de.tsv`,
    `eng_Latn/test.tsv`. All files of a language are taken together, whichever split they are of. A line is a text; of
    other formats it is the text of an item, both texts of a pair one by one, or the words of a sentence with blanks
    between them. A text that comes again is taken once, and one that stands in several languages, as names and numbers
    do, in none of them.

    Args:
        folder: The folder.
        languages: Only these, as files or folders spell them; default: all.
        limit: Most texts of a language; the hash chooses, not the order in the file.
        format: Of all files, a name of `readers.READERS`; default: detected for each.

    Raises:
        DataError: If there is no such folder, a file cannot be read, or there is no text in one of the languages.
    """
    check_there(folder)
    if not Path(folder).is_dir():
        raise DataError(f"{folder}: expected a folder of text by language, such as de.txt or de/test.tsv, got a file")
    dropped: Counter[str] = Counter()
    by_language: dict[str, list[Path]] = {}
    for path in text_files(Path(folder)):
        by_language.setdefault(language_of(path), []).append(path)
    if unknown := by_language.pop(UNKNOWN_LANGUAGE, []):
        dropped["file_without_language"] += len(unknown)
    if not by_language:
        raise DataError(f"{folder}: expected files of text by language, such as de.txt or de/test.tsv, found none")
    if missing := [language for language in languages or () if language not in by_language]:
        raise DataError(
            f"{folder}: expected text in {', '.join(missing)}, but there is text in {', '.join(by_language)}"
            f"{as_spelled(missing, by_language)}"
        )
    wanted = sorted(set(by_language if languages is None else languages))
    texts = {language: _different(_texts(by_language[language], format, dropped), dropped) for language in wanted}
    times = Counter(text for each in texts.values() for text in each)
    if several := sum(times[text] > 1 for each in texts.values() for text in each):
        dropped["several_languages"] += several
    texts = {x: sorted((t for t in each if times[t] == 1), key=_hash)[:limit] for x, each in texts.items()}
    if empty := [language for language, each in texts.items() if not each]:
        raise DataError(f"{folder}: there is no text of its own in {', '.join(empty)}; leave it out with --languages")
    return TextByLanguage(texts, dropped, limit)


def _texts(files: Iterable[Path], format: str | None, dropped: Counter[str]) -> Iterator[str]:
    """What stands in some files, without blanks around it."""
    for path in files:
        read = read_file(path, format)
        dropped.update(read.dropped)
        for item in read.items:
            for text in [" ".join(item.words)] if isinstance(item, Sentence) else [item.text, item.text_pair]:
                if text is not None and text.strip():
                    yield text.strip()


def _different(texts: Iterable[str], dropped: Counter[str]) -> list[str]:
    """Each text once, in the order in which they come."""
    given = list(texts)
    different = list(dict.fromkeys(given))
    if again := len(given) - len(different):
        dropped["repeated_text"] += again
    return different
