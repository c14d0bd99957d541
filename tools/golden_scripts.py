"""Golden hashes of BERT's and ELECTRA's tokens for text in many scripts, from the original programs.

    python tools/golden_scripts.py BERT ELECTRA

BERT contains tokenization.py of google-research/bert (commit eedf571), ELECTRA that of google-research/electra's model
folder (commit 13b196c); both run unchanged. Writes tests/golden/scripts.json:
  scripts   by name: words of the script and ranges of its code points, from which texts are drawn
  vocab     pieces of these words and letters
  hashes    by variant of the tokenizer: hashes of the words and ids of all texts of each script (SCRIPT_BYTES bytes of
            lines), and of each 100,000 of RANDOM_STRINGS strings of any code points

tests/text/tokenizers/script_texts.h generates the same texts; there, too, the functions are called Draw, line and
random_string. Needs tensorflow-cpu and Python 3.11, which has the tables of Unicode 14. Takes about ten minutes.
"""
import hashlib
import importlib.util
import json
import os
import random
import sys
import tempfile
import unicodedata

GOLDEN = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "tests", "golden")
SCRIPT_BYTES = 450_000
RANDOM_STRINGS, CHUNK = 1_000_000, 100_000
VARIANTS = {  # program, do_lower_case, strip_accents
    "bert_lower": ("bert", True, True),
    "bert_cased": ("bert", False, False),
    "electra_lower": ("electra", True, True),
    "electra_accents": ("electra", True, False),
    "electra_cased": ("electra", False, True),
}
WORDS = {
    "latin": "the of and to in is that for it as was with be by on not he his are have from which one you were Über Äpfel "
             "Straße GROSS größer Mädchen schön été déjà où Noël garçon À ÇA CŒUR œuvre naïve señor AÑO niño mañana ¿qué? "
             "ação coração não São àèìòù Łódź żółć ŹDŹBŁO ěščřžýáíé Příliš ŽLUŤOUČKÝ İstanbul IŞIK ılık ğüşöç Åse ØL Ærø "
             "þú ÐAÐ ﬁnal ﬂow Việt tiếng NGƯỜI đường nước e\u0301te\u0301 n\u0303 A\u030a Z\u0336a\u0335l\u0334go",
    "cyrillic": "и в не на я быть он с что а по это она этот К НО МЫ из у который то за свой весь год от так о для ты "
                "же ВСЕ тот мочь вы человек такой Его сказать ТОЛЬКО или ещё Ёлка ЁЖ бы себя один как уже до время й Й "
                "и\u0306 його ЇЖАК ґанок об'єкт Џак љубав Ња ђак ћуп ѣ ѳ ӄ Қазақ ұлы өз ңғ",
    "greek": "και το να του η της με που την από για ΟΔΥΣΣΕΥΣ ΣΑΣ Σ ΑΣ ΣΊΣΥΦΟΣ ΛΌΓΟΣ ΆΝΘΡΩΠΟΣ Θεός φως ΦΩΣ ως ΩΣ "
             "λόγος άνθρωπος ΐ ΰ ϊϋ Ϊ Ϋ ᾳ ᾼ ῷ Ὀδυσσεύς ὁ ἡ Ἀχιλλεύς ΑΣ’ Α.Σ. ΤΗΣ-ΑΣ ΜΑΣ! α\u0301σ Σ\u0301 ς σς ΣΣ ΣΑΣΑΣ",
    "chinese": "的 一 是 不 了 人 我 在 有 他 这 中 大 来 上 国 个 到 说 们 为 子 和 你 地 出 道 也 时 年 我们 北京 天安门 "
               "今天天气很好 “你好” 。 ， ？ 《红楼梦》 上海2024年 ABC公司 ３６５ 㐀 豈 𠀀",
    "japanese": "の に は を た が で て と し れ さ ある いる も する から な こと として 東京 日本語 カタカナ ガギグゲゴ "
                "パピプ ひらがな ｶﾀｶﾅ ﾊﾟ 。 、 「はい」 ー っ ゃ か\u3099 は\u309a です ます 行きました タワー ヴァイオリン",
    "korean": "이 그 저 것 수 나 너 우리 사람 한국어 대한민국 서울 안녕하세요 감사합니다 있다 없다 하다 되다 좋다 가다 오다 "
              "문장을 나누어 봅시다 각 \u1100\u1161\u11a8 ㄱㄴㄷ ㅏㅑ 뷁 꿹 힣",
    "arabic": "في من على إلى أن هذا التي الذي كان قد ما لا هو هي كل بين بعد عند السلام عليكم كيف حالك؟ مُحَمَّد كِتَاب "
              "الْعَرَبِيَّة آمن ء ئ ؤ ـــ ١٢٣ ، ؛ فارسی گچپژ اردو ٹڈڑ لا\u0640",
    "hebrew": "של את על לא הוא זה עם כי אם יש גם שלום עולם מה ירושלים בְּרֵאשִׁית שָׁלוֹם תּוֹרָה ־ ׳ ״ ךםןףץ",
    "hindi": "के में है की और को से का एक यह पर भी हैं नहीं था कि नमस्ते दुनिया। हिन्दी भाषा क़ ज़ ड़ ढ़ फ़ य़ क\u093c "
             "कर्म श्री ज्ञान विद्यालय १२३ ॥ ॐ संस्कृतम् राष्ट्र",
    "thai": "ที่ และ ใน การ เป็น ของ มี ได้ ไม่ ว่า สวัสดี ชาวโลก ภาษาไทย น้ำ เด็ก กรุงเทพฯ ๑๒๓ ฿ เก่า ใหม่ ๆ",
    "bengali": "এবং একটি আমি তুমি বাংলা ভাষা কো কৌ ড় ঢ় য় ক্ষ। বিশ্ব তাமிழ் தமிழ் மொழி கொ கோ கௌ",
    "emoji": "😀 👩‍👩‍👧‍👦 🇩🇪 ☕️ 👍🏽 ❤️ 🏳️‍🌈 ✓ → ∑ ≠ ≤ ½ ² ™ © № ℃ Å K Ω € $5 :-) #1 a_b C++ x≠y 🄰 ①",
}
RANGES = {
    "latin": [(0x41, 0x5A), (0x61, 0x7A), (0xC0, 0x24F), (0x1E00, 0x1EFF), (0x300, 0x36F)],
    "cyrillic": [(0x400, 0x4FF), (0x410, 0x44F), (0x483, 0x486)],
    "greek": [(0x370, 0x3FF), (0x391, 0x3C9), (0x1F00, 0x1FFF), (0x300, 0x345)],
    "chinese": [(0x4E00, 0x9FA5), (0x3400, 0x4DB5), (0xF900, 0xFA2D), (0x20000, 0x2A6D6), (0x2F800, 0x2FA1D)],
    "japanese": [(0x3041, 0x3096), (0x3099, 0x309F), (0x30A1, 0x30FF), (0xFF61, 0xFF9F), (0x4E00, 0x5E00)],
    "korean": [(0xAC00, 0xD7A3), (0x1100, 0x11FF), (0x3131, 0x318E), (0x302E, 0x302F)],
    "arabic": [(0x61B, 0x669), (0x66E, 0x6FF), (0x750, 0x76D), (0xFB50, 0xFBB1), (0xFE80, 0xFEFC)],
    "hebrew": [(0x591, 0x5C7), (0x5D0, 0x5EA), (0xFB1D, 0xFB4F)],
    "hindi": [(0x901, 0x939), (0x93C, 0x94D), (0x950, 0x954), (0x958, 0x970)],
    "thai": [(0xE01, 0xE3A), (0xE3F, 0xE5B), (0xE81, 0xEDD)],
    "bengali": [(0x981, 0x9FB), (0xB82, 0xBFA), (0xC00, 0xC7F), (0x1B00, 0x1B7C), (0x1B80, 0x1BF3)],
    "emoji": [(0x1F300, 0x1F64F), (0x1F3FB, 0x1F3FF), (0x1F1E6, 0x1F1FF), (0x2190, 0x27BF), (0xFE0E, 0xFE0F),
              (0x200C, 0x200D), (0x1D100, 0x1D1E8), (0x1D400, 0x1D7FF)],
}
SEPARATORS = [" ", " ", " ", " ", " ", " ", ", ", ". ", "-", "\u00a0", "\u3000", "\t", "\u200b", "'", "\u2028", "! "]


class Draw:
    """splitmix64 (Steele, Lea and Flood 2014)."""

    def __init__(self, seed):
        self.state = seed

    def below(self, count):
        self.state = (self.state + 0x9E3779B97F4A7C15) % 2**64
        z = self.state
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
        z = (z ^ (z >> 27)) * 0x94D049BB133111EB % 2**64
        return (z ^ (z >> 31)) % count


def is_known(cp):
    return not 0xD800 <= cp < 0xE000 and unicodedata.category(chr(cp)) != "Cn"


def code_point(draw, ranges):
    """Draws a range, then a code point in it that Unicode 14 assigns."""
    while True:
        first, last = ranges[draw.below(len(ranges))]
        cp = first + draw.below(last - first + 1)
        if is_known(cp):
            return chr(cp)


def line(draw, script):
    """Draws a line with mostly words of the list, and some words of random letters."""
    text = ""
    for _ in range(4 + draw.below(12)):
        if draw.below(4) > 0:
            text += script["words"][draw.below(len(script["words"]))]
        else:
            for _ in range(1 + draw.below(8)):
                text += code_point(draw, script["ranges"])
        text += SEPARATORS[draw.below(len(SEPARATORS))]
    return text


RANDOM_RANGES = [(0, 127), (0, 127), (0, 127), (0, 0x2FFF), (0, 0x2FFF), (0, 0xFFFF), (0, 0x10FFFF), (0x1F00, 0x20FF)]


def random_string(draw):
    """Draws a string of any code points; those between U+FDD0 and U+FDEF will never be assigned."""
    text = ""
    for _ in range(1 + draw.below(20)):
        text += chr(0xFDD0 + draw.below(32)) if draw.below(50) == 0 else code_point(draw, RANDOM_RANGES)
    return text


def script_texts(script, seed):
    draw, size = Draw(seed), 0
    while size < SCRIPT_BYTES:
        text = line(draw, script)
        size += len(text.encode())
        yield text


def vocabulary(scripts):
    """Returns special tokens, most letters as word starts and continuations, and starts and ends of the words."""
    rng = random.Random(11)
    words = [w for script in scripts.values() for word in script["words"]
             for w in (word, word.lower(), unicodedata.normalize("NFD", word.lower()))]
    words += ["".join(c for c in unicodedata.normalize("NFD", w) if unicodedata.category(c) != "Mn") for w in words]
    letters = sorted({c for word in words for c in word} | {chr(cp) for cp in range(33, 127)})
    pieces = letters[::2] + ["##" + c for c in letters if rng.random() < 0.9]
    for word in sorted(set(words)):
        cut = rng.randint(1, len(word))
        pieces += [word, word[:cut]] + (["##" + word[cut:]] if cut < len(word) else [])
    kept = [p for p in dict.fromkeys(pieces) if p and p.strip() == p and rng.random() < 0.9]
    return ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"] + kept


def load_original(folder, name):
    """Loads the folder's tokenization.py, with TensorFlow 2 in place of TensorFlow 1."""
    import tensorflow.compat.v1 as tf
    sys.modules["tensorflow"] = tf
    spec = importlib.util.spec_from_file_location(name, os.path.join(folder, "tokenization.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def digest(tokenizer, texts):
    """Returns a SHA-256 digest of the words (one per line) and ids (one line) of each text."""
    sha = hashlib.sha256()
    for text in texts:
        words = tokenizer.basic_tokenizer.tokenize(text)
        ids = tokenizer.convert_tokens_to_ids(tokenizer.tokenize(text))
        sha.update(("\n".join(words) + "\n" + " ".join(map(str, ids)) + "\n").encode())
    return sha.hexdigest()


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    if unicodedata.unidata_version != "14.0.0":
        sys.exit("Python's Unicode is " + unicodedata.unidata_version + ", not 14.0.0: use Python 3.11")
    programs = {"bert": load_original(sys.argv[1], "bert"), "electra": load_original(sys.argv[2], "electra")}
    scripts = {name: {"words": words.split(" "), "ranges": RANGES[name]} for name, words in WORDS.items()}
    texts = {name: list(script_texts(script, seed)) for seed, (name, script) in enumerate(scripts.items())}
    draw = Draw(2019)
    strings = [random_string(draw) for _ in range(RANDOM_STRINGS)]
    for first in range(0, RANDOM_STRINGS, CHUNK):
        texts[f"random_{first // CHUNK}"] = strings[first:first + CHUNK]
    vocab, hashes = vocabulary(scripts), {}
    with tempfile.NamedTemporaryFile("w", suffix=".txt", encoding="utf-8") as file:
        file.writelines(token + "\n" for token in vocab)
        file.flush()
        for variant, (program, lower, strip) in VARIANTS.items():
            options = {"do_lower_case": lower} | ({"strip_accents": strip} if program == "electra" else {})
            tokenizer = programs[program].FullTokenizer(file.name, **options)
            hashes[variant] = {name: digest(tokenizer, some) for name, some in texts.items()}
            print(variant, flush=True)
    with open(os.path.join(GOLDEN, "scripts.json"), "w", encoding="utf-8") as file:
        json.dump({"script_bytes": SCRIPT_BYTES, "separators": SEPARATORS, "random_ranges": RANDOM_RANGES,
                   "scripts": scripts, "vocab": vocab, "hashes": hashes}, file, ensure_ascii=False,
                  separators=(",", ":"))
        file.write("\n")
    print(len(vocab), "pieces,", sum(len(t.encode()) for some in texts.values() for t in some), "bytes")


if __name__ == "__main__":
    main()
