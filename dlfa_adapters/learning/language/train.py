"""`train_language`: plain text in, a language adapter out. `dlfa train-language` is the same on the command line."""

import logging
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from dlfa_adapters.encoders import load_encoder
from dlfa_adapters.ground.environment import Progress, is_main, wait_for_everyone
from dlfa_adapters.heads.decoder import pretrained_decoder, save_decoder
from dlfa_adapters.heads.language import RECORD, read_record
from dlfa_adapters.learning.cut import fit_length, length_asked
from dlfa_adapters.learning.finish import masked_training
from dlfa_adapters.learning.language import LanguagePlan, TrainedLanguage, as_options, language_settings
from dlfa_adapters.learning.language.loop import DECODER, LanguageTrainer, learn_masked, put_decoder
from dlfa_adapters.learning.language.text import mask_text
from dlfa_adapters.learning.plan_words import announce
from dlfa_adapters.runs.lifecycle import Training, request_left
from dlfa_adapters.tuning import parameter_report
from dlfa_adapters.tuning.bottleneck import LanguageTuning

logger = logging.getLogger(__name__)


def train_language(
    language: str,
    text: str | Path | Sequence[str | Path],
    *,
    format: str = "text",
    model: str = "offline",
    out: str | Path | None = None,
    config: str = "seq_bn_inv",
    reduction: float = 2,
    leave_out: Sequence[int] = (),
    steps: int = 2000,
    resume: bool = False,
    on_start: Callable[[LanguagePlan], None] | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> TrainedLanguage:
    """Train a language adapter by masked language modelling (MAD-X, Pfeiffer et al. 2020, arXiv 2005.00052).

    The encoder stays as it is. The decoder is the checkpoint's own where it has one; otherwise it is a new one over the
    encoder's input embeddings. It learns too, and is saved beside the adapter (`load_masked_lm`). Killed and called
    again with `resume=True`, a training ends with the weights that it would have had.

    Args:
        language: Name of the adapter, e.g. `de`.
        text: A file, or several.
        format: `text`, one paragraph a line; or another reader's name, whose words are taken without their tags.
        model: `offline`, a folder, or a name on the hub.
        out: The folder; `adapters/LANGUAGE` by default. An earlier adapter there is replaced.
        config: `seq_bn_inv`, `seq_bn`, `double_seq_bn_inv` or `double_seq_bn`; `inv` has an invertible part.
        reduction: The width of the bottlenecks is the encoder's divided by this.
        leave_out: Blocks, from 1, that get no adapter; the last one in MAD-X 2.0.
        steps: Steps of the optimiser.
        resume: Go on with the training of `out` that was cut short.
        on_start: Called before the first step.
        progress: Called after each step.
        **options: Fields of `Settings` that are in `language.LANGUAGE_OPTIONS`, e.g. `batch_size=64`, `max_length=128`.

    Returns:
        The adapter's folder, with perplexity on held-out paragraphs before and after.

    Raises:
        ConfigError: If an option has a value that cannot work.
        DataError: If the text cannot be read, or is too little.
        RunError: If the training diverges, or there is nothing to resume.
    """
    tuning = LanguageTuning(language, config, reduction, leave_out)
    settings = language_settings(tuning, steps, options)
    files = [text] if isinstance(text, str | Path) else list(text)
    out = Path(out or f"adapters/{language}")
    report = progress or (lambda stage, done, total: None)
    training = Training(out, RECORD)
    request = {
        "language": language, "text": [str(file) for file in files], "format": format, "model": model,
        "config": config, "reduction": reduction, "leave_out": tuning.leave_out, "steps": steps,
        **as_options(settings),
    }  # fmt: skip
    if training.resume_finds_it_done(resume):
        return _read(out)

    report("Loading encoder and text", 0, 1)
    encoder = load_encoder(model)
    described = encoder.describe()
    asked, (settings, notes) = settings, fit_length(settings, encoder.model)
    request |= length_asked(asked, settings)
    tuning.decoder = pretrained_decoder(model, encoder.model.config)
    masked = mask_text(
        files, format, encoder.tokenizer,
        max_length=settings.text.max_length, count=steps * settings.steps.batch_size, seed=settings.steps.seed,
    )  # fmt: skip
    put_decoder(tuning, encoder, masked, settings.steps.seed)
    plan = LanguagePlan(tuning, settings, encoder, masked.about, parameter_report(encoder.model), out, notes)
    report("Loading encoder and text", 1, 1)

    with training.planned_alone(request, described["fingerprint"], masked.about):
        announce(plan, on_start, logger, notes=logging.INFO)
        held_out = {language: masked.held_out}
        measured, seconds = learn_masked(LanguageTrainer, encoder, settings, masked, held_out, training, report)
        if is_main():
            _write(training, plan, described, {when: of[language] for when, of in measured.items()}, seconds)
    wait_for_everyone()
    return _read(out)


def resume_language(
    out: str | Path, on_start: Callable[[LanguagePlan], None] | None = None, progress: Progress | None = None
) -> TrainedLanguage:
    """Go on with a training that was cut short, with the arguments it was started with; see `train_language`.

    If it had ended, its adapter is what comes back.

    Raises:
        RunError: If there is nothing to resume, or text or encoder have changed.
    """
    out = Path(out)
    request = request_left(out, RECORD)
    if request is None:
        return _read(out)
    return train_language(**request, out=out, resume=True, on_start=on_start, progress=progress)


def _write(
    training: Training, plan: LanguagePlan, encoder: dict[str, Any], measured: dict[str, float], seconds: float
) -> None:
    """The adapter as upstream saves it, and the record beside it; both or neither."""
    model, language = plan.encoder.model, plan.tuning.language
    record = {
        "language": language,
        "adapter": plan.tuning.record(),
        "encoder": encoder,
        "text": plan.text,
        "perplexity": measured,
        "training": {
            "steps": plan.settings.steps.max_steps,
            **as_options(plan.settings),
            **masked_training(training, plan.report, seconds),
        },
    }

    def save(draft: Path) -> None:
        model.save_adapter(str(draft), language, with_head=False, use_safetensors=True)
        save_decoder(model.heads[DECODER], draft)

    training.end(record, save)


def _read(out: Path) -> TrainedLanguage:
    return TrainedLanguage(out, read_record(out) or {})
