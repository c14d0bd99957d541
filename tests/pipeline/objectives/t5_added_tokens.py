"""Writes folders of T5's tokenizer with added tokens, and the ids of texts by transformers' T5TokenizerFast.

    python t5_added_tokens.py MODEL OUT

MODEL is a SentencePiece model. Writes folders OUT/<name>: old and new contain a spiece.model as T5Tokenizer saves it,
with legacy true and false; old-json and new-json contain only a tokenizer.json; words-json first splits at white space,
like the tokenizer.json of the first T5s. Writes OUT/ids.json with the texts, and for each folder their ids.
"""
import json
import sys
from pathlib import Path

from transformers import AddedToken, T5Tokenizer, T5TokenizerFast

TEXTS = ["a bad newtok bed", "abadnewtokbed", "bad newtok", "newtok", "newtok bed", " newtok  bed", "a [EV] bed",
         "a[EV]bed", "[EV]", "[EV] [EV] newtok [EV]", "a lll bed", "a  lll  bed", "a rrr  bed", "a sw bed", "asw bed",
         "(sw) bed", "sw", "a Full bed", "a \uff26\uff55\uff4c\uff4c bed", "\uff4e\uff45\uff57tok newtok a",
         "a LS bed", "a  LS  bed", "<extra_id_0> newtok bed", "newtok<extra_id_0>bed", "a <extra_id_0> newtok",
         "newtok newtok", "bed  newtok", "a newtok\n bed", "a [EV] newtok sw [EV] ", "cab <extra_id_3>bed", "", "  "]
TOKENS = [AddedToken("newtok"), AddedToken("[EV]", normalized=False, special=True),
          AddedToken("lll", lstrip=True, normalized=False), AddedToken("rrr", rstrip=True, normalized=False),
          AddedToken("sw", single_word=True), AddedToken("\uff26\uff55\uff4c\uff4c"),
          AddedToken("LS", lstrip=True, rstrip=True)]


def save_fast(fast, folder, steps=None):
    """Saves only a tokenizer.json, with other normalization and splitting steps if given. Returns its tokenizer."""
    fast.save_pretrained(folder)
    for path in folder.iterdir():
        if path.name != "tokenizer.json":
            path.unlink()
    if steps:
        path = folder / "tokenizer.json"
        path.write_text(json.dumps({**json.loads(path.read_text()), **steps}))
    return T5TokenizerFast(tokenizer_file=str(folder / "tokenizer.json"), extra_ids=4)


def main():
    model, out = sys.argv[1], Path(sys.argv[2])
    found = {}
    for name, legacy in (("old", True), ("new", False)):
        slow = T5Tokenizer(model, extra_ids=4, legacy=legacy)
        slow.add_tokens(TOKENS)
        slow.save_pretrained(out / name)
        found[name] = T5TokenizerFast.from_pretrained(out / name)
        found[name + "-json"] = save_fast(found[name], out / (name + "-json"))
    charsmap = json.loads((out / "old-json/tokenizer.json").read_text())["normalizer"]["normalizers"][0]
    steps = {"normalizer": charsmap if charsmap["type"] == "Precompiled" else None,
             "pre_tokenizer": {"type": "Sequence", "pretokenizers": [
                 {"type": "WhitespaceSplit"},
                 {"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "always", "split": True}]}}
    found["words-json"] = save_fast(found["old"], out / "words-json", steps)
    ids = {name: [fast(text).input_ids for text in TEXTS] for name, fast in found.items()}
    (out / "ids.json").write_text(json.dumps({"texts": TEXTS, "ids": ids}))


if __name__ == "__main__":
    main()
