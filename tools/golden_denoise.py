#!/usr/bin/env python3
"""Golden inputs and targets of T5's span corruption and of ttt's iid_denoise_text, from the original functions.

    python tools/golden_denoise.py T5 SEQIO TTT

T5 is t5/data/preprocessors.py of google-research/text-to-text-transfer-transformer (commit e081111), SEQIO seqio/utils.py
of google/seqio (commit b898b9f), TTT ttt/utils.py of wangcongcong123/ttt (commit 8d5888a). The needed functions are
extracted from these files. Writes tests/golden/denoise.json:
  lengths  random_spans_helper: inputs length, density, mean span -> tokens, targets
  counts   random_spans_noise_mask: length, density, mean span -> noise tokens, spans
  masks    noise masks as strings of 0 and 1, with the resulting inputs and targets
  ttt      iid_denoise_text of tokens 0, 1, … with Python's random numbers of a seed: source and target; sentinels are
           SENTINEL and below

Needs tensorflow-cpu.
"""
import ast
import json
import os
import random
import sys
import types
from pathlib import Path

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import tensorflow as tf

GOLDEN = Path(__file__).resolve().parents[1] / "tests/golden"
SENTINEL = 32099
FORMS = [(512, 0.15, 3.0), (128, 0.15, 3.0), (64, 0.15, 3.0), (512, 0.5, 3.0), (512, 0.15, 8.0), (512, 0.5, 32.0),
         (114, 0.3, 2.0), (1024, 0.25, 1.0), (33, 0.5, 1.5)]
LENGTHS = [2, 3, 4, 5, 7, 10, 11, 13, 17, 30, 64, 100, 131, 568]


def functions(path, names, scope):
    found = [node for node in ast.parse(Path(path).read_text()).body if getattr(node, "name", "") in names]
    assert len(found) == len(names), path
    for node in found:
        node.decorator_list = []
        for argument in node.args.args:
            argument.annotation = None
    exec(compile(ast.Module(found, []), str(path), "exec"), scope)
    return types.SimpleNamespace(**{name: scope[name] for name in names})


def main():
    t5_path, seqio_path, ttt_path = sys.argv[1:]
    seqio = functions(seqio_path, ["stateless_shuffle"], {"tf": tf})
    gin = types.SimpleNamespace(REQUIRED=None)
    t5 = functions(t5_path, ["random_spans_helper", "random_spans_noise_mask", "sentinel_id",
                             "noise_span_to_unique_sentinel", "nonnoise_span_to_unique_sentinel"],
                   {"tf": tf, "gin": gin, "seqio": seqio})
    vocabulary = types.SimpleNamespace(vocab_size=SENTINEL + 1)

    def mask_of(length, density, mean, seed):
        seeds = tf.constant([[seed, 1], [seed, 2]], tf.int32)
        return t5.random_spans_noise_mask(length, density, seeds, mean)

    counts, masks = [], []
    for density, mean in dict.fromkeys(form[1:] for form in FORMS):
        for length in LENGTHS:
            mask = mask_of(length, density, mean, length).numpy().astype(int).tolist()
            spans = sum(1 for i, bit in enumerate(mask) if bit and (i == 0 or not mask[i - 1]))
            counts.append([length, density, mean, sum(mask), spans])
    texts = ["".join(map(str, mask_of(length, density, mean, seed).numpy().astype(int)))
             for seed, (length, density, mean) in enumerate([(20, .15, 3.), (33, .3, 2.), (40, .5, 3.), (64, .15, 3.)])]
    for text in texts + ["1", "0", "10", "01", "1111", "0000", "1101100", "0110011"]:
        tokens, noise = tf.range(1000, 1000 + len(text)), tf.constant([bit == "1" for bit in text])
        masks.append({"noise": text,
                      "inputs": t5.noise_span_to_unique_sentinel(tokens, noise, vocabulary, None).numpy().tolist(),
                      "targets": t5.nonnoise_span_to_unique_sentinel(tokens, noise, vocabulary, None).numpy().tolist()})

    ttt = functions(ttt_path, ["iid_denoise_text"], {"random": random})
    ids = lambda pieces: [SENTINEL - int(p.split("_")[-1][:-1]) if isinstance(p, str) else p for p in pieces]
    denoised = []
    for seed, length, span, density in [(1, 40, 3, .15), (2, 61, 3, .15), (3, 50, 4, .1), (4, 30, 3, .6), (5, 12, 1, .4),
                                        (6, 5, 3, .0), (7, 20, 3, 1.0), (8, 0, 3, .15)]:
        random.seed(seed)
        _, source, target = ttt.iid_denoise_text(list(range(length)), span, density)
        denoised.append({"seed": seed, "tokens": length, "span": span, "density": density, "source": ids(source),
                         "target": ids(target)})
    facts = {"made_by": f"tools/golden_denoise.py, tensorflow {tf.__version__}", "sentinel": SENTINEL,
             "lengths": [[*form, *map(int, t5.random_spans_helper(*form, 1, 1))] for form in FORMS],
             "counts": counts, "masks": masks, "ttt": denoised}
    lines = [f"{json.dumps(key)}: {json.dumps(value)}" for key, value in facts.items()]
    (GOLDEN / "denoise.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")


main()
