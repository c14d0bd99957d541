"""Tokenizes texts with transformers' AutoTokenizer and vocabularies that smelt has trained.

    python language_vocabularies.py TEXTS OUT

Each line of TEXTS is {"folder", "texts"}. Writes {"ids", "offsets"} to OUT for each text; offsets are in characters.
"""
import json
import sys

from transformers import AutoTokenizer


def main():
    with open(sys.argv[1], encoding="utf-8") as cases, open(sys.argv[2], "w", encoding="utf-8") as out:
        for line in cases:
            case = json.loads(line)
            tokenizer = AutoTokenizer.from_pretrained(case["folder"])
            assert tokenizer.is_fast and tokenizer.mask_token == "[MASK]", tokenizer
            for text in case["texts"]:
                encoded = tokenizer(text, add_special_tokens=False, return_offsets_mapping=True)
                print(json.dumps({"ids": encoded["input_ids"], "offsets": encoded["offset_mapping"]}), file=out)


if __name__ == "__main__":
    main()
