#!/usr/bin/env python3
"""Golden outputs of T5 from transformers' T5ForConditionalGeneration.generate (PyTorch, CPU, float32).

Uses the parameters of tests/golden/t5_tiny.safetensors (tools/golden_t5.py), except for the output layer. Writes
tests/golden/t5_answers.safetensors: 200 inputs, and for each kind of model the output layer and for each search the ids
(without the start token) and, for beam search, the scores; and tests/golden/t5_answers.json: the searches' settings.

Needs torch, transformers 4.57 and safetensors:  python tools/golden_t5_answers.py
"""
import json
import re
from pathlib import Path

import numpy as np
import torch
from safetensors.numpy import load_file, save_file
from transformers import T5Config, T5ForConditionalGeneration

GOLDEN = Path(__file__).resolve().parents[1] / "tests/golden"
ROWS, INPUTS, TOKENS = 200, 16, 10
SEARCHES = {
    "greedy": {},
    "greedy_long": {"least_tokens": 7},
    "beams": {"beams": 3},
    "beams_early": {"beams": 4, "length_penalty": 0.6, "early_stop": "yes"},
    "beams_never": {"beams": 3, "length_penalty": 2.0, "early_stop": "never", "answers": 3},
    "beams_long": {"beams": 2, "length_penalty": 0.0, "least_tokens": 4},
}
EARLY = {"no": False, "yes": True, "never": "never"}


# The output layer. The weights of the end token are scaled so that about half of the outputs end.
TABLES = {"small": ("shared/embedding", 0, 3.0), "gated": ("decoder/logits/kernel", 1, 2.0)}


def more_ends(kind, golden):
    name, axis, factor = TABLES[kind]
    value = golden[f"{kind}/param/{name}"].copy()
    end = [slice(None)] * 2
    end[axis] = 1
    value[tuple(end)] *= factor
    return value


def torch_name(name):
    """encoder/block_000/layer_000/SelfAttention/q -> encoder.block.0.layer.0.SelfAttention.q.weight"""
    name = {"shared/embedding": "shared", "decoder/logits/kernel": "lm_head"}.get(name, name)
    name = re.sub(r"(block|layer)_0*(\d+)/", r"\1/\2/", name)
    return re.sub(r"/(kernel|scale)$", "", name).replace("/", ".") + ".weight"


def model_of(kind, config, golden):
    model = T5ForConditionalGeneration(T5Config(**config, pad_token_id=0, eos_token_id=1, decoder_start_token_id=0))
    prefix = f"{kind}/param/"
    own = dict(model.named_parameters())
    for full in golden:
        if not full.startswith(prefix):
            continue
        name = full.removeprefix(prefix)
        value = more_ends(kind, golden) if name == TABLES[kind][0] else golden[full]
        as_it_is = name == "shared/embedding" or value.ndim == 1
        own.pop(torch_name(name)).data = torch.from_numpy(np.ascontiguousarray(value if as_it_is else value.T))
    assert not own, sorted(own)
    return model.eval()


def generate(model, inputs, search):
    """Returns ids [rows, answers, TOKENS] and scores [rows, answers]."""
    beams, answers = search.get("beams", 1), search.get("answers", 1)
    with torch.no_grad():
        out = model.generate(
            input_ids=torch.from_numpy(inputs).long(), attention_mask=torch.from_numpy((inputs != 0).astype(np.int64)),
            max_length=TOKENS + 1, min_length=search.get("least_tokens", 0) + 1 if "least_tokens" in search else 0,
            num_beams=beams, num_return_sequences=answers, length_penalty=search.get("length_penalty", 1.0),
            early_stopping=EARLY[search.get("early_stop", "no")], do_sample=False, return_dict_in_generate=True,
            output_scores=True, use_cache=False)  # its cache assumes as many decoder layers as encoder layers
    ids = out.sequences.numpy()[:, 1:]
    whole = np.zeros([len(inputs) * answers, TOKENS], np.int32)
    whole[:, :ids.shape[1]] = ids
    whole[np.cumsum(whole == 1, axis=1) - (whole == 1) > 0] = 0  # transformers pads beams with the end token
    scores = out.sequences_scores.numpy().reshape(-1, answers) if beams > 1 else None
    return whole.reshape(-1, answers, TOKENS), scores


def main():
    golden = load_file(GOLDEN / "t5_tiny.safetensors")
    facts = json.loads((GOLDEN / "t5_tiny.json").read_text())
    rng = np.random.default_rng(200)
    inputs = np.zeros([ROWS, INPUTS], np.int32)
    for row in inputs:
        length = rng.integers(1, INPUTS + 1)
        row[:length] = rng.integers(2, 53, length)
    tensors = {"inputs": inputs}
    for kind in ("small", "gated"):
        model = model_of(kind, facts[kind]["config"], golden)
        tensors[f"{kind}/words"] = more_ends(kind, golden)
        for name, search in SEARCHES.items():
            ids, scores = generate(model, inputs, search)
            tensors[f"{kind}/{name}/ids"] = ids
            if scores is not None:
                tensors[f"{kind}/{name}/scores"] = scores.astype(np.float32)
            print(kind, name, "ended", (ids == 1).any(-1).mean(), "different", len({x.tobytes() for x in ids}))
    save_file({k: np.ascontiguousarray(v) for k, v in tensors.items()}, GOLDEN / "t5_answers.safetensors")
    (GOLDEN / "t5_answers.json").write_text(json.dumps({"tokens": TOKENS, "searches": SEARCHES}, indent=1) + "\n")


main()
