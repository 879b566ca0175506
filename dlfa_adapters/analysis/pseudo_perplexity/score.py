"""The log-probability of every piece of some texts, each hidden in turn: many texts and positions in one batch.

What is computed is what Salazar et al. 2020 (arXiv 1910.14659) define, one mask at a time; the batches change nothing
but rounding.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from dlfa_adapters.data.backend import Specials, check_fast, pieces_of, plain_backend, special_tokens
from dlfa_adapters.data.batching import pad_batch
from dlfa_adapters.data.budget import token_budget_batches
from dlfa_adapters.data.pairs import EncodedText
from dlfa_adapters.encoders import Encoder
from dlfa_adapters.ground.errors import ConfigError
from dlfa_adapters.heads.masked_lm import LOGITS_AT_ONCE
from dlfa_adapters.heads.pieces import log_probabilities
from dlfa_adapters.kinds.encoded import TOKENS

MAX_TOKENS = 2048
"""Positions in a batch on other devices than those of `TOKENS`, padding included: rows enough for the decoder, whose
matrix is read once a batch."""


@dataclass(frozen=True)
class Windows:
    """Texts as pieces, and the window of each text that is read where a piece of it is hidden.

    Attributes:
        pieces: Of each text, without special ones.
        specials: What stands around a window.
        room: Most pieces of a window.
    """

    pieces: list[list[int]]
    specials: Specials
    room: int

    @classmethod
    def of(cls, encoder: Encoder, texts: Sequence[str], max_length: int | None = None) -> "Windows":
        """Texts for an encoder.

        Args:
            encoder: From `load_masked_lm`.
            texts: The texts.
            max_length: Most pieces of a row, special ones included; default: as many as the encoder takes.

        Raises:
            ConfigError: If the tokenizer has no mask token or is slow, or `max_length` does not fit.
        """
        check_fast(encoder.tokenizer)
        if encoder.tokenizer.mask_token_id is None:
            raise ConfigError(f"Pieces are hidden behind a mask token, and the tokenizer of {encoder.name} has none.")
        backend = plain_backend(encoder.tokenizer)
        specials, most = special_tokens(backend), encoder.most_pieces
        length = most if max_length is None else max_length
        if not len(specials) + 1 <= length <= most:
            raise ConfigError(
                f"max_length must lie in {len(specials) + 1}..{most}, which this encoder takes, got {length}; type "
                f"{min(most, 128)}."
            )
        return cls(pieces_of(backend, texts), specials, length - len(specials))

    def start(self, text: int, piece: int) -> int:
        """Where the window begins in which a piece is hidden: the piece is in its middle, as far as the text goes."""
        length = len(self.pieces[text])
        return max(0, min(piece - self.room // 2, length - self.room))

    def row(self, text: int, piece: int, mask: int) -> tuple[EncodedText, int]:
        """The window of a piece, with the mask in its place, and where that is."""
        start = self.start(text, piece)
        inside = self.pieces[text][start : start + self.room]
        inside[piece - start] = mask
        row = [*self.specials.before, *inside, *self.specials.after]
        return EncodedText(row, None), len(self.specials.before) + piece - start


def score_pieces(
    encoder: Encoder,
    windows: Windows,
    *,
    max_tokens: int | None = None,
    on_progress: Callable[[int], None] | None = None,
) -> list[np.ndarray]:
    """The log-probability of each piece of each text, given all others of its window.

    Args:
        encoder: From `load_masked_lm`; it stays on its device.
        windows: The texts.
        max_tokens: Positions in a batch, padding included; the default depends on the device.
        on_progress: Called with the number of pieces that were just done.

    Returns:
        For each text, (pieces,) in float64.
    """
    model, mask, pad = encoder.model, encoder.tokenizer.mask_token_id, encoder.tokenizer.pad_token_id
    lengths = [len(pieces) for pieces in windows.pieces]
    owner = np.repeat(np.arange(len(lengths)), lengths)
    place = np.concatenate([np.arange(n) for n in lengths]) if len(owner) else owner
    around, vocabulary = len(windows.specials), model.get_input_embeddings().weight.shape[0]
    rows = [min(lengths[text], windows.room) + around for text in owner.tolist()]
    most = max_tokens or TOKENS.get(model.device.type, (MAX_TOKENS, 0))[0]
    found = np.empty(len(owner))
    for batch in token_budget_batches(rows, most, max(1, LOGITS_AT_ONCE // vocabulary)):
        made = [windows.row(int(owner[i]), int(place[i]), mask) for i in batch]
        inputs = {name: x.to(model.device) for name, x in pad_batch([row for row, _ in made], pad).items()}
        positions = torch.tensor([position for _, position in made], device=model.device)
        pieces = torch.tensor([windows.pieces[owner[i]][place[i]] for i in batch], device=model.device)
        found[batch] = log_probabilities(model, inputs, positions, pieces).cpu().numpy()
        if on_progress is not None:
            on_progress(len(batch))
    return np.split(found, np.cumsum(lengths)[:-1]) if lengths else []
