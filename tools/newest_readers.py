"""Reads files that smelt has written with the installed programs, and compares their results with smelt's own.

python tools/newest_readers.py SMELT [FOLDER]

scripts/test --newest runs it in an environment with the newest versions. It creates tiny models with transformers,
converts and compresses them with SMELT (build/check/smelt), loads each folder or file with the program that it is for,
and compares probabilities, tokens and generated texts with `smelt predict`, `smelt tokenize` and `smelt generate`.
Prints a line for each check and exits with 1 if one fails. If a program cannot read a folder, it must reject it;
loading it with other weights is a failure. The first checks test this script: it must fail for deliberately broken
folders.

smelt scales a row of dynamic activations by max / 127, compressed-tensors by max / 127.5, so their results differ. Each
is compared with a forward pass of torch in f32 that uses the same scale.
"""
import importlib.metadata
import json
import os
import shutil
import subprocess
import sys
import tempfile
import traceback
import unicodedata

os.environ["TOKENIZERS_PARALLELISM"] = "false"
os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["TQDM_DISABLE"] = "1"

import numpy as np
import onnxruntime
import safetensors.torch
import sentencepiece
import tokenizers
import torch
import transformers

PACKAGES = ("transformers", "torch", "tokenizers", "compressed-tensors", "onnxruntime", "sentencepiece", "huggingface_hub",
            "google-cloud-tpu", "safetensors")
WORDS = [a + b for a in "bcdfghlmnprst" for b in ("an", "el", "ip", "or", "un")]
TEXTS = [" ".join(WORDS[(7 * i + 3 * j) % len(WORDS)] for j in range(3 + i % 9)) for i in range(19)]
SIZES = dict(hidden_size=64, num_hidden_layers=2, num_attention_heads=4, intermediate_size=128, max_position_embeddings=64,
             hidden_act="gelu_new", initializer_range=0.1)
NAMES = ["bad", "fair", "good"]
LANGUAGES = {
    "vi": "Bạn đọc bản tin ở bàn này. Mẹ và má mà mả mã mạ!", "uk": "Йшла їжачиха, а за нею ґава: є що їсти!",
    "ar": "مُحَمَّدٌ يَقرأ كتابًا. أحمد في آخر البيت، هل غيّر رأيه؟", "hi": "यह क़लम है और वे कलमें हैं। कुत्ता हिन्दी में पढ़ता है॥",
    "th": "ผู้ใช้กินข้าวในห้องนี้ไม่ได้ น้ำเย็นๆ", "km": "ខ្ញុំ\u200bរៀន\u200bភាសា\u200bខ្មែរ។ និង\u200bនឹង៕", "ko": "글쓰기는 재미있다. 고양이가 앉았다.",
    "ja": "「プログラムでガギグを学ぶ。」東京はどこですか？", "zh": "她说：“北京的漢字和汉字，哪个好？”", "am": "ሰላም፣ እንዴት ነህ? መጽሐፉን አነበብኩት፡፡"}
SMELTS_TOP, COMPRESSED_TENSORS_TOP = 127, 127.5  # the code of the largest activation in a row


class Checks:
    def __init__(self, smelt, folder):
        self.smelt_path, self.folder, self.failed = smelt, folder, 0

    def path(self, name):
        return os.path.join(self.folder, name)

    def smelt(self, *arguments, status=0):
        done = subprocess.run([self.smelt_path, *arguments], capture_output=True, text=True)
        if done.returncode != status:
            raise AssertionError(f"smelt {' '.join(arguments)}: exit {done.returncode}\n{done.stdout}{done.stderr}")
        return done.stdout

    def check(self, name, run):
        try:
            print(f"ok      {name}: {run()}", flush=True)
        except Exception as error:
            self.failed += 1
            print(f"FAILED  {name}: {type(error).__name__}: {error}", flush=True)
            if os.environ.get("VERBOSE"):
                traceback.print_exc()


def softmax(logits):
    shifted = np.exp(logits - logits.max(-1, keepdims=True))
    return shifted / shifted.sum(-1, keepdims=True)


def wordpieces():
    return ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *"abcdefghijklmnopqrstuvwxyz", *WORDS]


def write_spm(checks, folder):
    """Writes the vocabulary of a DeBERTa as Microsoft publishes it."""
    with open(checks.path("text.txt"), "w") as out:
        out.write("\n".join(TEXTS * 4) + "\n")
    sentencepiece.SentencePieceTrainer.train(
        input=checks.path("text.txt"), model_prefix=os.path.join(folder, "spm"), vocab_size=60, pad_id=0, pad_piece="[PAD]",
        bos_id=1, bos_piece="[CLS]", eos_id=2, eos_piece="[SEP]", unk_id=3, unk_piece="[UNK]", hard_vocab_limit=False,
        minloglevel=2)
    os.remove(os.path.join(folder, "spm.vocab"))


def vocabulary_in(folder):
    """Returns the vocabulary file that smelt reads in a folder."""
    files = (os.path.join(folder, name) for name in ("vocab.txt", "tokenizer.json", "spm.model"))
    return next(path for path in files if os.path.exists(path))


def make_classifier(checks, kind):
    folder = checks.path(kind)
    names = {"id2label": dict(enumerate(NAMES)), "label2id": {name: i for i, name in enumerate(NAMES)}}
    torch.manual_seed(7)
    if kind == "bert":
        config = transformers.BertConfig(vocab_size=len(wordpieces()), **SIZES, **names)
        model = transformers.BertForSequenceClassification(config)
    elif kind == "modernbert":  # layers 0 and 3 attend to all tokens, 1 and 2 only to two tokens on each side
        sizes = {name: SIZES[name] for name in ("hidden_size", "num_attention_heads", "max_position_embeddings",
                                                "initializer_range")}
        config = transformers.ModernBertConfig(vocab_size=len(wordpieces()), num_hidden_layers=4, intermediate_size=128,
                                               local_attention=4, classifier_pooling="mean", pad_token_id=0, cls_token_id=2,
                                               bos_token_id=2, sep_token_id=3, eos_token_id=3, **sizes, **names)
        model = transformers.ModernBertForSequenceClassification(config)
    elif kind == "deberta":
        sizes = SIZES | {"hidden_act": "gelu", "type_vocab_size": 0, "layer_norm_eps": 1e-7}
        config = transformers.DebertaV2Config(vocab_size=160, relative_attention=True, position_buckets=8,
                                              pos_att_type=["p2c", "c2p"], share_att_key=True, norm_rel_ebd="layer_norm",
                                              position_biased_input=False, **sizes, **names)
        model = transformers.DebertaV2ForSequenceClassification(config)
    else:
        sizes = SIZES | {"hidden_act": "gelu"}
        config = transformers.ElectraConfig(vocab_size=len(wordpieces()), embedding_size=32, **sizes, **names)
        model = transformers.ElectraForSequenceClassification(config)
    model.save_pretrained(folder)
    if kind == "deberta":
        write_spm(checks, folder)
    else:
        with open(os.path.join(folder, "vocab.txt"), "w") as out:
            out.write("\n".join(wordpieces()) + "\n")
        with open(os.path.join(folder, "tokenizer_config.json"), "w") as out:
            json.dump({"do_lower_case": True, "tokenizer_class": "BertTokenizer"}, out)
    with open(checks.path("rows.tsv"), "w") as out:
        out.write("text\tlabel\n" + "".join(f"{text}\t{NAMES[i % 3]}\n" for i, text in enumerate(TEXTS)))
    return folder


def predicted(checks, folder):
    flags = [flag for text in TEXTS for flag in ("--text", text)]
    rows = [json.loads(line) for line in checks.smelt("predict", folder, "--json", *flags).splitlines()]
    return np.array([[row["probabilities"][name] for name in NAMES] for row in rows])


def by_transformers(folder):
    """Returns the probabilities of each text. Missing or unused weights are an error."""
    model, info = transformers.AutoModelForSequenceClassification.from_pretrained(folder, output_loading_info=True)
    wrong = {key: sorted(map(str, names)) for key, names in info.items() if names}
    if wrong:
        raise AssertionError(f"not all weights are the folder's: {str(wrong)[:300]}")
    return probabilities_of(model.eval(), folder)


def by_onnxruntime(path, folder):
    tokenizer = tokenizers.Tokenizer.from_file(os.path.join(folder, "tokenizer.json"))
    options = onnxruntime.SessionOptions()
    options.add_session_config_entry("session.qdq_matmulnbits_accuracy_level", "1")
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    out = []
    for text in TEXTS:
        ids = np.array([tokenizer.encode(text).ids], np.int64)
        inputs = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
        wanted = [one.name for one in session.get_inputs()]  # not all models have token types
        out.append(session.run(None, {name: inputs[name] for name in wanted})[0][0])
    return softmax(np.array(out, np.float64))


def expect_near(got, wanted, most):
    apart = float(np.abs(got - wanted).max())
    if not apart <= most:
        raise AssertionError(f"probabilities are up to {apart:.2g} apart, allowed {most}")
    return f"{apart:.1g} apart"


def expect_same_codes(got, wanted):
    """For models with quantized activations: a sum in another order may round to the next code, which changes few texts."""
    apart = np.abs(got - wanted).max(-1)
    same = int((apart <= 1e-4).sum())
    if same < len(TEXTS) - 4 or apart.max() > 5e-3:
        raise AssertionError(f"{same} of {len(TEXTS)} texts have the same probabilities, all are within {apart.max():.2g}")
    return f"{same} of {len(TEXTS)} texts are the same, all within {apart.max():.1g}"


def rounded_rows(top):
    """Returns a hook that quantizes a module's input rows to int8; the largest value of a row has the code `top`."""
    def hook(module, inputs):
        scale = (inputs[0].abs().amax(-1, keepdim=True) / top).clamp_min(torch.finfo(torch.float32).eps)
        return (torch.clamp(torch.round(inputs[0] / scale), -128, 127) * scale, *inputs[1:])
    return hook


def dynamic_model(kind, folder, top):
    """Returns the f32 model of a dynamic int8 folder, with dequantized weights and inputs quantized by `top`."""
    config = kind.config_class.from_pretrained(folder)
    del config.quantization_config
    model = kind(config)
    tensors = safetensors.torch.load_file(os.path.join(folder, "model.safetensors"))
    coded = [name[:-7] for name, tensor in tensors.items() if tensor.dtype == torch.int8]
    if not coded:
        raise AssertionError(f"{folder} has no codes")
    for module in coded:
        tensors[module + ".weight"] = tensors[module + ".weight"].float() * tensors.pop(module + ".weight_scale")
        model.get_submodule(module).register_forward_pre_hook(rounded_rows(top))
    missing, unexpected = model.load_state_dict(tensors, strict=False)
    tied = ("embed_tokens.weight", "position_ids") + (("lm_head.weight",) if config.tie_word_embeddings else ())
    missing = [name for name in missing if not name.endswith(tied)]
    model.tie_weights()
    if missing or unexpected:
        raise AssertionError(f"missing {missing}, unexpected {unexpected}")
    return model.eval()


def probabilities_of(model, folder):
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    with torch.no_grad():
        logits = [model(**tokenizer(text, return_tensors="pt")).logits[0].numpy() for text in TEXTS]
    return softmax(np.array(logits, np.float64))


def by_rule(folder, top):
    kind = getattr(transformers, json.load(open(os.path.join(folder, "config.json")))["architectures"][0])
    return probabilities_of(dynamic_model(kind, folder, top), folder)


def refused(folder, *reasons):
    """Checks that transformers reads the tokenizer and config.json, and rejects the weights for one of the reasons."""
    transformers.AutoTokenizer.from_pretrained(folder)
    config = transformers.AutoConfig.from_pretrained(folder)
    try:
        transformers.AutoModelForSequenceClassification.from_pretrained(folder, config=config)
    except (ValueError, OSError, RuntimeError, AttributeError) as error:
        message = str(error)
    else:
        raise AssertionError("it loads, though its weights cannot be read")
    if not any(reason in message.lower() for reason in reasons):
        raise AssertionError(f"refused for another reason than {' or '.join(reasons)}: {message[:300]}")
    return f"refused: {message.splitlines()[0][:100]}"


def must_fail(run, *reasons):
    """Checks that a check fails, with one of the reasons in its message."""
    try:
        answer = run()
    except AssertionError as error:
        if not any(reason in str(error) for reason in reasons):
            raise AssertionError(f"fails for another reason than {' or '.join(reasons)}: {str(error)[:300]}")
        return f"fails: {str(error)[:60]}"
    raise AssertionError(f"passes, but must fail: {answer}")


def check_the_checks(checks, made):
    """Breaks copies of a folder on purpose and tests that the checks of this script fail."""
    own = by_transformers(made)

    def broken(name, change):
        folder = checks.path("broken-" + name)
        shutil.copytree(made, folder)
        path = os.path.join(folder, "model.safetensors")
        tensors = safetensors.torch.load_file(path)
        change(tensors)
        safetensors.torch.save_file(tensors, path, {"format": "pt"})
        return folder

    key = "bert.encoder.layer.1.output.dense.weight"
    lacks = broken("lacks", lambda tensors: tensors.pop(key))
    more = broken("more", lambda tensors: tensors.update({"other.weight": torch.zeros(2)}))
    scaled = broken("scaled", lambda tensors: tensors.update({key: tensors[key] * 1.05}))
    narrow = broken("narrow", lambda tensors: tensors.update({key: tensors[key][:, :64].contiguous()}))
    for name, run, reason in (
            ("a folder that lacks a tensor", lambda: by_transformers(lacks), "not all weights"),
            ("a folder with a tensor too many", lambda: by_transformers(more), "not all weights"),
            ("weights that are 5 % too large", lambda: expect_near(by_transformers(scaled), own, 1e-4), "apart"),
            ("a folder that loads, where a refusal is expected", lambda: refused(made, "mismatch"), "it loads"),
            ("a refusal for another reason", lambda: refused(narrow, "quant_method"), "another reason")):
        checks.check(f"this script notices {name}", lambda: must_fail(run, reason))


def compressed_forms(checks, kind):
    rows = checks.path("rows.tsv")
    return {"int8": ["quantize"],
            "int8 --embeddings": ["quantize", "--embeddings"],
            "int8 --activations dynamic": ["quantize", "--activations", "dynamic"],
            "int8 --activations static": ["quantize", "--activations", "static", "--calibrate", rows],
            "int4": ["quantize", "--weights", "int4", "--group", "32"],
            "prune --layers": ["prune", "--layers", "2" if kind == "modernbert" else "1"],
            "prune --ffn": ["prune", "--ffn", "0.5", "--input", rows]}


def check_classifier(checks, kind):
    made = make_classifier(checks, kind)
    checks.smelt("convert", made, checks.path(kind + "-run"), "--to", "smelt", "--vocab", vocabulary_in(made))
    folder = checks.path(kind + "-hf")
    checks.smelt("convert", checks.path(kind + "-run"), folder, "--to", "hf")
    own = predicted(checks, folder)
    checks.check(f"{kind}: transformers reads a folder of convert", lambda: expect_near(by_transformers(folder), own, 1e-5))

    def tokens():
        ids = [checks.smelt("tokenize", "--vocab", vocabulary_in(folder), "--ids", "--text", t) for t in TEXTS]
        fast = tokenizers.Tokenizer.from_file(os.path.join(folder, "tokenizer.json"))
        for text, line in zip(TEXTS, ids):
            if [int(i) for i in line.split()] != fast.encode(text, add_special_tokens=False).ids:
                raise AssertionError(f"{text!r}: smelt has {line}, tokenizers {fast.encode(text).ids}")
        return f"{len(TEXTS)} texts"

    checks.check(f"{kind}: tokenizers reads tokenizer.json", tokens)

    def onnx(source, name, most):
        path = checks.path(name + ".onnx")
        checks.smelt("convert", source, path)
        answers = predicted(checks, source)
        if "activations" in name:
            return expect_same_codes(by_onnxruntime(path, folder), answers)
        return expect_near(by_onnxruntime(path, folder), answers, most)

    checks.check(f"{kind}: onnxruntime reads a file of convert", lambda: onnx(folder, kind, 1e-5))
    for number, (name, arguments) in enumerate(compressed_forms(checks, kind).items()):
        made = checks.path(f"{kind}-{number}")

        def compress(arguments=arguments, made=made):
            checks.smelt("compress", arguments[0], folder, "--out", made, *arguments[1:])
            answers = predicted(checks, made)
            other = float(np.abs(answers - own).max())
            from_model = f"; {other:.1g} from the model's"
            if "dynamic" in name:
                expected = by_rule(made, COMPRESSED_TENSORS_TOP)
                must_fail(lambda: expect_same_codes(answers, expected), "texts have the same")
                expect_same_codes(answers, by_rule(made, SMELTS_TOP))
                return expect_same_codes(by_transformers(made), expected) + from_model
            if "static" in name:
                return expect_same_codes(by_transformers(made), answers) + from_model
            if name == "int4" and kind == "modernbert":  # transformers 5.24 initializes packed weights
                return refused(made, "has no attribute 'weight'") + from_model
            return expect_near(by_transformers(made), answers, 1e-4) + from_model

        checks.check(f"{kind}: transformers reads {name}", compress)
        if name.startswith("int8"):
            checks.check(f"{kind}: onnxruntime reads {name}", lambda: onnx(made, f"{kind} {name}", 1e-4))

    def sparse():
        made = checks.path(kind + "-sparse")
        checks.smelt("compress", "prune", folder, "--out", made, "--method", "magnitude", "--sparsity", "0.5")
        return refused(made, "quant_method")

    def cut():
        made = checks.path(kind + "-heads")
        checks.smelt("compress", "prune", folder, "--out", made, "--heads", "0.5", "--input", checks.path("rows.tsv"))
        return refused(made, "mismatch")

    checks.check(f"{kind}: transformers refuses prune --sparsity", sparse)
    if kind not in ("modernbert", "deberta"):  # smelt does not prune their heads
        checks.check(f"{kind}: transformers refuses prune --heads", cut)


def make_t5(checks):
    folder = checks.path("t5")
    os.makedirs(folder)
    with open(checks.path("text.txt"), "w") as out:
        out.write("\n".join(TEXTS * 4) + "\n")
    sentencepiece.SentencePieceTrainer.train(
        input=checks.path("text.txt"), model_prefix=os.path.join(folder, "spiece"), vocab_size=60, pad_id=0, eos_id=1,
        unk_id=2, bos_id=-1, hard_vocab_limit=False, minloglevel=2)
    os.remove(os.path.join(folder, "spiece.vocab"))
    torch.manual_seed(7)
    config = transformers.T5Config(vocab_size=160, d_model=64, d_kv=16, d_ff=128, num_layers=2, num_heads=4,
                                   feed_forward_proj="gated-gelu", tie_word_embeddings=False, decoder_start_token_id=0,
                                   initializer_factor=1.5)
    transformers.T5ForConditionalGeneration(config).save_pretrained(folder)
    return folder


def t5_by_transformers(folder):
    model, info = transformers.T5ForConditionalGeneration.from_pretrained(folder, output_loading_info=True)
    missing = [name for name in info["missing_keys"] if not name.endswith("embed_tokens.weight")]
    if missing or info["unexpected_keys"]:
        raise AssertionError(f"missing {missing}, unexpected {info['unexpected_keys']}")
    return model.eval()


def t5_answers(model, folder):
    pieces = sentencepiece.SentencePieceProcessor(os.path.join(folder, "spiece.model"))
    out = []
    for text in TEXTS:
        ids = torch.tensor([pieces.encode(text) + [1]])
        with torch.no_grad():
            said = model.generate(ids, max_new_tokens=8, do_sample=False)[0].tolist()
        said = [i for i in said[1:] if i < pieces.get_piece_size()]
        out.append(pieces.decode(said[: said.index(1)] if 1 in said else said))
    return out


def check_t5(checks):
    made = make_t5(checks)
    checks.smelt("convert", made, checks.path("t5-run"), "--to", "smelt")
    folder = checks.path("t5-hf")
    checks.smelt("convert", checks.path("t5-run"), folder, "--to", "hf")

    def own_answers(of):
        flags = [flag for text in TEXTS for flag in ("--text", text)]
        return checks.smelt("generate", of, "--max-length", "8", *flags).splitlines()

    def same_answers(answers, expected):
        strip = lambda text: " ".join(w for w in text.split() if not w.startswith("<extra_id_"))
        same = sum(strip(a) == strip(b) for a, b in zip(answers, expected))
        if len(answers) != len(TEXTS) or same < len(TEXTS) - 1:  # two words may be equally likely
            raise AssertionError(f"{same} of {len(TEXTS)} answers are the same: {answers[:3]} {expected[:3]}")
        return f"{same} of {len(TEXTS)} answers are the same"

    def tokens():
        pieces = sentencepiece.SentencePieceProcessor(os.path.join(folder, "spiece.model"))
        for text in TEXTS:
            line = checks.smelt("tokenize", "--model", os.path.join(folder, "spiece.model"), "--ids", "--text", text)
            if [int(i) for i in line.split()] != pieces.encode(text):
                raise AssertionError(f"{text!r}: smelt has {line}, sentencepiece {pieces.encode(text)}")
        return f"{len(TEXTS)} texts"

    checks.check("t5: sentencepiece reads spiece.model", tokens)
    checks.check("t5: transformers reads a folder of convert",
                 lambda: same_answers(own_answers(folder), t5_answers(t5_by_transformers(folder), folder)))
    for name, arguments in {"int8": [], "int8 --embeddings": ["--embeddings"],
                            "int8 --activations dynamic": ["--activations", "dynamic"],
                            "int4": ["--weights", "int4", "--group", "32"]}.items():
        def compress(name=name, arguments=arguments):
            made = checks.path("t5-" + name.replace(" ", "") + str(len(arguments)))
            checks.smelt("compress", "quantize", folder, "--out", made, *arguments)
            answers = own_answers(made)
            if "dynamic" in name:
                kind = transformers.T5ForConditionalGeneration
                same_answers(answers, t5_answers(dynamic_model(kind, made, SMELTS_TOP), made))
                answers = t5_answers(dynamic_model(kind, made, COMPRESSED_TENSORS_TOP), made)
            return same_answers(answers, t5_answers(t5_by_transformers(made), made))

        checks.check(f"t5: transformers reads {name}", compress)


def check_vocabulary(checks, language, text, flags):
    """Compares ids and offsets of a new vocabulary with transformers, also for decomposed text and too long words."""
    folder = checks.path("-".join([language, *flags]).replace("--", ""))
    with open(checks.path("language.txt"), "w") as out:
        out.write((text + "\n") * 5)
    checks.smelt("vocab", "train", "--input", checks.path("language.txt"), "--out", os.path.join(folder, "tokenizer.json"), "--size",
                 "400", *flags)
    with open(os.path.join(folder, "config.json"), "w") as out:
        json.dump({"model_type": "bert"}, out)
    texts = [text, unicodedata.normalize("NFD", text), text.upper(), text.replace(" ", "\u200b"), "a" * 100 + " " + "a" * 101]
    arguments = [argument for one in texts for argument in ("--text", one)]
    lines = checks.smelt("tokenize", "--vocab", os.path.join(folder, "tokenizer.json"), "--json", *arguments).splitlines()
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    for one, line in zip(texts, lines, strict=True):
        own, its = json.loads(line), tokenizer(one, add_special_tokens=False, return_offsets_mapping=True)
        if own["ids"] != its["input_ids"] or own["offsets"] != [list(pair) for pair in its["offset_mapping"]]:
            raise AssertionError(f"{one!r}: smelt has {own}, transformers {its}")
    return f"{len(texts)} texts"


def check_vocabularies(checks):
    for language, text in LANGUAGES.items():
        for flags in ([], ["--type", "auto"]):
            checks.check(f"{language}: transformers reads vocab train {' '.join(flags)}",
                         lambda: check_vocabulary(checks, language, text, flags))
    for flags in (["--type", "unigram"], ["--type", "bpe"], ["--type", "byte_bpe"], ["--lower-case", "true"],
                  ["--lower-case", "true", "--language", "tr"], ["--lower-case", "true", "--strip-accents", "true"]):
        checks.check(f"tr: transformers reads vocab train {' '.join(flags)}",
                     lambda: check_vocabulary(checks, "tr", "Irmak ışık İzmir iki IŞIK ağaç güzel işlev.", flags))


def check_hub(checks):
    """Checks the names and types of weights that huggingface_hub reads from an uploaded folder."""
    import huggingface_hub
    state = huggingface_hub.load_state_dict_from_file(os.path.join(checks.path("bert-hf"), "model.safetensors"))
    config = json.load(open(os.path.join(checks.path("bert-hf"), "config.json")))
    if "classifier.weight" not in state or tuple(state["classifier.weight"].shape) != (3, config["hidden_size"]):
        raise AssertionError(f"tensors are {sorted(state)}")
    return f"{len(state)} tensors"


def main():
    print(", ".join(f"{name} {importlib.metadata.version(name)}" for name in PACKAGES), flush=True)
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    with tempfile.TemporaryDirectory() as temporary:
        folder = sys.argv[2] if len(sys.argv) > 2 else temporary
        checks = Checks(os.path.abspath(sys.argv[1]), folder)
        check_the_checks(checks, make_classifier(checks, "bert"))
        for kind in ("bert", "electra", "modernbert", "deberta"):
            checks.check(f"{kind}: convert", lambda: check_classifier(checks, kind) or "done")
        checks.check("t5: convert", lambda: check_t5(checks) or "done")
        check_vocabularies(checks)
        checks.check("huggingface_hub reads the weights", lambda: check_hub(checks))
    print(f"{checks.failed} failed")
    sys.exit(1 if checks.failed else 0)


if __name__ == "__main__":
    main()
