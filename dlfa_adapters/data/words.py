"""Running text into words, the way the corpora split it (Universal Dependencies, WikiANN/PAN-X).

This is for text that comes without words, as in `predict`; a corpus brings its own. Only white space is ever lost:
`"".join(split_words(text)) == "".join(text.split())`.
"""

from collections.abc import Sequence

import regex

CHARACTER_LANGUAGES = frozenset("zh ja yue wuu gan hak lzh cmn zho jpn".split())
"""Languages that PAN-X splits into single characters."""

_ENGLISH = frozenset(["en", "eng"])
_ELIDING = frozenset("fr it ca oc fra ita cat oci".split())
_ELIDED = (
    "c d j l m n s t v qu jusqu lorsqu puisqu quoiqu "
    "all dall dell nell sull coll quell bell gl un quest sant tutt nient anch com dov cos"
).split()
_CJK = r"\p{Han}\p{Hiragana}\p{Katakana}ー々〆〇ｰ"
_NO_BLANKS = r"\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}"
_KEYCAP = r"[0-9\#*]\ufe0f?\u20e3"
_FLAG = r"\p{RI}{1,2}[\p{GCB=Extend}\p{GCB=ZWJ}\p{GCB=SpacingMark}]*"  # \X looks back over all flags before one
_LETTER = rf"(?:(?!{_KEYCAP})[[\p{{L}}\p{{M}}\p{{N}}\p{{Cf}}_]--[{_CJK}{_NO_BLANKS}]])"
_URL_CHARACTER = rf"[^\s<>\"“”«»{_CJK}\u3000-\u303f\uff00-\uffef]"

# What may stand inside a word: hyphens, apostrophes, "&" (R&D) and the Catalan and Hebrew points between letters; dots,
# commas, colons, slashes and apostrophes between digits (1,250.5, 12:30, 1/2).
_JOINT = (
    r"(?:(?<=[\p{L}\p{M}\p{N}_])(?:[-‐‑'’＇&·]|(?<=\p{Hebrew}\p{M}*)[\"״׳](?=\p{Hebrew}))(?=[\p{L}\p{N}_])"
    r"|(?<=\p{N})[.,:/٫٬](?=\p{N}))"
)
_ABBREVIATION = (
    r"(?<![\p{L}\p{N}])(?:\p{L}\p{M}*(?:\.\p{L}\p{M}*)+\.?(?![\p{L}\p{N}])|Ph\.D\."
    r"|(?:Mrs?|Ms|Dr|Prof|St|Jr|Sra?|Sta|vs|etc|Inc|Ltd|Corp|Vol|bzw|usw|evtl|ca|Nr|Hr|Ing|Gen|Col|Lt|Sgt)\.)"
)

_TOKEN = regex.compile(
    rf"""
      (?:[a-zA-Z][a-zA-Z0-9+.-]{{1,15}}://|[wW]{{3}}\.)                # URLs, without a last full stop or bracket
      (?:{_URL_CHARACTER}*[\p{{L}}\p{{N}}/=_\#](?:(?<=\([^\s()]{{0,80}})\))?)?
    | [\p{{L}}\p{{N}}][\p{{L}}\p{{N}}._%+-]{{0,63}}@[\p{{L}}\p{{N}}-]{{1,63}}(?:\.[\p{{L}}\p{{N}}-]{{1,63}})+  # e-mail
    | [@\#]{_LETTER}+(?:[.@-]{_LETTER}+)*                              # @handles, @handles@host.org, #hashtags
    | {_FLAG}                                                          # flags, as \X has them
    | (?=\p{{Extended_Pictographic}}|{_KEYCAP})\X                  # emoji with all that belongs to them
    | [{_CJK}]\p{{M}}*                                                 # one Chinese or Japanese character
    | (?=[{_NO_BLANKS}])\X                                             # one grapheme of Thai, Lao, Khmer, Burmese
    | (?:{_ABBREVIATION}|{_LETTER}+)(?:{_JOINT}(?:{_ABBREVIATION}|{_LETTER}+))*
    | ([.\-!?'`*=_~,])\1*+                                             # "...", "--", "?!" is two
    | \X
    """,
    regex.VERBOSE | regex.V1,
)
_GRAPHEME = regex.compile(rf"{_FLAG}|\X", regex.V1)
_INITIAL = regex.compile(r"\p{Lu}\.")
_INVISIBLE = regex.compile(r"[\p{Cf}\p{Cc}\p{M}]+")
_CJK_LETTER = regex.compile(rf"[{_CJK}]")
_ANY_LETTER = regex.compile(r"[\p{L}\p{N}]")
_ENGLISH_ENDING = regex.compile(r"(?<=\p{L}|\d)(?:n['’]t|['’](?:s|m|d|re|ve|ll))$", regex.IGNORECASE)
_LONGEST_ENDING = 4  # with the character before it
_ELISION = regex.compile(rf"(?:{'|'.join(_ELIDED)})['’](?=.)", regex.IGNORECASE)


def split_words(text: str, language: str | None = None) -> list[str]:
    """Splits running text into words.

    White space separates words, and punctuation is a word of its own. These stay whole: hyphenated words, abbreviations
    like U.S., numbers like 1,250.5, URLs, e-mail addresses, @handles, #hashtags, emoji with their modifiers.
    Apostrophes: English n't and 's are split off, French and Italian l' and d' end at the apostrophe (both also where
    the language is not given), others stay inside the word (Turkish Ankara'da). Chinese and Japanese are split into
    single characters: every one where the language is zh or ja or most of the text is, Latin letters and digits too, as
    in PAN-X; in other text only the Chinese and Japanese ones. Thai, Lao, Khmer and Burmese are split into grapheme
    clusters. Invisible characters stay with the word before them.

    Args:
        text: Any string.
        language: A code such as `en`, `zh`, `zh-Hant` or `fra_Latn`, or None where it is not known.

    Returns:
        The words, none of them empty or with white space inside.
    """
    code = (language or "").replace("_", "-").split("-")[0].lower()
    chunks = text.split()
    if code in CHARACTER_LANGUAGES or _is_mostly_cjk(text):
        return [word for chunk in chunks for word in _attach_invisible(_GRAPHEME.findall(chunk))]
    words: list[str] = []
    for number, chunk in enumerate(chunks):
        if number + 1 < len(chunks) and _INITIAL.fullmatch(chunk):  # J. Smith, but not "vitamin C." at the end
            words.append(chunk)
            continue
        tokens = _attach_invisible([match.group() for match in _TOKEN.finditer(chunk)])
        for token in tokens:
            words += _split_apostrophes(token, code) if "'" in token or "’" in token else [token]
    return words


def word_offsets(text: str, words: Sequence[str], gap: int = 0) -> list[tuple[int, int]]:
    """Where words stand in the text that `split_words` made them of, or that was made of them.

    Args:
        text: The text.
        words: Its words, of which only white space between them is missing.
        gap: How many characters lie between two words at least.

    Returns:
        Start and end of each, in characters, the end behind the last one: `text[start:end]` is the word.
    """
    offsets, place = [], 0
    for word in words:
        start = text.index(word, place)
        offsets.append((start, start + len(word)))
        place = start + len(word) + gap
    return offsets


def _is_mostly_cjk(text: str) -> bool:
    """Whether more than half of the letters and digits are Chinese or Japanese characters."""
    return 2 * len(_CJK_LETTER.findall(text)) > len(_ANY_LETTER.findall(text))


def _attach_invisible(tokens: list[str]) -> list[str]:
    """Joins format and control characters with the token before them, or after where they come first."""
    joined: list[str] = []
    for token in tokens:
        if joined and (_INVISIBLE.fullmatch(token) or _INVISIBLE.fullmatch(joined[-1])):
            joined[-1] += token
        else:
            joined.append(token)
    return joined


def _split_apostrophes(word: str, code: str) -> list[str]:
    """Splits clitics off a word with an apostrophe."""
    if len(word) < 3:
        return [word]
    before: list[str] = []
    if not code or code in _ELIDING:
        elision = _ELISION.match(word)
        if elision:
            before, word = [elision.group()], word[elision.end() :]
    after: list[str] = []
    if not code or code in _ENGLISH:
        end = len(word)
        while ending := _ENGLISH_ENDING.search(word[max(0, end - _LONGEST_ENDING) : end]):
            after.append(ending.group())
            end -= len(ending.group())
        word = word[:end]
    return [*before, word, *reversed(after)]
