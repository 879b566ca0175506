"""The data sets of the hub that are known by name, and what their columns are called.

Each entry says where names and columns were looked up.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from dlfa_adapters.data.layout import LANGUAGE_NAMES


@dataclass(frozen=True, kw_only=True)
class HubSpec:
    """A data set of the hub.

    Attributes:
        repo: Repository name.
        config: Name of a configuration; `{language}` stands for the language.
        columns: Our field -> the data set's column. `words` and `tags`, or `text`, `text_pair` and `label`.
        looked_up: Where repository, configurations and columns are documented.
        codes: Language code -> what stands for it in `config`; a code that is not here stands for itself.
        data_files: Files to read instead of a configuration, with `{language}` and `{split}`.
        language_column: Column that tells the language, where one configuration holds all.
        default_language: The language of a data set with one language only.
        has_ranges: Whether rows that are no words (multiword ranges, tagged `_`) stand among the words.
        has_placeholders: Whether some pairs are none ("NS", or blank), as in PAWS-X.
    """

    repo: str
    config: str | None = None
    columns: Mapping[str, str]
    looked_up: str
    codes: Mapping[str, str] = field(default_factory=dict)
    data_files: str | None = None
    language_column: str | None = None
    default_language: str | None = None
    has_ranges: bool = False
    has_placeholders: bool = False


_HUB = "https://huggingface.co/datasets"
_TAGGED = {"words": "tokens", "tags": "ner_tags"}
HUB: dict[str, HubSpec] = {
    "panx": HubSpec(
        repo="google/xtreme",
        config="PAN-X.{language}",
        columns=_TAGGED,
        looked_up=f"{_HUB}/google/xtreme, README.md at 5d0e5de (Add ... data files) and tree/main/PAN-X.af",
    ),
    "udpos": HubSpec(
        repo="google/xtreme",
        config="udpos.{language}",
        columns={"words": "tokens", "tags": "pos_tags"},
        codes=LANGUAGE_NAMES,
        looked_up=f"{_HUB}/google/xtreme, README.md at 5d0e5de: udpos.Afrikaans, tokens, pos_tags",
    ),
    "xtreme-xnli": HubSpec(
        repo="google/xtreme",
        config="XNLI",
        columns={"text": "sentence1", "text_pair": "sentence2", "label": "gold_label"},
        language_column="language",
        looked_up=f"{_HUB}/google/xtreme and datasets/xtreme/xtreme.py of huggingface/datasets: validation, test",
    ),
    "xtreme-pawsx": HubSpec(
        repo="google/xtreme",
        config="PAWS-X.{language}",
        columns={"text": "sentence1", "text_pair": "sentence2", "label": "label"},
        has_placeholders=True,
        looked_up=f"{_HUB}/google/xtreme, README.md: PAWS-X.de, sentence1, sentence2, label (text)",
    ),
    "wikiann": HubSpec(
        repo="unimelb-nlp/wikiann",
        config="{language}",
        columns=_TAGGED,
        looked_up=f"{_HUB}/unimelb-nlp/wikiann, parquet; columns in huggingface/datasets pull request 2141",
    ),
    "xnli": HubSpec(
        repo="facebook/xnli",
        config="{language}",
        columns={"text": "premise", "text_pair": "hypothesis", "label": "label"},
        looked_up=f"{_HUB}/facebook/xnli/tree/b8dd5d7 (Convert dataset to Parquet)",
    ),
    "pawsx": HubSpec(
        repo="google-research-datasets/paws-x",
        config="{language}",
        columns={"id": "id", "text": "sentence1", "text_pair": "sentence2", "label": "label"},
        has_placeholders=True,
        looked_up=f"{_HUB}/google-research-datasets/paws-x/tree/4cd8187 (Convert dataset to Parquet)",
    ),
    "universal_dependencies": HubSpec(
        repo="commul/universal_dependencies",
        config="{language}",
        columns={"id": "sent_id", "words": "tokens", "tags": "upos"},
        has_ranges=True,
        looked_up=f"{_HUB}/commul/universal_dependencies (UD 2.17, parquet): treebank names such as en_ewt are the "
        "configurations; the repository universal-dependencies/universal_dependencies is a loading script",
    ),
    "conll2003": HubSpec(
        repo="lhoestq/conll2003",
        columns=_TAGGED,
        default_language="en",
        looked_up=f"{_HUB}/lhoestq/conll2003, parquet; stanfordnlp/dspy pull request 9889",
    ),
    "sib200": HubSpec(
        repo="Davlan/sib200",
        config="{language}",
        columns={"id": "index_id", "text": "text", "label": "category"},
        looked_up=f"{_HUB}/Davlan/sib200 at 38977a6: data/eng_Latn/train.tsv, FLORES-200 codes",
    ),
    "masakhaner2": HubSpec(
        repo="masakhane/masakhaner2",
        data_files="hf://datasets/masakhane/masakhaner2@refs/convert/parquet/{language}/{split}/*.parquet",
        columns=_TAGGED,
        looked_up=f"{_HUB}/masakhane/masakhaner2: main is a loading script, the parquet branch has yor/, swa/, ...",
    ),
    "xlmt": HubSpec(
        repo="cardiffnlp/tweet_sentiment_multilingual",
        data_files="hf://datasets/cardiffnlp/tweet_sentiment_multilingual@refs/convert/parquet/{language}/{split}/*.parquet",
        columns={"text": "text", "label": "label"},
        codes={code: name.lower() for code, name in LANGUAGE_NAMES.items()},
        looked_up=f"{_HUB}/cardiffnlp/tweet_sentiment_multilingual, README.md at 14b13ed: arabic, english, ..., text, "
        "label (negative, neutral, positive); main is a loading script, programs of 2026 read the parquet branch",
    ),
    "marc": HubSpec(
        repo="mteb/AmazonReviewsClassification",
        config="{language}",
        columns={"text": "text", "label": "label"},
        looked_up=f"{_HUB}/mteb/AmazonReviewsClassification, README.md at f31175c: de, en, es, fr, ja, zh, text, "
        "label; the corpus itself, amazon_reviews_multi, is in defunct-datasets",
    ),
}
