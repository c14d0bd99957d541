"""The ids that BERT's original FullTokenizer gives, from the package bert-tensorflow by its authors.

    python original_ids.py VOCAB TEXTS OUT

TEXTS holds a JSON string a line. Writes for each of five variants a file OUT.<variant>, a line of ids for each text.
ELECTRA's tokenizer differs from BERT's in two places, which are put in here as its program has them: characters of
every category C* vanish, and accents may stay.
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
