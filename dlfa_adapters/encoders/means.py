r"""The mean state of a language in every layer, and the file that has those of several.

Liu, Hsu, Chuang and Lee 2020 (arXiv 2004.09205), the "mean of language":

$$R_L^l = \mathbb{E}_{x \in C,\, i \in I}[h_{x_i}^l]$$

$h_{x_i}^l$: state of token i of input x in layer l; C: text of the language; I: the tokens that are counted. The paper
does not say which these are: here they are all but special tokens and padding, or words. The mean takes one pass over
the text, whose states are summed in float64 and forgotten, so that the memory does not grow with the text.
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import torch
from torch import Tensor

from dlfa_adapters.data.budget import token_budget_batches
from dlfa_adapters.encoders.compute import tokens_at_once
from dlfa_adapters.encoders.means_record import MeanOf, MeansRecord, not_means
from dlfa_adapters.encoders.parts import encoder_of, layer_fingerprints
from dlfa_adapters.encoders.states import Change, states_of
from dlfa_adapters.ground.errors import ConfigError, DataError, RunError
from dlfa_adapters.ground.tensors import read_tensors, save_tensors

Item = TypeVar("Item")

_AT_ONCE = 512  # rows in memory, from which batches of like length are made


class CountedRow(NamedTuple):
    """A row for the encoder, and how much each of its tokens counts.

    Attributes:
        input_ids: Pieces, special ones included.
        token_type_ids: See `EncodedText`.
        weights: For each piece: 0 where it does not count, 1 where it does; or the weights of a word's pieces sum to 1.
    """

    input_ids: list[int]
    token_type_ids: list[int] | None
    weights: list[float]


def mean_states(
    model: Any,
    rows: Iterable[CountedRow],
    pad_token_id: int | None,
    *,
    changes: Sequence[Change] = (),
    max_tokens: int | None = None,
    on_progress: Callable[[int], None] | None = None,
) -> tuple[Tensor, float]:
    """The mean over all that counts, in every layer, in one pass and constant memory.

    Args:
        model: An encoder, or a model around one, in eval mode; see `encoder_of`.
        rows: What it reads; they are taken a few hundred at a time, so that a generator need never hold all.
        pad_token_id: The tokenizer's.
        changes: See `states_of`.
        max_tokens: Positions in a batch, padding included; default: by the size of the states.
        on_progress: Called with the number of rows that were just done.

    Returns:
        Mean states, (layers, width) in float32, and the sum of the weights.

    Raises:
        DataError: If nothing counts.
        RunError: If the encoder gives states that are not finite numbers.
    """
    encoder = encoder_of(model)
    config = encoder.config
    layers = range(config.num_hidden_layers + 1)
    sums, count = torch.zeros(len(layers), config.hidden_size, dtype=torch.float64, device=encoder.device), 0.0
    for some in some_at_once(rows, _AT_ONCE):
        lengths = [len(row.input_ids) for row in some]
        for batch in token_budget_batches(lengths, max_tokens or tokens_at_once(encoder, config)):
            chosen = [some[i] for i in batch]
            states = states_of(encoder, chosen, pad_token_id, layers, changes)
            weights = torch.tensor([w for row in chosen for w in row.weights], dtype=torch.float64)
            count += weights.sum().item()
            weights = weights.to(states.device)
            for layer in layers:  # one after the other: all in float64 would take twice the memory of the states
                sums[layer] += weights @ states[:, layer].double()
            if on_progress is not None:
                on_progress(len(batch))
    if not sums.isfinite().all():
        raise RunError("The encoder gives hidden states that are not finite numbers; its weights may be damaged.")
    if not count:
        raise DataError("expected text, of which a mean is made, but there is none")
    return (sums / count).float().cpu(), count


def some_at_once(items: Iterable[Item], number: int) -> Iterator[list[Item]]:
    """The items, so many at a time."""
    iterator = iter(items)
    while some := list(islice(iterator, number)):
        yield some


@dataclass(frozen=True)
class LanguageMeans:
    """The mean states of some languages, of one encoder.

    Attributes:
        record: What they were made of.
        tensors: By language, (layers, width) in float32; row k is that of layer k.
        path: The file that they were read from, for sentences.
    """

    record: MeansRecord
    tensors: Mapping[str, Tensor]
    path: Path | None = None

    @classmethod
    def read(cls, path: str | Path) -> "LanguageMeans":
        """Read a file of means.

        Raises:
            DataError: If there is no such file, or it is none of means.
            RunError: If it is damaged, or of a later version.
        """
        path = Path(path)
        try:
            tensors, about = read_tensors(path)
        except FileNotFoundError:
            raise DataError(f"{path}: expected a file of language means, but there is none of this name") from None
        record = MeansRecord.from_dict(about, path)
        if tensors.keys() != record.languages.keys():
            raise not_means(path)
        return cls(record, {language: tensors[language] for language in record.languages}, path)

    def save(self, path: str | Path) -> None:
        """Write a file of means; an earlier one is replaced."""
        save_tensors(Path(path), self.tensors, self.record.as_dict())

    @property
    def depth(self) -> int:
        """Number of blocks L of the encoder."""
        return int(self.record.encoder["num_hidden_layers"])

    @property
    def digest(self) -> str:
        """A hash of languages and numbers, 16 hexadecimal digits."""
        digest = hashlib.sha256()
        for language, mean in sorted(self.tensors.items()):
            digest.update(f"{language} {tuple(mean.shape)}".encode() + mean.numpy().tobytes())
        return digest.hexdigest()[:16]

    def of(self, language: str) -> Tensor:
        """The means of a language, (layers, width).

        Raises:
            ConfigError: If it has none.
        """
        self.record.check_languages([language], self.path or "This file")
        return self.tensors[language]

    def difference(self, source: str, target: str, layer: int) -> Tensor:
        """The mean difference, R_target - R_source, (width,) (Liu et al. 2020).

        Raises:
            ConfigError: If a language has no mean, or there is no such layer.
        """
        self.record.check_layer(layer)
        return self.of(target)[layer] - self.of(source)[layer]

    def check_fits(
        self, model: Any, layers: Iterable[int], languages: Iterable[str], others: Iterable[str] = ()
    ) -> None:
        """Refuse a model whose states in some layers are not those that the means are of.

        Args:
            model: See `encoder_of`.
            layers: The layers.
            languages: Whose means must be of this very model, with the adapters that are active in it.
            others: Whose means must be of the same weights of the encoder, whatever adapter was active.

        Raises:
            ConfigError: If they are of another one.
        """
        here, languages, others = layer_fingerprints(model), list(languages), list(others)
        self.record.check_languages([*languages, *others], self.path or "This file")
        for layer in layers:
            for language in [*languages, *others]:
                there = self.record.languages[language].fingerprints
                now = here[layer] if layer < len(here) else ""
                then = there[layer] if layer < len(there) else ""
                if language in others:
                    now, then = now.partition("+")[0], then.partition("+")[0]
                if now != then:
                    raise ConfigError(
                        f"{self.path or 'These means'}: the mean of {language} in layer {layer} is of "
                        f"{self.record.encoder['name']} with fingerprint {then or 'none'}, this model has "
                        f"{now or 'no such layer'} there; make means of this model with: dlfa analyze means"
                    )

    def with_languages(self, others: "LanguageMeans") -> "LanguageMeans":
        """These and those of further languages; of a language that has one already the new mean.

        Raises:
            ConfigError: If they are of another encoder, or were counted otherwise.
        """
        mine, theirs = self.record, others.record
        own = [{its.fingerprints[-1].partition("+")[0] for its in each.languages.values()} for each in (mine, theirs)]
        if (mine.unit, mine.max_length) != (theirs.unit, theirs.max_length) or own[0] != own[1]:
            raise ConfigError(
                f"{self.path or 'The file'} has means of {mine.encoder['name']} by {mine.unit} in rows of "
                f"{mine.max_length}, the new ones are of {theirs.encoder['name']} by {theirs.unit} in rows of "
                f"{theirs.max_length}, or the weights differ; write them to another file."
            )
        languages: dict[str, MeanOf] = {**mine.languages, **theirs.languages}
        return replace(self, record=replace(mine, languages=languages), tensors={**self.tensors, **others.tensors})
