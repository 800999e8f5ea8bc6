"""A text as tokens, and the steps by which a tokenizer makes them.

>>> tokenizer = text_tokenizer(model.vocabulary)
>>> text = tokenizer.tokenize("a strawberry")
>>> tokenizer.makings(text.pre_tokens)

tokens      a tokenized text: tokens, pre-tokens, stages
tokenizer   any tokenizer, and two that need no files: bytes, and code points
staged      a tokenizer whose stages can be run one by one
sources     tokenizers of folders and hub ids, loaded without weights
"""

from engine.doors import door

__getattr__, __dir__, __all__ = door(
    __name__,
    {
        "sources": "cached_tokenizers load_tokenizer",
        "staged": "StagedTokenizer text_tokenizer",
        "tokenizer": "TextTokenizer byte_tokenizer code_point_tokenizer",
        "tokens": "PreToken Stage Token TokenizedText",
    },
)
