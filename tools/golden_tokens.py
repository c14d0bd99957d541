"""Golden tokens of BERT's tokenizer, from the original program.

    python tools/golden_tokens.py FOLDER

FOLDER contains tokenization.py of google-research/bert (commit eedf571), which runs unchanged: TensorFlow 2 takes the
place of the TensorFlow 1 that it imports. Writes tests/golden/tokens.json:
  cases        texts in several scripts, and random strings of code points that are in Unicode 3.2 already (so that the
               version of the tables does not matter), with their words and pieces
  code_points  for each block of 4096: a hash of the words around each of its code points that Unicode 14 has
  sigmas       a hash of the words of all short strings over SIGMA_ALPHABET: Python's rule for the final sigma
  utf8         a hash of bytes.decode("utf-8", "ignore") of all short strings of UTF8_BYTES

Needs tensorflow-cpu and Python 3.11, which has the tables of Unicode 14.
"""
import hashlib
import itertools
import json
import os
import random
import sys
import tempfile
import unicodedata

GOLDEN = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "tests", "golden")
CHINESE = [(0x4E00, 0x9FFF), (0x3400, 0x4DBF), (0x20000, 0x2A6DF), (0x2A700, 0x2B73F), (0x2B740, 0x2B81F),
           (0x2B820, 0x2CEAF), (0xF900, 0xFAFF), (0x2F800, 0x2FA1F)]
TEXTS = [
    "Hello, World! It's 5 o'clock; don't be late (again).",
    "\tTabs\r\nand lines \x00 null \ufffd replacement \x7f\x1b controls",
    "Crème brûlée à la carte: œuvre, Ångström, naïve café, İstanbul, Straße, ﬁn",
    "Съешь ещё этих мягких французских булок, да выпей же чаю. Ёлка й",
    "ΟΔΥΣΣΕΥΣ ΣΑΣ Σ ΑΣ. ΑΣ’ ΣΊΣΥΦΟΣ άέήίόύώ ΑΣ\u0301Β Σ\u00adΑΣ\u00ad",
    "我爱北京天安门。今天天气很好，我们去公园吧！",
    "東京タワーへ行きました。カタカナとひらがな、ｶﾅ、がぎぐ",
    "한국어 문장을 나누어 봅시다. 각",
    "السلام عليكم، كيف حالك؟ مُحَمَّد",
    "שלום עולם, מה שלומך? בְּרֵאשִׁית",
    "नमस्ते दुनिया। हिन्दी में वाक्य",
    "สวัสดีชาวโลก ภาษาไทย",
    "👩‍👩‍👧‍👦 🇩🇪 ☕️ emoji😀inside",
    "a\u2028b\u2029c\u0085d\u001ce\u00a0f\u3000g\u200bh\ufeffi",
    "$100 + 200€ = ¥300 ^ ` ~ | < > « » „ “ ” – — … ¿ ¡ · §",
    "x" * 200 + " " + "x" * 201,
    "I\u0307i\u0307 \u0130 \u01c5 \u1e9e \ufb03 \u212b \u2126 \u0344 \u1fef",
    "\U00020000\U0002a700 \uf900 \U0002f800 \ue000 \U000f0000",
    "",
    "   ",
] + ["".join("a" + chr(cp) for cp in (first - 1, first, last, last + 1)) for first, last in CHINESE]
SIGMA_ALPHABET = "\u03a3\u03b1'\u03011\u00ad"
UTF8_BYTES = bytes.fromhex("00417f808f909fa0bfc0c1c2dfe0e1ecedeeeff0f1f3f4f5ff")


def digest(chunks):
    sha = hashlib.sha256()
    for chunk in chunks:
        sha.update(chunk)
    return sha.hexdigest()


def joined_words(basic, text):
    """Returns the words of a text, lower-cased and then cased, in the form that is hashed."""
    return "".join(word + "\n" for lower in (True, False) for word in basic[lower].tokenize(text)).encode() + b"\n"


def code_point_hashes(basic):
    """Hashes the tokens of each code point between letters and next to a sigma, whose form shows whether it is cased."""
    hashes = {}
    for block in range(0, 0x110000, 0x1000):
        known = [chr(cp) for cp in range(block, block + 0x1000)
                 if not 0xD800 <= cp < 0xE000 and unicodedata.category(chr(cp)) != "Cn"]
        if known:
            hashes[f"{block:04X}"] = digest(
                joined_words(basic, f"A{c}\u03a3{c}b \u0391\u03a3{c} {c}\u03a3") for c in known)
    return hashes


def short_strings(alphabet, longest):
    for length in range(longest + 1):
        yield from itertools.product(alphabet, repeat=length)


def random_texts(count):
    """Draws strings of code points that Unicode 3.2 assigns; ASCII and white space are more frequent."""
    rng = random.Random(2019)
    known = [cp for cp in range(0x30000)
             if not 0xD800 <= cp < 0xE000 and unicodedata.ucd_3_2_0.category(chr(cp)) != "Cn"
             and unicodedata.ucd_3_2_0.category(chr(cp)) == unicodedata.category(chr(cp))]
    for _ in range(count):
        length = rng.randint(1, 40)
        yield "".join(chr(rng.randint(0, 127)) if rng.random() < 0.4 else chr(rng.choice(known))
                      for _ in range(length))


def vocabulary(words):
    """Returns special tokens, every character as word start and continuation, and starts and ends of some words."""
    rng = random.Random(7)
    letters = sorted({c for word in words for c in word})
    pieces = letters[::2] + ["##" + c for c in letters if rng.random() < 0.8]
    for word in sorted(set(words)):
        cut = rng.randint(1, len(word))
        pieces += [word[:cut]] + (["##" + word[cut:]] if cut < len(word) else [])
    kept = [p for p in dict.fromkeys(pieces) if len(p.strip()) == len(p) and len(p) < 30 and rng.random() < 0.7]
    return ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"] + kept


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    if unicodedata.unidata_version != "14.0.0":
        sys.exit("Python's Unicode is " + unicodedata.unidata_version + ", not 14.0.0: use Python 3.11")
    import tensorflow.compat.v1 as tf
    sys.modules["tensorflow"] = tf
    sys.path.insert(0, sys.argv[1])
    import tokenization

    texts = TEXTS + list(random_texts(250))
    basic = {lower: tokenization.BasicTokenizer(do_lower_case=lower) for lower in (True, False)}
    vocab = vocabulary([w for text in TEXTS for lower in basic for w in basic[lower].tokenize(text)])
    with tempfile.NamedTemporaryFile("w", suffix=".txt", encoding="utf-8") as file:
        file.writelines(token + "\n" for token in vocab)
        file.flush()
        full = {lower: tokenization.FullTokenizer(file.name, do_lower_case=lower) for lower in basic}
    cases = [{"text": text,
              "lower_words": basic[True].tokenize(text), "cased_words": basic[False].tokenize(text),
              "lower_ids": full[True].convert_tokens_to_ids(full[True].tokenize(text)),
              "cased_ids": full[False].convert_tokens_to_ids(full[False].tokenize(text))}
             for text in texts]
    with open(os.path.join(GOLDEN, "tokens.json"), "w", encoding="utf-8") as file:
        json.dump({
            "vocab": vocab, "cases": cases, "code_points": code_point_hashes(basic),
            "sigmas": digest(joined_words(basic, "".join(s)) for s in short_strings(SIGMA_ALPHABET, 5)),
            "utf8": digest(bytes(s).decode("utf-8", "ignore").encode() + b"\n"
                           for s in short_strings(UTF8_BYTES, 4)),
        }, file, ensure_ascii=False, separators=(",", ":"))
        file.write("\n")
    print(len(vocab), "pieces,", len(cases), "cases")


if __name__ == "__main__":
    main()
