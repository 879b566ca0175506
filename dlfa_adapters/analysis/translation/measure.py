"""Token translation over layers and weights: shift at a layer, go on through the blocks above, decode, count.

Liu, Hsu, Chuang and Lee 2020, "A Study of Cross-Lingual Ability and Language-specific Information in Multilingual
BERT", arXiv 2004.09205, their unsupervised token translation (Tables 1 and 2, Figures 7 and 8).
"""

from collections.abc import Callable, Sequence

import numpy as np
import torch

from dlfa_adapters.analysis.translation.checks import check_alphas, check_layers
from dlfa_adapters.analysis.translation.report import Cell, Sample, TranslationReport
from dlfa_adapters.analysis.translation.scores import TokenSets, units_of
from dlfa_adapters.analysis.translation.text import Translated, estimates
from dlfa_adapters.data.batching import HasInputIds, pad_batch
from dlfa_adapters.data.budget import token_budget_batches
from dlfa_adapters.encoders.load import Encoder
from dlfa_adapters.encoders.means import LanguageMeans
from dlfa_adapters.encoders.shift import Shift
from dlfa_adapters.encoders.states import Change, applied
from dlfa_adapters.ground.environment import Progress
from dlfa_adapters.ground.errors import ConfigError, DataError
from dlfa_adapters.heads.masked_lm import LOGITS_AT_ONCE
from dlfa_adapters.scores.resample import RESAMPLES, generator, resampled_sums

ALPHAS = (1.0, 2.0, 3.0)
"""The weights of the paper."""


def measure_translation(
    encoder: Encoder,
    pairs: Sequence[tuple[str, str]],
    means: LanguageMeans,
    languages: tuple[str, str],
    *,
    layers: Sequence[int] | None = None,
    alphas: Sequence[float] = ALPHAS,
    sets: TokenSets | None = None,
    units: str | None = None,
    max_length: int = 128,
    shown: int = 1,
    shown_layer: int | None = None,
    resamples: int = RESAMPLES,
    seed: int = 0,
    progress: Progress | None = None,
) -> TranslationReport:
    """Translate sentences token by token with every layer and weight, and compare with their translations.

    No input token is masked. Every position gives the piece that the decoder finds likeliest; those of special tokens
    such as [CLS] are left out.

    Args:
        encoder: A masked language model, from `load_masked_lm`; it stays on its device.
        pairs: Sentences and their translations.
        means: Mean states of both languages, of this model.
        languages: Codes of the language of the sentences, and of that of the translations.
        layers: Where to shift; default: 1..L, behind every block.
        alphas: With which weights; 0 is always among them.
        sets: The pieces of each language; default: those that occur in the pairs.
        units: What BLEU-1 counts, see `scores.UNITS`; default: by the language of the translations.
        max_length: Most pieces of a sentence.
        shown: How many of the first sentences are in the report as they were translated.
        shown_layer: Shifted at which layer; default: the one nearest to 10 of 12, as in the paper's Table 1.
        resamples: Bootstrap resamples of the sentences.
        seed: Of the bootstrap.
        progress: Called after each batch with how many sentences were just done, and how many there are in all.

    Returns:
        The report, with 95 % percentile intervals.

    Raises:
        ConfigError: If the means are of another model, there is no such layer, or an option has a value that cannot
            work.
        DataError: If there are fewer than two pairs.
        MissingExtraError: If sacrebleu is not installed.
    """
    if len(pairs) < 2:
        raise DataError(f"expected two or more pairs of a sentence and its translation, got {len(pairs)}")
    depth = int(encoder.model.base_model.config.num_hidden_layers)
    chosen = check_layers(range(1, depth + 1) if layers is None else layers, depth)
    shown_layer = min(chosen, key=lambda layer: abs(layer - depth * 10 / 12)) if shown_layer is None else shown_layer
    if shown_layer not in chosen:
        raise ConfigError(f"Samples are shown of a layer that is shifted at, {chosen}, got {shown_layer}.")
    means.check_fits(encoder.model, chosen, languages)
    random = generator(seed, "")
    text = Translated.of(encoder.tokenizer, pairs, units or units_of(languages[1]), max_length, sets)
    grid = [(layer, alpha) for layer in chosen for alpha in check_alphas(alphas)]
    total = (1 + len(grid)) * len(pairs)
    step = None if progress is None else lambda done: progress("Translations", done, total)

    samples = [Sample(*pair) for pair in pairs[:shown]]
    counts = [text.counts(text.inputs())]
    for layer, alpha in [(shown_layer, 0.0), *grid]:
        shift = [Shift.between(means, *languages, layer, alpha)] if alpha else []
        outputs = write_pieces(encoder, text.rows, shift, step)
        own = [output[start:stop] for output, (start, stop) in zip(outputs, text.own, strict=True)]
        counts.append(text.counts(own))
        if layer == shown_layer:
            for sample, output in zip(samples, own, strict=False):
                sample.outputs[alpha] = text.words(output)

    sums = np.stack([count.sum(0) for count in counts])
    drawn = resampled_sums(np.concatenate(counts, axis=1), resamples, random).reshape(resamples, *sums.shape)
    copy, unshifted, *cells = (estimates(sums[i], drawn[:, i], len(pairs)) for i in range(len(sums)))
    return TranslationReport(
        name=encoder.name, languages=languages, sentences=len(pairs), depth=depth, units=text.units, cut=text.cut,
        sets=text.sets.sizes(), means=", ".join(dict.fromkeys(means.record.languages[x].source for x in languages)),
        copy=copy, unshifted=unshifted,
        cells=[Cell(layer, alpha, scores) for (layer, alpha), scores in zip(grid, cells, strict=True)],
        samples=samples, shown_layer=shown_layer,
    )  # fmt: skip


@torch.no_grad()
def write_pieces(
    encoder: Encoder,
    rows: Sequence[HasInputIds],
    changes: Sequence[Change] = (),
    on_progress: Callable[[int], None] | None = None,
) -> list[list[int]]:
    """The likeliest piece at every position of some rows.

    Args:
        encoder: A masked language model, from `load_masked_lm`.
        rows: What it reads.
        changes: What changes states on their way, each within those before it.
        on_progress: Called with the number of rows that were just done.

    Returns:
        As many pieces for each row as it has.
    """
    model, pad = encoder.model, encoder.tokenizer.pad_token_id
    lengths, pieces = [len(row.input_ids) for row in rows], model.get_input_embeddings().weight.shape[0]
    written: list[list[int]] = [[] for _ in rows]
    for batch in token_budget_batches(lengths, max(1, LOGITS_AT_ONCE // pieces)):
        inputs = {name: tensor.to(model.device) for name, tensor in pad_batch([rows[i] for i in batch], pad).items()}
        with applied(changes, model.base_model):
            likeliest = model(**inputs, return_dict=True).logits.argmax(dim=-1)
        for index, row in zip(batch, likeliest.tolist(), strict=True):
            written[index] = row[: lengths[index]]
        if on_progress is not None:
            on_progress(len(batch))
    return written
