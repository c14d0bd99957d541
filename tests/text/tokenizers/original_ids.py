"""Tokenizes texts with BERT's original FullTokenizer, from the authors' package bert-tensorflow.

    python original_ids.py VOCAB TEXTS OUT

Each line of TEXTS is a JSON string. Writes a file OUT.<variant> for each of five variants, with a line of ids per text.
ELECTRA's tokenizer differs from BERT's in two places, which are implemented here as in its program: characters of every
category C* are removed, and accents may be kept.
"""
import json
import sys
import unicodedata

from absl import flags
from bert import tokenization


def is_electra_control(char):
    return char not in "\t\n\r" and unicodedata.category(char).startswith("C")


def main():
    vocab, texts, out = sys.argv[1:]
    flags.FLAGS(sys.argv[:1])
    with open(texts, encoding="utf-8") as file:
        lines = [json.loads(line) for line in file]
    is_bert_control = tokenization._is_control
    for variant, lower, electra, strip in (("bert_lower", True, False, True), ("bert_cased", False, False, False),
                                           ("electra_lower", True, True, True), ("electra_accents", True, True, False),
                                           ("electra_cased", False, True, True)):
        tokenization._is_control = is_electra_control if electra else is_bert_control
        tokenizer = tokenization.FullTokenizer(vocab, do_lower_case=lower)
        if not strip:
            tokenizer.basic_tokenizer._run_strip_accents = lambda text: text
        with open(f"{out}.{variant}", "w", encoding="utf-8") as file:
            for text in lines:
                print(*tokenizer.convert_tokens_to_ids(tokenizer.tokenize(text)), file=file)


if __name__ == "__main__":
    main()
