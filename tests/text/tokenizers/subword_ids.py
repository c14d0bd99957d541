"""Writes tokenizers of Hugging Face's library, and random texts with their ids.

    python subword_ids.py FOLDER OWN...

Each OWN is a folder in FOLDER that transformers' AutoTokenizer reads. Writes to FOLDER: for each other case its
tokenizer.json as NAME.json; expected.jsonl with {"case", "text", "ids", "offsets"} for each text, with offsets in
characters; train.txt, and trained.json with the pieces by id and the merges that the byte-level trainer learns from it.
"""
import json
import random
import os
import sys
import unicodedata

import transformers
from tokenizers import (AddedToken, ByteLevelBPETokenizer, Regex, Tokenizer, models, normalizers, pre_tokenizers, processors,
                        trainers)

TEXTS = 2000  # per case
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
PARTS = ["the", "The", "hello", "world's", "don't", "I'll", "we've", "naïve", "東京", "タワー", "がぎ", "ภาษาไทย", "हिन्दी", "العربية",
         "कु", "emoji😀", "👩‍👩‍👧", "A\u030a", "é", "e\u0301", "İstanbul", "STRASSE", "ß", "123", "45.67", "<mask>", "<s>",
         "|||IP|||", "foo_bar", "\u00a0", "\u3000", "\t", "  ", "   ", " ", "\u200b", "\u200d", "\u0085", "\u2028", "'s", "''",
         "...", "—", "“”", "한국어", "ㅋㅋ", "\u1112\u1161\u11ab", "𠮷", "\ufffd", "½", "Ⅷ", "²", "ﬁ", "Å", "\u0958", "▁", "Ġ"]
BLOCKS = [(32, 126), (0xa0, 0x17ff), (0x2000, 0x33ff), (0x4e00, 0x9fff), (0xac00, 0xd7a3), (0x1f300, 0x1f6ff), (0, 0x2fa1d)]


def random_character(draw):
    """Returns a character with the same category in the Unicode versions of all libraries."""
    while True:
        character = chr(draw.randint(*draw.choice(BLOCKS)))
        kind = unicodedata.ucd_3_2_0.category(character)
        known = kind not in ("Cn", "Cs") and kind == unicodedata.category(character)
        if known and character not in "\r\nΣ":
            return character


def random_text(draw):
    out = []
    for _ in range(draw.randint(0, 14)):
        kind = draw.random()
        out.append(draw.choice(PARTS) if kind < 0.6 else draw.choice([" ", " ", "  ", "\t"]) if kind < 0.8
                   else random_character(draw))
    return "".join(out)


def bert_like(lower_case, strip_accents):
    return normalizers.Sequence([
        normalizers.BertNormalizer(clean_text=True, handle_chinese_chars=False, strip_accents=strip_accents,
                                   lowercase=lower_case),
        normalizers.Replace(Regex(" {2,}"), " "), normalizers.Strip(left=False, right=True)])


def byte_level(train, prefix, regex=True, normalizer=None, processor=None, added=()):
    tokenizer = Tokenizer(models.BPE())
    if normalizer:
        tokenizer.normalizer = normalizer
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=prefix, use_regex=regex)
    tokenizer.train_from_iterator(train, trainers.BpeTrainer(
        vocab_size=900, show_progress=False, special_tokens=["<s>", "</s>", "[UNK]"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet()))
    if processor:
        tokenizer.post_processor = processor
    for token in added:
        tokenizer.add_tokens([token])
    return tokenizer


def metaspace(train, model, trainer, scheme, normalizer, split=True, white_space=False, added=()):
    tokenizer = Tokenizer(model)
    tokenizer.normalizer = normalizer
    step = pre_tokenizers.Metaspace(prepend_scheme=scheme, split=split)
    tokenizer.pre_tokenizer = (pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), step]) if white_space else step)
    tokenizer.train_from_iterator(train, trainer)
    tokenizer.add_special_tokens([AddedToken("[MASK]", lstrip=True, normalized=False)])
    for token in added:
        tokenizer.add_tokens([token])
    return tokenizer


def unigram(train, *rest, **more):
    trainer = trainers.UnigramTrainer(vocab_size=3000, show_progress=False, special_tokens=SPECIAL, unk_token="[UNK]")
    return metaspace(train[:800], models.Unigram(), trainer, *rest, **more)


def bpe(train, fuse):
    trainer = trainers.BpeTrainer(vocab_size=700, show_progress=False, special_tokens=SPECIAL, limit_alphabet=200)
    return metaspace(train, models.BPE(unk_token="[UNK]", fuse_unk=fuse), trainer, "first", bert_like(True, None))


def cases(train):
    mask = AddedToken("<mask>", lstrip=True, normalized=False, special=True)
    around = (("</s>", 1), ("<s>", 0))
    return {
        "gpt2": byte_level(train, False),
        "roberta": byte_level(train, False, processor=processors.RobertaProcessing(*around, add_prefix_space=False),
                              added=[mask]),
        "roberta_with_prefix": byte_level(train, True, processor=processors.RobertaProcessing(*around), added=[mask]),
        "modern": byte_level(train, False, normalizer=normalizers.NFC(), added=[
            AddedToken("  ", normalized=False), AddedToken("   ", normalized=False), AddedToken("|||IP|||", normalized=False),
            mask, AddedToken("hello", single_word=True), AddedToken("E\u0301", normalized=True),
            AddedToken("bar", single_word=True, rstrip=True, lstrip=True, normalized=False)]),
        "one_word": byte_level(train, True, regex=False, added=[AddedToken("The", rstrip=True)],
                               normalizer=normalizers.Sequence([normalizers.NFKC(), normalizers.Lowercase()])),
        "unigram": unigram(train, "first", bert_like(True, None)),
        "unigram_cased": unigram(train, "first", bert_like(False, False), added=[
            AddedToken("hello", single_word=True), AddedToken("foo", rstrip=True, lstrip=True, normalized=False)]),
        "unigram_of_words": unigram(train, "always", bert_like(False, None), white_space=True),
        "unigram_replaced": unigram(train, "never", normalizers.Sequence([normalizers.Replace("'", "’"),
                                                                         normalizers.Strip()])),
        "bpe": bpe(train, True),
        "bpe_single_unknowns": bpe(train, False)}


def main():
    folder, *own = sys.argv[1:]
    draw = random.Random(8)
    train = [random_text(draw) for _ in range(3000)]
    with open(f"{folder}/expected.jsonl", "w", encoding="utf-8") as out:
        for name, tokenizer in cases(train).items():
            tokenizer.save(f"{folder}/{name}.json")
            tokenizer = Tokenizer.from_file(f"{folder}/{name}.json")
            for _ in range(TEXTS):
                text = random_text(draw)
                encoded = tokenizer.encode(text, add_special_tokens=False)
                print(json.dumps({"case": name, "text": text, "ids": encoded.ids, "offsets": encoded.offsets}), file=out)
        for name in own:
            tokenizer = transformers.AutoTokenizer.from_pretrained(os.path.join(folder, name))
            for _ in range(TEXTS // 4):
                text = random_text(draw)
                encoded = tokenizer(text, add_special_tokens=False, return_offsets_mapping=True)
                print(json.dumps({"case": f"{name}/tokenizer", "text": text, "ids": encoded["input_ids"],
                                  "offsets": encoded["offset_mapping"]}), file=out)
    with open(f"{folder}/train.txt", "w", encoding="utf-8", newline="") as out:
        out.writelines(text.replace("\u2028", " ").replace("\u0085", " ") + "\n" for text in train)
    trained = ByteLevelBPETokenizer()
    trained.train([f"{folder}/train.txt"], vocab_size=1500, min_frequency=2, special_tokens=SPECIAL, show_progress=False)
    said = json.loads(trained.to_str())["model"]
    pieces = sorted(said["vocab"], key=said["vocab"].get)
    with open(f"{folder}/trained.json", "w", encoding="utf-8") as out:
        json.dump({"pieces": pieces, "merges": said["merges"]}, out)


if __name__ == "__main__":
    main()
