"""Writes vocabularies of DeBERTa, XLM-RoBERTa, CamemBERT and RoBERTa, and random texts with the ids of transformers and of
Hugging Face's tokenizers.

    python deberta_ids.py FOLDER

Writes to FOLDER: spm/spm.model and lower/spm.model, SentencePiece models with the character map nmt_nfkc and DeBERTa's
special pieces, each beside a tokenizer_config.json; newest/tokenizer.json, the form of transformers 5; folders without
tokenizer.json, as slow tokenizers are saved: xlmr and camembert with sentencepiece.bpe.model, roberta and prefix with
vocab.json and merges.txt, and entities/spm.model with added tokens; and expected.jsonl with {"vocab", "text", "ids", "offsets"} for each text, with offsets in characters; null if the character map drops a
character, because the library's offsets may then be wrong.
"""
import io
import json
import os
import random
import shutil
import sys

import sentencepiece
import transformers
from subword_ids import random_text
from tokenizers import ByteLevelBPETokenizer, Regex, Tokenizer, models, normalizers, pre_tokenizers

TEXTS = 600  # per vocabulary of DeBERTa
SLOW_TEXTS = 200  # per other folder
ADDED = ["<ent>", "covid", "<mask>", "[ENT]", "</s>"]
MAPPED = ["ＡＢＣ", "ﾀﾜｰ", "㎏", "Ａ\u0301", "e\u0301", "\u0958", "x\r\ny", "a\u00adb", "\u200b\u200d", "…", "①②", "ﬃ", "한국", "\u1112\u1161\u11ab",
          "が", "か\u3099", "👩‍👩‍👧", "\x07", "\u2028", "Å", "½", "ʼn", "ﷺ"]


def text_of(draw):
    return "".join(draw.choice(MAPPED) if draw.random() < 0.3 else random_text(draw) for _ in range(draw.randint(1, 3)))


def train_spm(draw, path):
    out = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter([text_of(draw).replace("\0", "") for _ in range(400)]), model_writer=out, vocab_size=1200,
        hard_vocab_limit=False, pad_id=0, pad_piece="[PAD]", bos_id=1, bos_piece="[CLS]", eos_id=2, eos_piece="[SEP]",
        unk_id=3, unk_piece="[UNK]", minloglevel=2, num_threads=1)
    with open(path, "wb") as file:
        file.write(out.getvalue())


def write_json(path, content):
    with open(path, "w") as file:
        json.dump(content, file)


def slow_folders(draw, folder):
    """Writes folders without tokenizer.json; returns transformers' tokenizers by the path of the vocabulary."""
    out = {}
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter([text_of(draw).replace("\0", "") for _ in range(400)]), model_writer=model, vocab_size=1100,
        hard_vocab_limit=False, minloglevel=2, num_threads=1)
    for name, its_class in (("xlmr", "XLMRobertaTokenizer"), ("camembert", "CamembertTokenizer")):
        os.makedirs(f"{folder}/{name}")
        with open(f"{folder}/{name}/sentencepiece.bpe.model", "wb") as file:
            file.write(model.getvalue())
        write_json(f"{folder}/{name}/tokenizer_config.json", {"tokenizer_class": its_class})
        last = len(getattr(transformers, its_class).from_pretrained(f"{folder}/{name}"))
        write_json(f"{folder}/{name}/added_tokens.json", {"<ent>": last, "covid": last + 1})
        write_json(f"{folder}/{name}/special_tokens_map.json", {"bos_token": "<s>", "additional_special_tokens": ["<ent>"]})
        out[f"{name}/sentencepiece.bpe.model"] = getattr(transformers, its_class + "Fast").from_pretrained(f"{folder}/{name}")
    trained = ByteLevelBPETokenizer()
    trained.train_from_iterator([text_of(draw) for _ in range(400)], vocab_size=900, show_progress=False,
                                special_tokens=["<s>", "<pad>", "</s>", "<unk>", "<mask>"])
    for name, config in (("roberta", {"tokenizer_class": "RobertaTokenizer"}), ("prefix", {"add_prefix_space": True})):
        os.makedirs(f"{folder}/{name}")
        trained.save_model(f"{folder}/{name}")
        write_json(f"{folder}/{name}/tokenizer_config.json", config)
        write_json(f"{folder}/{name}/config.json", {"model_type": "roberta"})
        write_json(f"{folder}/{name}/added_tokens.json", {"covid": trained.get_vocab_size()})
        write_json(f"{folder}/{name}/special_tokens_map.json",
                   {"pad_token": "<pad>", "mask_token": {"content": "<mask>", "single_word": False, "lstrip": True,
                                                         "rstrip": False, "normalized": False}})
        out[f"{name}/vocab.json"] = transformers.RobertaTokenizerFast.from_pretrained(f"{folder}/{name}")
    shutil.copytree(f"{folder}/spm", f"{folder}/entities")
    last = len(transformers.DebertaV2Tokenizer.from_pretrained(f"{folder}/spm"))
    write_json(f"{folder}/entities/added_tokens.json", {"[MASK]": last - 1, "<ent>": last, "[ENT]": last + 1})
    out["entities/spm.model"] = transformers.DebertaV2TokenizerFast.from_pretrained(f"{folder}/entities")
    return {path: tokenizer._tokenizer for path, tokenizer in out.items()}


def with_added(draw, text):
    return "".join(draw.choice([" ", ""]).join([part, draw.choice(ADDED)]) for part in text.split(" ")[:3]) + text


def newest(of_spm):
    """Returns a tokenizer with the pieces of another one and the normalizer of DebertaV2Tokenizer in transformers 5."""
    model = json.loads(of_spm.to_str())["model"]
    out = Tokenizer(models.Unigram([tuple(piece) for piece in model["vocab"]], model["unk_id"], False))
    out.normalizer = normalizers.Sequence([normalizers.Replace(Regex(r"\s{2,}|[\n\r\t]"), " "), normalizers.NFC(),
                                           normalizers.Strip(left=False, right=True)])
    out.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Metaspace(prepend_scheme="always")])
    out.add_special_tokens(["[PAD]", "[CLS]", "[SEP]", "[UNK]", "[MASK]"])
    return out


def main():
    folder, draw = sys.argv[1], random.Random(3)
    for name, lower in (("spm", False), ("lower", True)):
        os.makedirs(f"{folder}/{name}")
        with open(f"{folder}/{name}/tokenizer_config.json", "w") as file:
            json.dump({"tokenizer_class": "DebertaV2Tokenizer", "do_lower_case": lower}, file)
    train_spm(draw, f"{folder}/spm/spm.model")
    shutil.copy(f"{folder}/spm/spm.model", f"{folder}/lower/spm.model")
    tokenizers = {f"{name}/spm.model": transformers.DebertaV2TokenizerFast.from_pretrained(f"{folder}/{name}")._tokenizer
                  for name in ("spm", "lower")}
    os.makedirs(f"{folder}/newest")
    tokenizers["newest/tokenizer.json"] = newest(tokenizers["spm/spm.model"])
    tokenizers["newest/tokenizer.json"].save(f"{folder}/newest/tokenizer.json")
    slow = slow_folders(draw, folder)
    with open(f"{folder}/expected.jsonl", "w", encoding="utf-8") as out:
        for name, tokenizer in (tokenizers | slow).items():
            for _ in range(SLOW_TEXTS if name in slow else TEXTS):
                text = with_added(draw, text_of(draw)) if name in slow else text_of(draw)
                encoded = tokenizer.encode(text, add_special_tokens=False)
                drops = name in slow or any(tokenizer.normalizer.normalize_str(f"a{c}b") == "ab" for c in set(text))
                print(json.dumps({"vocab": name, "text": text, "ids": encoded.ids,
                                  "offsets": None if drops else encoded.offsets}), file=out)


if __name__ == "__main__":
    main()
