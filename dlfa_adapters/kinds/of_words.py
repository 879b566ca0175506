"""What kinds of tasks share whose items are sentences with an answer for each word."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from dlfa_adapters.kinds.base import Kind
from dlfa_adapters.tasks import Task

_PUD = re.compile(r"[nw]\d{8}")  # `sent_id` of Parallel Universal Dependencies: news or Wikipedia, document, sentence


class KindOfWords(Kind):
    """A kind with an answer for each word of a sentence."""

    def sizes(self, answers: Sequence[Any]) -> list[int]:
        """An answer a word."""
        return list(map(len, answers))

    def count_notes(self, total: Counter[str]) -> Iterator[str]:
        """Words, and what the tokenizer did to them."""
        yield f"{total['words_scored']:,} of {total['words_total']:,} words were scored."
        if total["n_vanished"]:
            yield f"The tokenizer leaves nothing of {total['n_vanished']:,} words; UNK stands for them."
        if total["n_unk_only"]:
            yield f"The tokenizer knows no piece of {total['n_unk_only']:,} words."
        if total["n_giant"]:
            yield f"{total['n_giant']:,} words have more pieces than a window; they are scored from their first pieces."

    def tells_translations(self, own_id: str) -> bool:
        """Sentences of the Parallel Universal Dependencies; other treebanks count theirs each in its own way."""
        return _PUD.fullmatch(own_id) is not None

    def id_name(self, task: Task) -> str:
        """As CoNLL-U has it."""
        return "sent_id"
