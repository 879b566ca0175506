"""Masked language models by name: checkpoints, adapted encoders, runs with the decoder of the encoder they began with.

XMULTI's Table 5 asks of fine-tuned encoders how well they still read: the decoder is that of the checkpoint before,
over the input embeddings as they are now.
"""

from pathlib import Path

from transformers import AutoConfig

from dlfa_adapters.analysis.starts import check_start
from dlfa_adapters.encoders.adapted import is_adapted
from dlfa_adapters.encoders.load import OFFLINE, Encoder, load_encoder, told_if_not_loaded
from dlfa_adapters.ground.environment import only_cached
from dlfa_adapters.ground.errors import ConfigError
from dlfa_adapters.heads import load_masked_lm
from dlfa_adapters.heads.decoder import Decoder, add_decoder, pretrained_decoder, read_decoder
from dlfa_adapters.heads.schema import DECODER
from dlfa_adapters.predict.centred import check_not_centred
from dlfa_adapters.predict.load import load_run
from dlfa_adapters.runs import Run

_HEAD = "masked_lm"


def check_masked(run: Run) -> None:
    """Refuse a run that cannot be a masked language model.

    Raises:
        ConfigError: If it was trained with PEFT, or on centred languages.
    """
    check_not_centred(run, "it does not read text as it stands")
    if run.config.get("model", {}).get("saved") == "peft":
        raise ConfigError(
            f"The run {run.folder} was trained with PEFT, whose model has no place for a decoder; name one of --tuning "
            "full, freeze, lora or another one of the package adapters."
        )


def load_masked(model: Run | str) -> Encoder:
    """A masked language model, in eval mode.

    Args:
        model: What `load_masked_lm` takes; or a run, whose encoder gets the decoder of the encoder that it began with.

    Raises:
        ConfigError: If there is no such model, or it has no decoder.
        RunError: If the run is not complete, or there is another encoder where the one was that it began with.
    """
    if not isinstance(model, Run):
        return load_masked_lm(model)
    check_masked(model)
    name = str(model.config["encoder"]["name"])
    decoder = _decoder_of(model, name)
    if decoder is None:
        raise ConfigError(
            f"The encoder {name!r} of the run {model.folder} has no decoder, which writes pieces; train on a masked "
            f"language model, or on one that was adapted: dlfa adapt --model {name}."
        )
    predictor = load_run(model)
    trained = predictor.model
    add_decoder(trained, _HEAD, decoder)
    trained.active_head = _HEAD
    return Encoder(
        str(model.folder), f"the run {model.folder}, with the decoder of {name}", trained.eval(), predictor.tokenizer
    )


def _decoder_of(run: Run, name: str) -> Decoder | None:
    """The decoder of a run's language adapter, of the adapted encoder or the checkpoint that it began with; or None."""
    adapter = run.config.get("training", {}).get("location")
    if adapter is not None and (Path(adapter) / DECODER).is_file():
        return read_decoder(adapter)
    if run.config.get("model", {}).get("saved") == "encoder":  # of others the encoder is looked at when they are loaded
        check_start(
            run, load_encoder(name).describe()["fingerprint"], "put the weights that it was trained on back there"
        )
    if is_adapted(name):
        return read_decoder(name)
    if name == OFFLINE:
        return None
    local = only_cached(name)
    with told_if_not_loaded(name, local):
        config = AutoConfig.from_pretrained(name, local_files_only=local)
    return pretrained_decoder(name, config)
