"""Pseudo-perplexity of a model by language, with bootstrap intervals over texts."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import torch

from dlfa_adapters.analysis.pseudo_perplexity.score import Windows, score_pieces
from dlfa_adapters.encoders import Encoder
from dlfa_adapters.ground.environment import Progress
from dlfa_adapters.ground.errors import DataError
from dlfa_adapters.scores.intervals import Estimate
from dlfa_adapters.scores.resample import RESAMPLES, generator, resampled_sums


@dataclass(frozen=True)
class PseudoPerplexity:
    r"""Of one model in one language.

    $$ \mathrm{PPPL} = \exp\Big(-\frac1N \sum_W \sum_t \log P(w_t \mid W_{\setminus t})\Big) $$

    over all texts $W$, of N pieces in all; special tokens are no pieces (Salazar et al. 2020, arXiv 1910.14659).

    Attributes:
        model: The model's name.
        language: The language.
        value: The pseudo-perplexity.
        low: Lower end of its 95 % interval: texts drawn anew.
        high: Upper end.
        texts: How many.
        pieces: N.
        unknown: Pieces that the tokenizer does not know; they count, as the definition says.
        cut: Texts that are longer than a row, whose pieces have a window around them each.
        empty: Texts without any piece, which count for nothing.
    """

    model: str
    language: str
    value: float
    low: float | None
    high: float | None
    texts: int
    pieces: int
    unknown: int
    cut: int
    empty: int

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)


def measure_pseudo_perplexity(
    encoder: Encoder,
    texts: Mapping[str, Sequence[str]],
    *,
    max_length: int | None = None,
    max_tokens: int | None = None,
    resamples: int = RESAMPLES,
    seed: int = 0,
    progress: Progress | None = None,
) -> list[PseudoPerplexity]:
    """Hide every piece of every text in turn; on the GPU where there is one.

    Args:
        encoder: A masked language model, from `load_masked_lm` or `load_masked`.
        texts: By language.
        max_length: Most pieces of a row, special ones included; default: as many as the encoder takes. A piece of a
            longer text is hidden in a window around it.
        max_tokens: Positions in a batch, padding included; the default depends on the device.
        resamples: Bootstrap resamples of the texts.
        seed: Of the bootstrap.
        progress: Called after each batch with how many pieces were just done, and how many there are in all.

    Raises:
        ConfigError: If the tokenizer has no mask token, or `max_length` does not fit.
        DataError: If a language has no piece.
    """
    if torch.cuda.is_available():
        encoder = replace(encoder, model=encoder.model.to("cuda"))
    windows = {language: Windows.of(encoder, of, max_length) for language, of in texts.items()}
    total = sum(len(pieces) for each in windows.values() for pieces in each.pieces)
    step = None if progress is None else lambda done: progress(f"Pieces ({encoder.name})", done, total)
    found = []
    for language, each in windows.items():
        lengths = np.array([len(pieces) for pieces in each.pieces])
        if not lengths.sum():
            raise DataError(f"expected text in {language}, but the tokenizer of {encoder.name} finds no piece in it")
        scores = score_pieces(encoder, each, max_tokens=max_tokens, on_progress=step)
        counts = np.stack([[score.sum() for score in scores], lengths], axis=1).astype(float)[lengths > 0]
        drawn = resampled_sums(counts, resamples, generator(seed, language))
        estimate = Estimate.of(_perplexity(counts.sum(0)), _perplexity(drawn), len(counts))
        unknown = encoder.tokenizer.unk_token_id
        found.append(
            PseudoPerplexity(
                encoder.name, language, float(_perplexity(counts.sum(0))), estimate.low, estimate.high,
                texts=len(lengths), pieces=int(lengths.sum()),
                unknown=sum(piece == unknown for pieces in each.pieces for piece in pieces),
                cut=int((lengths > each.room).sum()), empty=int((lengths == 0).sum()),
            )
        )  # fmt: skip
    return found


def _perplexity(sums: np.ndarray) -> Any:
    """Of `(..., 2)` sums of log-probabilities and pieces."""
    return np.exp(-sums[..., 0] / sums[..., 1])
