"""A tiny encoder for masked language modelling, made on the spot."""

import torch
import transformers
from tiny_tokenizer import character_tokenizer


def save_masked_encoder(folder, **changes):
    """Save a random BERT without a decoder, whose tokenizer has a mask token; 2 layers of width 16."""
    tokenizer = character_tokenizer()
    tokenizer.add_special_tokens({"mask_token": "[MASK]"})
    options = {
        "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32,
        "max_position_embeddings": 128,
    }  # fmt: skip
    torch.manual_seed(0)
    config = transformers.BertConfig(vocab_size=len(tokenizer), **{**options, **changes})
    transformers.BertModel(config, add_pooling_layer=False).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
