"""Golden tokens of BERT's tokenizer, made by the original program.

    python tools/golden_tokens.py FOLDER

FOLDER holds tokenization.py of google-research/bert (commit eedf571), run unchanged: TensorFlow 2 answers as the
TensorFlow 1 that it imports. Writes tests/golden/tokens.json: texts in several scripts, random strings of code
points that Unicode 3.2 knows already (so that no later version of the tables matters), and their words and pieces.

Needs tensorflow-cpu.
"""
import json
import os
import random
import sys
import tempfile
import unicodedata

GOLDEN = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "tests", "golden")
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
]


def random_texts(count):
    """Strings over code points assigned since Unicode 3.2, ASCII and white space more often."""
    rng = random.Random(2019)
    known = [cp for cp in range(0x30000)
             if not 0xD800 <= cp < 0xE000 and unicodedata.ucd_3_2_0.category(chr(cp)) != "Cn"
             and unicodedata.ucd_3_2_0.category(chr(cp)) == unicodedata.category(chr(cp))]
    for _ in range(count):
        length = rng.randint(1, 40)
        yield "".join(chr(rng.randint(0, 127)) if rng.random() < 0.4 else chr(rng.choice(known))
                      for _ in range(length))


def vocabulary(words):
    """Special tokens, every character as beginning and continuation, and prefixes and endings of some words."""
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
    import tensorflow.compat.v1 as tf
    sys.modules["tensorflow"] = tf
    sys.path.insert(0, sys.argv[1])
    import tokenization

    texts = TEXTS + list(random_texts(800))
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
        json.dump({"vocab": vocab, "cases": cases}, file, separators=(",", ":"))
        file.write("\n")
    print(len(vocab), "pieces,", len(cases), "cases")


if __name__ == "__main__":
    main()
