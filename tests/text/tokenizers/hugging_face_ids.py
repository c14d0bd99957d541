"""Tokenizes texts with Hugging Face's tokenizers.

    python hugging_face_ids.py TOKENIZER TEXTS OUT

TOKENIZER is a tokenizer.json or a vocab.txt, which is also saved as a lower-casing OUT.tokenizer.json. Each line of
TEXTS is a JSON string. Writes to OUT first the special tokens around two texts, then for each text its ids and its
offsets in characters.
"""
import json
import sys

import tokenizers


def main():
    path, texts, out = sys.argv[1:]
    if path.endswith(".json"):
        tokenizer = tokenizers.Tokenizer.from_file(path)
    else:
        tokenizer = tokenizers.BertWordPieceTokenizer(path, lowercase=True)._tokenizer
        tokenizer.save(out + ".tokenizer.json")
    with open(texts, encoding="utf-8") as file, open(out, "w", encoding="utf-8") as result:
        pair = tokenizer.encode("a", "b")
        print(json.dumps({"ids": pair.ids, "types": pair.type_ids}), file=result)
        for line in file:
            encoded = tokenizer.encode(json.loads(line), add_special_tokens=False)
            print(json.dumps({"ids": encoded.ids, "offsets": encoded.offsets}), file=result)


if __name__ == "__main__":
    main()
