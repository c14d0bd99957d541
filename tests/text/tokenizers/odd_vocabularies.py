"""Writes odd but valid vocabularies, and the ids that transformers computes with them.

    python odd_vocabularies.py OUT

Creates a folder in OUT for each case, with the files of a tokenizer: lines that are not words, duplicate lines, Windows
line ends, scripts that lose pieces when lower-cased, added tokens, only a tokenizer.json. Writes to OUT/expected.jsonl,
for each text and each tokenizer of transformers (slow and fast), {"case", "vocab", "text", "kind", "ids"}; "vocab" is
the vocabulary file of the ids.
"""
import json
import logging
import os
import sys

from transformers import AddedToken
from transformers.models.bert import BertTokenizer, BertTokenizerFast

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
WORDS = ["the", "cat", "sat", "on", "mat", "##s", "##a", "##t", "a", "b", "c", ".", ",", "-", "!"]
TEXTS = ["the cat sat on mats.", "a,b - the-cat", "The CAT", "", "unknown words", "a\u2028b a\u00a0b", "A\tb\r\nc"]


class Case:
    """A tokenizer's folder and its texts."""

    def __init__(self, lines, texts=(), config=None, raw=None, added=(), json_only=False, slow=True,
                 special=None, added_json=None):
        self.lines, self.texts, self.raw, self.added = lines, TEXTS + list(texts), raw, list(added)
        self.config = {"do_lower_case": True, **(config or {})}
        self.json_only, self.slow = json_only, slow
        self.files = {"special_tokens_map.json": special, "added_tokens.json": added_json}

    def write(self, folder):
        os.makedirs(folder)
        with open(f"{folder}/vocab.txt", "wb") as file:
            file.write(self.raw if self.raw is not None else ("\n".join(self.lines) + "\n").encode())
        self.put(folder, "tokenizer_config.json", {"tokenizer_class": "BertTokenizer", **self.config})
        for name, value in self.files.items():
            if value is not None:
                self.put(folder, name, value)
        if self.added or self.json_only:
            tokenizer = BertTokenizerFast.from_pretrained(folder)
            tokenizer.add_tokens([t for t in self.added if not t.special])
            tokenizer.add_tokens([t for t in self.added if t.special], special_tokens=True)
            tokenizer.save_pretrained(folder)
        if self.json_only:
            for name in ("vocab.txt", "added_tokens.json", "special_tokens_map.json"):
                if os.path.exists(f"{folder}/{name}"):
                    os.remove(f"{folder}/{name}")

    @staticmethod
    def put(folder, name, value):
        with open(f"{folder}/{name}", "w", encoding="utf-8") as file:
            json.dump(value, file)

    def tokenizers(self, folder):
        yield "fast", BertTokenizerFast.from_pretrained(folder)
        if self.slow and not self.json_only:
            yield "slow", BertTokenizer.from_pretrained(folder)


def token(content, **flags):
    return AddedToken(content, **flags)


def cases():
    plain = SPECIAL + WORDS
    lines = "\n".join(plain)
    hangul = SPECIAL + ["\ud55c", "##\uad6d", "##\uc5b4", "\uc624\ub298", "a", "."]
    kana = SPECIAL + ["\u304b", "\u304c", "\u3066", "\u3067", "##\u3070", "##\u306f", "\u4e2d", "##\u56fd"]
    cyrillic = SPECIAL + ["\u041c\u0430\u043c\u0430", "\u043c\u0430\u043c\u0430", "\u0419", "\u0439", "\u0438",
                          "\u0451", "\u0435", "##\u0439", "."]
    markers = [token("<ent>", special=True, normalized=False), token("Covid"),
               token("COVID-19", normalized=False, single_word=True), token("\u5317\u4eac"),
               token("\u00c9t\u00e9", single_word=True), token("zz", lstrip=True, rstrip=True, normalized=False),
               token("new york")]
    marked = ["the covid <ent> .", "covids COVID", "COVID-19", "COVID-19s aCOVID-19 (COVID-19)", "a\u5317\u4eacb \u5317 \u4eac",
              "\u00e9t\u00e9 ete ETE_ ete\u5317 aete", "a zz b zz", "azzb zzz", "New  York NEW YORK<ent><ent>",
              "<ENT> < ent >", "the<ent>cat"]
    names = {"additional_special_tokens": ["[unused1]", "<e1>"]}
    objects = {"additional_special_tokens": [{"content": "cat", "single_word": True}, {"content": "<e1>", "rstrip": True}],
               "bos_token": {"content": "the", "lstrip": True, "normalized": True}}
    object_in_config = {"__type": "AddedToken", "content": "cat", "single_word": True}
    named = ["the <e1> cat", "[unused1] a<e1>b", "<s> <e1></s> <x>", "<e2> a <e1>  b", "a the acat cats cat-cat"]
    unused = plain + ["[unused1]"]
    return {
        "line_separator": Case(plain[:10] + ["\u2028", "##\u2028"] + plain[10:]),
        "blank_lines": Case(plain[:8] + [""] + plain[8:12] + ["", ""] + plain[12:]),
        "blank_last_line": Case(None, raw=(lines + "\n\n").encode()),
        "no_last_line_end": Case(None, raw=lines.encode()),
        "windows": Case(None, raw=(lines.replace("\n", "\r\n") + "\r\n").encode()),
        "byte_order_mark": Case(None, raw=("\ufeff" + lines + "\n").encode()),
        "duplicates": Case(plain + ["cat", "x", "##s", "cat", "y"], ["x y cats"]),
        "special_last": Case(WORDS + SPECIAL),
        "special_apart": Case(["[PAD]", "[unused0]", "[unused1]"] + WORDS + ["[UNK]", "[unused2]"] + SPECIAL[2:],
                              ["[unused1] the [unused2]"]),
        "hangul_cased": Case(hangul, ["\ud55c\uad6d\uc5b4 \uc624\ub298 A."], {"do_lower_case": False}),
        "hangul_accents": Case(hangul, ["\ud55c\uad6d\uc5b4 \uc624\ub298 A."], {"strip_accents": False}),
        "hangul_lower": Case(hangul + ["\u1112", "##\u1161", "##\u11ab"], ["\ud55c"]),
        "kana_cased": Case(kana, ["\u304c\u3067\u3070 \u304b\u3066\u306f \u4e2d\u56fd"], {"do_lower_case": False}),
        "kana_lower": Case(kana, ["\u304c\u3067\u3070 \u304b\u3066\u306f"]),
        "chinese_joined": Case(kana, ["\u4e2d\u56fd \u4e2d"], {"tokenize_chinese_chars": False}),
        "cyrillic_cased": Case(cyrillic, ["\u041c\u0430\u043c\u0430 \u0438 \u0419 \u0451."], {"do_lower_case": False}),
        "cyrillic_lower": Case(cyrillic, ["\u041c\u0430\u043c\u0430 \u0438 \u0419 \u0451."]),
        # The slow tokenizer supports neither single_word nor normalized contents.
        "added_tokens": Case(plain, marked, added=markers, slow=False),
        "added_cased": Case(plain, marked, {"do_lower_case": False}, added=markers, slow=False),
        "added_behind_blanks": Case(plain[:8] + [""] + plain[8:], marked, added=markers, slow=False),
        "added_known": Case(plain, ["cats acat the"], added=[token("cat"), token("the", special=True)], slow=False),
        "added_simple": Case(plain, ["the <ent> <ent>cat"], added=[token("<ent>", special=True)]),
        "special_map": Case(unused, named, special=names),
        "special_map_and_config": Case(unused, named, {"additional_special_tokens": ["<e2>"]}, special=names),
        "special_map_beside_decoder": Case(unused, named, {"added_tokens_decoder": {}}, special=names),
        "special_map_and_added": Case(unused, named + ["<E2>"], special=names, added_json={"<E2>": 21, "<e1>": 22}, slow=False),
        "special_order": Case(plain, named, {"additional_special_tokens": ["<e1>"], "extra_special_tokens": {"x_token": "<x>"},
                                             "bos_token": "<s>", "eos_token": "</s>"}),
        "special_objects": Case(plain, named, special=objects),
        "special_objects_added": Case(plain, named, special=objects, added_json={"<e1>": 20}),
        "special_object_in_config": Case(plain, named + ["CAT Cat"], {"additional_special_tokens": [object_in_config]},
                                         slow=False),
        "json_alone": Case(plain, json_only=True),
        "json_duplicates": Case(plain + ["cat", "x"], ["x cats"], json_only=True),
        "json_line_separator": Case(plain[:10] + ["\u2028"] + plain[10:], json_only=True),
        "json_cased": Case(hangul, ["\ud55c\uad6d\uc5b4 A"], {"do_lower_case": False}, json_only=True),
        "json_added": Case(plain, marked, added=markers, json_only=True),
    }


def main():
    out = sys.argv[1]
    logging.disable(logging.WARNING)
    with open(f"{out}/expected.jsonl", "w", encoding="utf-8") as expected:
        for name, case in cases().items():
            folder = f"{out}/{name}"
            case.write(folder)
            for kind, tokenizer in case.tokenizers(folder):
                for text in case.texts:
                    ids = tokenizer.encode(text, add_special_tokens=False)
                    line = {"case": name, "vocab": "tokenizer.json" if case.json_only else "vocab.txt", "text": text,
                            "kind": kind, "ids": ids}
                    print(json.dumps(line), file=expected)


if __name__ == "__main__":
    main()
