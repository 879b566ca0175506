"""Tokenizers of every family, small and made on the spot: no file, no hub."""

from functools import cache

from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
from transformers import BertTokenizer, PreTrainedTokenizerFast

WORDPIECE_VOCAB = "[PAD] [UNK] [CLS] [SEP] Anna met Bob ##by . new york in Rome de le vin".split()
TEXT = [
    "Anna met Bob in new york .",
    "Rome de le vin",
    "東京 は 日本 の 首都",
    "don't l'eau (1,250.5)",
    "ABC Bobby Bobbyby",
] * 4


def wordpiece() -> PreTrainedTokenizerFast:
    """BERT's kind: `[CLS] ... [SEP]`, "##" inside words, characters without a form removed."""
    tok = Tokenizer(models.WordPiece({piece: i for i, piece in enumerate(WORDPIECE_VOCAB)}, unk_token="[UNK]"))
    tok.normalizer = normalizers.BertNormalizer(lowercase=False)
    tok.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tok.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=tok,
        unk_token="[UNK]",
        pad_token="[PAD]",
        cls_token="[CLS]",
        sep_token="[SEP]",
        model_input_names=["input_ids", "token_type_ids", "attention_mask"],
    )


def unigram() -> PreTrainedTokenizerFast:
    """SentencePiece's kind, as XLM-R: `<s> ... </s>`, "▁" before words and often alone, NFKC."""
    tok = Tokenizer(models.Unigram())
    tok.normalizer = normalizers.Sequence([normalizers.NFKC(), normalizers.Replace("\u200b", " ")])
    tok.pre_tokenizer = pre_tokenizers.Metaspace()
    tok.decoder = decoders.Metaspace()
    trainer = trainers.UnigramTrainer(
        vocab_size=80, special_tokens=["<s>", "<pad>", "</s>", "<unk>"], unk_token="<unk>", show_progress=False
    )
    tok.train_from_iterator(TEXT, trainer)
    tok.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", pair="<s> $A </s> </s> $B </s>", special_tokens=[("<s>", 0), ("</s>", 2)]
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=tok,
        unk_token="<unk>",
        pad_token="<pad>",
        cls_token="<s>",
        sep_token="</s>",
        model_input_names=["input_ids", "attention_mask"],
    )


@cache
def _byte_level_json() -> str:
    tok = Tokenizer(models.BPE())
    tok.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
    trainer = trainers.BpeTrainer(
        vocab_size=320,
        special_tokens=["<s>", "<pad>", "</s>", "<unk>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tok.train_from_iterator(TEXT, trainer)
    return tok.to_str()


def byte_level(add_prefix_space: bool = True, specials: str = "<s> $A </s>") -> PreTrainedTokenizerFast:
    """RoBERTa's kind: bytes, "Ġ" before words. The vocabulary is the same whatever the arguments."""
    tok = Tokenizer.from_str(_byte_level_json())
    tok.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=add_prefix_space)
    named = [(name, tok.token_to_id(name)) for name in ("<s>", "</s>") if name in specials.split()]
    if named:
        tok.post_processor = processors.TemplateProcessing(single=specials, special_tokens=named)
    return PreTrainedTokenizerFast(
        tokenizer_object=tok,
        unk_token="<unk>",
        pad_token="<pad>",
        bos_token="<s>",
        eos_token="</s>",
        add_prefix_space=add_prefix_space,
    )


def first_only() -> PreTrainedTokenizerFast:
    """A beginning, no end, as decoders have."""
    return byte_level(specials="<s> $A")


def last_only() -> PreTrainedTokenizerFast:
    """An end, no beginning, as T5's encoder has."""
    return byte_level(specials="$A </s>")


def bare() -> PreTrainedTokenizerFast:
    """No special tokens at all."""
    return byte_level(specials="$A")


def slow(folder) -> BertTokenizer:
    """The Python tokenizer of BERT."""
    (folder / "vocab.txt").write_text("\n".join(WORDPIECE_VOCAB), encoding="utf-8")
    return BertTokenizer(str(folder / "vocab.txt"), do_lower_case=False)


FAMILIES = {
    "wordpiece": wordpiece,
    "unigram": unigram,
    "byte_level": byte_level,
    "byte_level_no_prefix_space": lambda: byte_level(add_prefix_space=False),
    "first_only": first_only,
    "last_only": last_only,
    "bare": bare,
}
