#!/usr/bin/env python3
"""Golden values of DeBERTa-v2 and v3 from transformers (CPU, float64, no dropout).

Writes tests/golden/deberta_tiny.safetensors: for the masked language model ("words") and the three classifiers ("texts",
"tokens", "spans") the parameters and all gradients of the loss by transformers' names, the inputs and the scores;
tests/golden/deberta_tiny.json: the config.json and the loss of each; and tests/golden/deberta_rows.json: the row of the
relative embeddings for each distance from -max + 1 to max - 1. Parameters are float32 numbers, so that float32 programs can
read them exactly; gradients, scores and losses are computed in float64, and the scores rounded to float32.

The four models differ in the settings of their attention: see FORMS. Under "rtd" are a generator and a discriminator with
the loss of replaced-token detection and gradient-disentangled embedding sharing (He et al. 2023).

Needs torch, transformers (4.57 and 5.24 give the same values) and safetensors:  python tools/golden_deberta.py
"""
import json
import math
from pathlib import Path

import numpy as np
import torch
import transformers
from safetensors.numpy import save_file
from transformers.models.deberta_v2 import modeling_deberta_v2 as deberta

GOLDEN = Path(__file__).resolve().parents[1] / "tests/golden"
BATCH, SEQUENCE, CLASSES = 3, 14, 3
PAD, CLS, SEP, MASK = 0, 1, 2, 28
# Distances above 4 share buckets, and with position_buckets -1 those above 5 share a row.
V3 = dict(position_buckets=8, max_relative_positions=20, pos_att_type=["p2c", "c2p"], share_att_key=True,
          norm_rel_ebd="layer_norm", position_biased_input=False)
FORMS = {"words": V3 | dict(embedding_size=12),
         "texts": V3,
         "tokens": V3 | dict(position_biased_input=True, pos_att_type=["c2p"], hidden_act="relu"),
         "spans": V3 | dict(share_att_key=False, norm_rel_ebd="none", position_buckets=-1, max_relative_positions=6)}
SIZES = dict(vocab_size=29, hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=24,
             max_position_embeddings=16, type_vocab_size=0, relative_attention=True, layer_norm_eps=1e-7,
             hidden_act="gelu", pooler_hidden_act="gelu", pad_token_id=PAD, hidden_dropout_prob=0.0,
             attention_probs_dropout_prob=0.0, pooler_dropout=0.0, initializer_range=0.02)
CLASSES_OF = {"words": "MaskedLM", "texts": "SequenceClassification", "tokens": "TokenClassification",
              "spans": "QuestionAnswering"}
# position_buckets, max_relative_positions: those of the released models and of the tiny ones, and small and odd ones
BUCKETS = [(256, 512), (8, 20), (-1, 6), (32, 512), (4, 16), (10, 100)]


def examples(rng):
    ids, mask = np.full([BATCH, SEQUENCE], PAD, np.int32), np.zeros([BATCH, SEQUENCE], np.int32)
    for row, length in enumerate([SEQUENCE, 4, 9]):
        ids[row, :length] = rng.integers(3, SIZES["vocab_size"], length)
        ids[row, 0], ids[row, length - 1] = CLS, SEP
        mask[row, :length] = 1
    return ids, mask


def labels_of(kind, rng, mask):
    """Returns the labels as features of smelt's batches, and in the form of transformers."""
    if kind == "texts":
        labels = np.array([2, 0, 1], np.int32)
        return {"label_ids": labels}, labels
    if kind == "spans":
        start, end = np.array([5, 1, 0], np.int32), np.array([12, 2, 0], np.int32)
        return {"start_positions": start, "end_positions": end}, (start, end)
    if kind == "tokens":
        labels = np.where((mask == 0) | (rng.random(mask.shape) < 0.3), -100, rng.integers(0, CLASSES, mask.shape))
        return {"label_ids": np.maximum(labels + 1, 0).astype(np.int32)}, labels.astype(np.int32)
    positions = np.array([[1, 12], [2, 0], [1, 5]], np.int32)
    words = rng.integers(3, SIZES["vocab_size"], positions.shape).astype(np.int32)
    weights = (positions > 0).astype(np.float32)
    words[weights == 0] = 0
    labels = np.full(mask.shape, -100, np.int32)
    for row in range(BATCH):
        for position, word, weight in zip(positions[row], words[row], weights[row]):
            if weight:
                labels[row, position] = word
    return {"masked_lm_positions": positions, "masked_lm_ids": words, "masked_lm_weights": weights}, labels


def loss_of(kind, out, mask, labels):
    """Returns the loss, and the scores in the form of smelt's outputs."""
    cross_entropy = torch.nn.functional.cross_entropy
    if kind == "spans":
        scores = torch.stack([out.start_logits, out.end_logits], -1)
        padding = (1.0 - torch.tensor(mask, dtype=torch.float64)) * -1e9
        losses = [cross_entropy(scores[..., i] + padding, torch.tensor(place).long()) for i, place in enumerate(labels)]
        return sum(losses) / 2, scores
    logits = out.logits.reshape(-1, out.logits.shape[-1])
    return cross_entropy(logits, torch.tensor(labels).long().reshape(-1), ignore_index=-100), out.logits


def run(kind, tensors):
    rng = np.random.default_rng(2111_09543)
    config = transformers.DebertaV2Config(**(SIZES | FORMS[kind]), num_labels=2 if kind == "spans" else CLASSES)
    ids, mask = examples(rng)
    model = getattr(transformers, "DebertaV2For" + CLASSES_OF[kind])(config).double().eval()
    parameters = dict(model.named_parameters())
    for name, parameter in sorted(parameters.items()):
        mean = 1.0 if name.endswith("LayerNorm.weight") else 0.0
        values = rng.normal(mean, 0.3, tuple(parameter.shape)).astype(np.float32)
        parameter.data = torch.tensor(values).double()
    model.tie_weights()
    stored, labels = labels_of(kind, rng, mask)
    out = model(input_ids=torch.tensor(ids).long(), attention_mask=torch.tensor(mask).long())
    loss, scores = loss_of(kind, out, mask, labels)
    loss.backward()
    for name, parameter in parameters.items():
        if ".decoder." in name:  # tied
            continue
        tensors[f"{kind}/param/{name}"] = parameter.detach().numpy().astype(np.float32)
        tensors[f"{kind}/grad/{name}"] = parameter.grad.numpy()
    tensors |= {f"{kind}/{name}": value for name, value in dict(
        input_ids=ids, input_mask=mask, segment_ids=np.zeros_like(ids), scores=scores.detach().numpy().astype(np.float32),
        **stored).items()}
    said = {name: value for name, value in config.to_dict().items() if name in SIZES or name in FORMS[kind]}
    said |= {"model_type": "deberta-v2", "architectures": ["DebertaV2For" + CLASSES_OF[kind]]}
    if kind in ("texts", "tokens"):
        said["id2label"] = {str(i): letter for i, letter in enumerate("abc")}
    return {"config": said, "loss": float(loss.detach())}


class ReplacedHead(torch.nn.Module):
    """The head of Microsoft's ReplacedTokenDetectionModel, with the names of its released checkpoints."""

    def __init__(self, size):
        super().__init__()
        self.dense, self.LayerNorm = torch.nn.Linear(size, size), torch.nn.LayerNorm(size, 1e-7)
        self.classifier = torch.nn.Linear(size, 1)

    def forward(self, states):
        normed = self.LayerNorm(states[:, :1] + states)
        return self.classifier(torch.nn.functional.gelu(self.dense(normed)))[..., 0]


def run_rtd(tensors):
    """Returns the facts of replaced-token detection: generator of one layer, discriminator of two."""
    rng = np.random.default_rng(50)
    sizes = SIZES | V3
    ids, mask = examples(rng)
    labels, masked = labels_of("words", rng, mask)
    positions, words = labels["masked_lm_positions"], ids.copy()
    original = np.take_along_axis(ids, positions, 1) * (positions > 0)
    hidden = ids.copy()
    sampled = np.where(rng.random(positions.shape) < 0.5, original, labels["masked_lm_ids"]).astype(np.int32)
    for row, column in zip(*np.nonzero(positions)):
        hidden[row, positions[row, column]] = MASK
        words[row, positions[row, column]] = sampled[row, column]
    one_layer = transformers.DebertaV2Config(**(sizes | dict(num_hidden_layers=1)))
    models = torch.nn.ModuleDict({
        "generator": transformers.DebertaV2ForMaskedLM(one_layer),
        "deberta": transformers.DebertaV2Model(transformers.DebertaV2Config(**sizes)),
        "mask_predictions": ReplacedHead(SIZES["hidden_size"])}).double().eval()
    generator, discriminator = models["generator"], models["deberta"]
    delta = torch.nn.Parameter(torch.zeros_like(discriminator.embeddings.word_embeddings.weight))
    parameters = dict(models.named_parameters()) | {"deberta.embeddings.word_embeddings_delta": delta}
    del parameters["deberta.embeddings.word_embeddings.weight"]
    for name, parameter in sorted(parameters.items()):
        mean = 1.0 if name.endswith("LayerNorm.weight") else 0.0
        parameter.data = torch.tensor(rng.normal(mean, 0.3, tuple(parameter.shape)).astype(np.float32)).double()
    generator.tie_weights()
    attention_mask = torch.tensor(mask).long()
    logits = generator(input_ids=torch.tensor(hidden).long(), attention_mask=attention_mask).logits
    at = torch.tensor(positions).long()
    picked = torch.gather(logits, 1, at[..., None].expand(-1, -1, logits.shape[-1]))[at > 0]
    lm = torch.nn.functional.cross_entropy(picked, torch.tensor(original).long()[at > 0])
    table = generator.deberta.embeddings.word_embeddings.weight.detach() + delta
    states = discriminator(inputs_embeds=table[torch.tensor(words).long()], attention_mask=attention_mask)[0]
    found = models["mask_predictions"](states)
    is_token = attention_mask.bool()
    rtd = torch.nn.functional.binary_cross_entropy_with_logits(found[is_token], torch.tensor(words != ids).double()[is_token])
    (lm + 50 * rtd).backward()
    for name, parameter in parameters.items():
        if ".decoder." in name:  # tied
            continue
        tensors[f"rtd/param/{name}"] = parameter.detach().numpy().astype(np.float32)
        tensors[f"rtd/grad/{name}"] = parameter.grad.numpy()
    tensors |= {f"rtd/{name}": value.astype(np.int32) for name, value in dict(
        input_ids=ids, input_mask=mask, masked_ids=hidden, positions=positions, ids=original, sampled=sampled).items()}
    said = {name: value for name, value in sizes.items()} | {"model_type": "deberta-v2"}
    return {"config": said, "masked_lm_loss": float(lm.detach()), "disc_loss": float(rtd.detach())}


def rows_of(buckets, most):
    """Returns c2p_pos of transformers' disentangled_attention_bias for all distances between a query and a key."""
    distances = torch.arange(1 - most, most)
    span = buckets if buckets > 0 else most
    if buckets > 0:
        distances = deberta.make_log_bucket_position(distances, buckets, most).long()
    return torch.clamp(distances + span, 0, span * 2 - 1).tolist()


def main():
    # transformers computes the scale in float32, also in a model in float64.
    deberta.scaled_size_sqrt = lambda x, factor: torch.tensor(math.sqrt(x.size(-1) * factor), dtype=torch.float64)
    tensors, kinds = {}, {}
    for kind in CLASSES_OF:
        kinds[kind] = run(kind, tensors)
    kinds["rtd"] = run_rtd(tensors)
    save_file({name: np.ascontiguousarray(value) for name, value in tensors.items()}, GOLDEN / "deberta_tiny.safetensors")
    lines = [f'"{kind}": {json.dumps(facts)}' for kind, facts in kinds.items()]
    (GOLDEN / "deberta_tiny.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")
    rows = [json.dumps({"position_buckets": b, "max_relative_positions": m, "rows": rows_of(b, m)}) for b, m in BUCKETS]
    (GOLDEN / "deberta_rows.json").write_text("[\n" + ",\n".join(rows) + "\n]\n")


if __name__ == "__main__":
    main()
