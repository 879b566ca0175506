"""Words as windows for an encoder, and a tree over every sentence from the scores of its windows, see `assemble`.

A window scores the arcs among the words that it holds. Each word takes its head by the window in which it is furthest
from an edge; arcs to words outside that window are not allowed. One tree is then searched for the whole sentence.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

from dlfa_adapters.data.batching import IGNORED, pad_batch
from dlfa_adapters.data.windows import Pooling, Window, check_pooling, make_windows
from dlfa_adapters.kinds.encoded import Encoded, FoundScores, one_behind
from dlfa_adapters.kinds.parsing.assemble import tree_of_windows, words_of_pieces
from dlfa_adapters.kinds.parsing.biaffine import best_relations
from dlfa_adapters.kinds.parsing.tree import ROOT, Arc, cut_subtype
from dlfa_adapters.kinds.parsing.upos import TaggedWords
from dlfa_adapters.tasks import POS

_UPOS = {name: number for number, name in enumerate(POS.labels, 1)}


class WordRow(NamedTuple):
    """A window as a model of trees reads it.

    Attributes:
        input_ids: Pieces, special ones included.
        word_ids: The word of the row that a piece speaks for, from 1; 0 for none.
        upos_ids: A part of speech for each word, from 1 in the order of `POS.labels`; 0 for none.
        heads: The head of each word, as a word of the row, 0 for the root; -100 where it is not learned. None: no gold.
        rels: The relation of each word; likewise.
    """

    input_ids: list[int]
    word_ids: list[int]
    upos_ids: list[int]
    heads: list[int] | None = None
    rels: list[int] | None = None


def collate_words(rows: Sequence[WordRow], pad_token_id: int | None) -> dict[str, Tensor]:
    """Rows as a batch, padded to the longest with the tokenizer's `pad_token_id`.

    Returns:
        `input_ids`, `attention_mask` and `word_ids`, (batch, pieces); `word_mask` and `upos_ids`, (batch, words), and
        of the same shape `labels_arcs` and `labels_rels`, where there is gold.
    """

    def padded(values: Sequence[Any], filling: int = 0) -> Tensor:
        longest = max(map(len, values))
        return torch.tensor([[*each, *[filling] * (longest - len(each))] for each in values], dtype=torch.long)

    batch = pad_batch(rows, pad_token_id)
    batch["word_ids"] = padded([row.word_ids for row in rows])
    batch["word_mask"] = padded([[1] * len(row.upos_ids) for row in rows]).bool()
    batch["upos_ids"] = padded([row.upos_ids for row in rows])
    if rows[0].heads is not None:
        batch["labels_arcs"] = padded([row.heads for row in rows], IGNORED)
        batch["labels_rels"] = padded([row.rels for row in rows], IGNORED)
    return batch


class Trees(Encoded):
    """Sentences of words in windows, for a parser; see `data.windows.make_windows` for the arguments.

    Attributes:
        greedy: Whether the best head of each word is taken, also where these make no tree.
    """

    rows: list[WordRow]
    greedy = False
    collate = staticmethod(collate_words)

    def __init__(
        self,
        tokenizer: Any,
        inputs: Sequence[TaggedWords],
        labels: Sequence[str],
        max_length: int = 128,
        context: int = 64,
        pooling: Pooling = "first",
    ) -> None:
        check_pooling(pooling)
        self.words, self.labels, self.pooling = [list(each.words) for each in inputs], labels, pooling
        self.windows, self.counts = make_windows(tokenizer, self.words, max_length=max_length, context=context)
        self.upos = [[_UPOS.get(name, 0) for name in each.upos] for each in inputs]
        self.rows = [self._row(window) for window in self.windows]

    def _row(self, window: Window) -> WordRow:
        upos = self.upos[window.sentence][window.first : window.first + len(window.held)]
        return WordRow(window.input_ids, words_of_pieces(window, self.pooling), upos)

    def best(self, rows: Sequence[int], logits: Any) -> Tensor:
        """See `kept`."""
        return self.kept(logits)

    def kept(self, logits: Any) -> Tensor:
        """The arc scores, and the best relation for each dependent and head: `root` below the root, and nowhere else.

        Args:
            logits: Scores of arcs (rows, words, words + 1) and of relations (rows, words, words + 1, relations), as the
                model gives them; or what this gave for them.

        Returns:
            A line of numbers a row, (rows, 1 + 2 * words * (words + 1)): the number of words that the scores are for,
            the scores of arcs, and the ids of relations. Batches of such lines can be put below each other.
        """
        if isinstance(logits, Tensor):
            return logits
        arcs, rels = logits
        words = arcs.shape[1]
        chosen = best_relations(rels, list(self.labels).index(ROOT))
        size = arcs.new_full((len(arcs), 1), words, dtype=torch.float32)
        return torch.cat((size, arcs.float().flatten(1), chosen.float().flatten(1)), 1)

    def collect(self, found: FoundScores) -> list[list[Arc]]:
        """A head and a relation for every word; scores of a sentence are kept until its last window is there."""
        missing = Counter(window.sentence for window in self.windows)
        scored: dict[int, list[tuple[Window, Any]]] = {}
        trees: list[list[Arc]] = [[] for _ in self.words]
        for rows, best in one_behind(found):
            for row, line in zip(rows, best.cpu().numpy(), strict=True):
                sentence = self.windows[row].sentence
                missing[sentence] -= 1
                if missing[sentence]:
                    scored.setdefault(sentence, []).append((self.windows[row], line.copy()))  # and not its batch
                else:
                    parts = [*scored.pop(sentence, ()), (self.windows[row], line)]
                    trees[sentence] = self._tree(len(self.words[sentence]), parts)
        return trees

    def _tree(self, words: int, scored: Sequence[tuple[Window, Any]]) -> list[Arc]:
        """The tree of a sentence from its windows."""
        parts = []
        for window, line in scored:
            size = int(line[0])
            parts.append((window, *line[1 : 1 + 2 * size * (size + 1)].reshape(2, size, size + 1)))
        tree = tree_of_windows(words, parts, greedy=self.greedy)
        return [Arc(head, self.labels[relation]) for head, relation in tree]

    def labelled(self, gold: Sequence[Any]) -> list[WordRow]:  # type: ignore[override]
        """Head and relation of each word that is scored in a window; a head outside it is not learned."""
        label2id = {label: i for i, label in enumerate(self.labels)}
        rows = []
        for window, row in zip(self.windows, self.rows, strict=True):
            heads, rels = [IGNORED] * len(window.held), [IGNORED] * len(window.held)
            for word in window.words:
                head, deprel, *_ = gold[window.sentence][word]
                inside = head - window.first if head > 0 else head
                if head == 0 or 0 < inside <= len(window.held):
                    known = label2id.get(deprel, label2id.get(cut_subtype(deprel), IGNORED))
                    heads[word - window.first], rels[word - window.first] = inside, known
            rows.append(row._replace(heads=heads, rels=rels))
        return rows

    def tags(self, gold: Sequence[Any]) -> list[list[str]]:
        """The relation of each word."""
        return [[arc.deprel for arc in arcs] for arcs in gold]
