#!/usr/bin/env python3
"""Golden values of distillation: losses and gradients of the student.

The models are those of transformers (TensorFlow, CPU, float32, no dropout). The losses are implemented here as in their
papers: T^2 KL(teacher || student) (Hinton et al. 2015), mean squared errors of hidden states and of attention scores
before the softmax (TinyBERT, Jiao et al. 2020), and cosine of the last hidden states (DistilBERT, Sanh et al. 2019),
all without padding tokens.

Writes tests/golden/distill_tiny.safetensors: for each case the parameters of student and teacher by smelt's names,
inputs and gradients; and tests/golden/distill_tiny.json: configurations, settings and losses.

Needs tensorflow-cpu, tf-keras, transformers 4.57 and safetensors:  python tools/golden_distill.py
"""
import json
import os
from pathlib import Path

os.environ["TF_USE_LEGACY_KERAS"] = "1"
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["TF_ENABLE_ONEDNN_OPTS"] = "0"
os.environ["TF_DETERMINISTIC_OPS"] = "1"
import numpy as np
import tensorflow as tf
from safetensors.numpy import save_file
from transformers import BertConfig, T5Config, TFBertForPreTraining, TFT5ForConditionalGeneration

import golden_bert
import golden_classify
import golden_t5

GOLDEN = Path(__file__).resolve().parents[1] / "tests/golden"
TEACHER = dict(num_hidden_layers=4)
WIDE = dict(num_hidden_layers=3, hidden_size=24, intermediate_size=20)
ALL = dict(temperature=2.0, ce=0.3, kd=0.7, hidden=0.5, attention=0.2, cosine=0.4)
KD = dict(temperature=3.0, ce=0.25, kd=0.75, hidden=0.0, attention=0.0, cosine=0.0)
PREDICTIONS = 4


def auto_pairs(student, teacher):
    return [(i, round(i * teacher / student)) for i in range(student + 1)]


def kl(teacher, student, temperature):
    p, q = tf.nn.log_softmax(teacher / temperature), tf.nn.log_softmax(student / temperature)
    return temperature**2 * tf.reduce_sum(tf.exp(p) * (p - q), -1)


def kl_of_labels(teacher, student, temperature):
    p, q = tf.sigmoid(teacher / temperature), tf.sigmoid(student / temperature)
    both = p * tf.math.log(p / q) + (1 - p) * tf.math.log((1 - p) / (1 - q))
    return temperature**2 * tf.reduce_mean(both, -1)


def weighted(rows, weights):
    weights = tf.cast(weights, tf.float32)
    return tf.reduce_sum(rows * weights) / tf.reduce_sum(weights)


def attention_scores(encoder, hidden):
    """Returns q k / sqrt(D) as [layer][B,N,S,S]; `hidden` are the inputs of the layers."""
    out = []
    for layer, x in zip(encoder.layer, hidden):
        own = layer.attention.self_attention
        heads = lambda t: tf.transpose(tf.reshape(t, [*t.shape[:2], own.num_attention_heads, -1]), [0, 2, 1, 3])
        q, k = heads(own.query(x)), heads(own.key(x))
        out.append(tf.matmul(q, k, transpose_b=True) / q.shape[-1] ** 0.5)
    return out


def losses_of_states(settings, stacks, kernel=None):
    """`stacks`: per stack (mask, hidden states of student and teacher, attention scores of student and teacher)."""
    out = {}
    tokens = sum(tf.reduce_sum(tf.cast(mask, tf.float32)) for mask, *_ in stacks)
    project = (lambda x: x) if kernel is None else (lambda x: x @ kernel)
    if settings["hidden"] > 0:
        out["hidden_loss"] = sum(
            tf.reduce_sum(tf.reduce_mean((project(own[i]) - its[j]) ** 2, -1) * tf.cast(mask, tf.float32))
            for mask, own, its, *_ in stacks for i, j in auto_pairs(len(own) - 1, len(its) - 1)) / tokens
    if settings["attention"] > 0:
        (mask, own, its, own_scores, its_scores), = stacks
        seen = tf.cast(mask[:, :, None] * mask[:, None, :], tf.float32)
        out["attention_loss"] = sum(
            weighted(tf.reduce_mean((own_scores[i - 1] - its_scores[j - 1]) ** 2, 1), seen)
            for i, j in auto_pairs(len(own) - 1, len(its) - 1) if i > 0)
    if settings["cosine"] > 0:
        out["cosine_loss"] = sum(
            tf.reduce_sum((1 + tf.keras.losses.cosine_similarity(own[-1], its[-1])) * tf.cast(mask, tf.float32))
            for mask, own, its, *_ in stacks) / tokens
    return out


def total(settings, losses):
    own = sum(value for name, value in losses.items() if name not in
              ("kd_loss", "hidden_loss", "attention_loss", "cosine_loss"))
    return settings["ce"] * own + sum(settings[name] * losses[f"{name}_loss"] for name in
                                      ("kd", "hidden", "attention", "cosine") if f"{name}_loss" in losses)


def record(case, tensors, student, teacher, inputs, gradients, keep=lambda name: True):
    for who, variables in (("student", student), ("teacher", teacher)):
        for name, (variable, turned) in variables.items():
            value = variable.numpy()
            tensors[f"{case}/{who}/{name}"] = value.T if turned else value
    for name, gradient in gradients.items():
        if keep(name):
            value = tf.convert_to_tensor(gradient).numpy()
            tensors[f"{case}/grad/{name}"] = value.T if student[name][1] else value
    tensors |= {f"{case}/{name}": value for name, value in inputs.items()}


def classifier(kind, more, rng, classes):
    model_class, config_class, own = golden_classify.KINDS[kind]
    sizes = golden_classify.SIZES | own | more
    model = model_class(config_class(**sizes, num_labels=classes))
    model(input_ids=tf.zeros([1, 2], tf.int32))
    return model, golden_classify.scatter(model, rng, kind), golden_classify.config_of(sizes)


def base_of(model):
    return model.bert if hasattr(model, "bert") else model.electra


def classify_case(case, student_kind, teacher_kind, more, settings, tensors, problem, keep=lambda name: True):
    rng = np.random.default_rng(2015 + len(tensors))
    ids, mask, segments = golden_classify.examples(rng)
    spans, B, C = problem == "answer_spans", golden_classify.BATCH, golden_classify.CLASSES
    classes = 2 if spans else 1 if problem == "regression" else C
    student, variables, config = classifier(student_kind, {}, rng, classes)
    teacher, its, its_config = classifier(teacher_kind, more, rng, classes)
    text = dict(input_ids=ids, attention_mask=mask, token_type_ids=segments)
    inputs = dict(input_ids=ids, input_mask=mask, segment_ids=segments)
    kernel = None
    if settings["hidden"] > 0 and WIDE.items() <= more.items():
        kernel = tf.Variable(rng.normal(0, 0.3, [16, 24]).astype(np.float32))
        variables = variables | {"distill/hidden_0/kernel": (kernel, False)}
    call = dict(output_hidden_states=True, training=False)
    taught = teacher(**text, **call)
    names = sorted(variables)
    with tf.GradientTape() as tape:
        said = student(**text, **call)
        losses = {}
        if spans:
            start, end = np.array([5, 6, 0, 10], np.int32), np.array([11, 6, 0, 10], np.int32)
            inputs |= dict(start_positions=start, end_positions=end)
            losses["answer_loss"] = golden_classify.answer_loss(said, mask, start, end)[0]
            padding = (1.0 - mask.astype(np.float32)) * -1e9
            halves = [kl(t + padding, s + padding, settings["temperature"]) for t, s in
                      ((taught.start_logits, said.start_logits), (taught.end_logits, said.end_logits))]
            losses["kd_loss"] = tf.reduce_mean(sum(halves)) / 2
        elif problem == "token_labels":
            labels = golden_classify.word_labels(mask, rng)
            inputs["label_ids"] = np.maximum(labels + 1, 0).astype(np.int32)
            nll = tf.nn.sparse_softmax_cross_entropy_with_logits(np.maximum(labels, 0), said.logits)
            losses["classification_loss"] = weighted(nll, labels >= 0)
            losses["kd_loss"] = weighted(kl(taught.logits, said.logits, settings["temperature"]), labels >= 0)
        elif problem == "multi_label":
            labels = rng.integers(0, 2, [B, C]).astype(np.int32)
            inputs["label_ids"] = labels
            losses["classification_loss"] = tf.reduce_mean(
                tf.nn.sigmoid_cross_entropy_with_logits(labels.astype(np.float32), said.logits))
            losses["kd_loss"] = tf.reduce_mean(kl_of_labels(taught.logits, said.logits, settings["temperature"]))
        elif problem == "regression":
            labels = rng.normal(size=[B]).astype(np.float32)
            inputs["label_ids"] = labels
            losses["squared_error"] = tf.reduce_mean((said.logits[:, 0] - labels) ** 2)
            losses["kd_loss"] = tf.reduce_mean((said.logits - taught.logits) ** 2)
        else:
            labels = np.array([2, 0, 1, 2], np.int32)
            inputs["label_ids"] = labels
            losses["classification_loss"] = tf.reduce_mean(
                tf.nn.sparse_softmax_cross_entropy_with_logits(labels, said.logits))
            losses["kd_loss"] = tf.reduce_mean(kl(taught.logits, said.logits, settings["temperature"]))
        losses |= losses_of_states(settings, [(mask, said.hidden_states, taught.hidden_states,
                                               attention_scores(base_of(student).encoder, said.hidden_states),
                                               attention_scores(base_of(teacher).encoder, taught.hidden_states))], kernel)
        loss = total(settings, losses)
    gradients = dict(zip(names, tape.gradient(loss, [variables[name][0] for name in names])))
    record(case, tensors, variables, its, inputs, {n: g for n, g in gradients.items() if g is not None}, keep)
    return {"student": config, "teacher": its_config, "kinds": [student_kind, teacher_kind], "problem": problem,
            "distill": settings, "losses": {name: float(value) for name, value in losses.items()}, "loss": float(loss)}


def words_case(tensors, settings):
    """Masked words and next sentences, as in DistilBERT."""
    rng = np.random.default_rng(1910)
    sizes = golden_classify.SIZES | golden_classify.BERT

    def model_of(more):
        model = TFBertForPreTraining(BertConfig(**(sizes | more)))
        model(input_ids=tf.zeros([1, 2], tf.int32))
        variables = {}
        for variable in model.trainable_variables:
            name, turned = golden_bert.original_name(variable.name)
            center = 1.0 if name.endswith("gamma") else 0.0
            variable.assign(rng.normal(center, 0.3, variable.shape).astype(np.float32))
            variables[name] = (variable, turned)
        return model, variables

    (student, variables), (teacher, its) = model_of({}), model_of(TEACHER)
    ids, mask, segments = golden_classify.examples(rng)
    positions = np.zeros([len(ids), PREDICTIONS], np.int32)
    weights = np.zeros([len(ids), PREDICTIONS], np.float32)
    for row in range(len(ids)):
        used = min(PREDICTIONS - row % 2, int(mask[row].sum()) - 1)
        positions[row, :used] = np.sort(rng.choice(np.arange(1, mask[row].sum()), used, replace=False))
        weights[row, :used] = 1
    words = rng.integers(1, sizes["vocab_size"], positions.shape).astype(np.int32)
    follows = rng.integers(0, 2, [len(ids)]).astype(np.int32)
    text = dict(input_ids=ids, attention_mask=mask, token_type_ids=segments)
    call = dict(output_hidden_states=True, training=False)
    taught = teacher(**text, **call)
    at = lambda scores: tf.gather(scores, positions, batch_dims=1)
    names = sorted(variables)
    with tf.GradientTape() as tape:
        said = student(**text, **call)
        over = tf.reduce_sum(weights) + 1e-5
        nll = tf.nn.sparse_softmax_cross_entropy_with_logits(words, at(said.prediction_logits))
        rows = kl(at(taught.prediction_logits), at(said.prediction_logits), settings["temperature"])
        losses = {"masked_lm_loss": tf.reduce_sum(nll * weights) / over,
                  "next_sentence_loss": tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(
                      follows, said.seq_relationship_logits)),
                  "kd_loss": tf.reduce_sum(rows * weights) / over}
        losses |= losses_of_states(settings, [(mask, said.hidden_states, taught.hidden_states, [], [])])
        loss = total(settings, losses)
    gradients = dict(zip(names, tape.gradient(loss, [variables[name][0] for name in names])))
    inputs = dict(input_ids=ids, input_mask=mask, segment_ids=segments, masked_lm_positions=positions,
                  masked_lm_ids=words, masked_lm_weights=weights, next_sentence_labels=follows)
    record("words", tensors, variables, its, inputs, gradients)
    return {"student": golden_classify.config_of(sizes), "teacher": golden_classify.config_of(sizes | TEACHER),
            "distill": settings, "losses": {name: float(value) for name, value in losses.items()}, "loss": float(loss)}


def answers_case(tensors, settings):
    """T5: a small tied student with ReLU, and a teacher like T5 1.1. Hidden states are those between blocks; the last
    ones are taken before the final norm, while transformers returns them after it."""
    rng = np.random.default_rng(1910)
    configs = {"student": golden_t5.COMMON | golden_t5.KINDS["small"] | dict(num_layers=2, num_decoder_layers=1),
               "teacher": golden_t5.COMMON | golden_t5.KINDS["gated"] | dict(num_layers=4, num_decoder_layers=2)}
    models, variables = {}, {}
    for who, config in configs.items():
        models[who] = model = TFT5ForConditionalGeneration(T5Config(**config, pad_token_id=0, decoder_start_token_id=0))
        model(input_ids=tf.ones([1, 2], tf.int32), decoder_input_ids=tf.zeros([1, 2], tf.int32))
        variables[who] = {}
        for variable in model.trainable_variables:
            name, turned = golden_t5.original_name(variable.name)
            center, spread = (1.0, 0.2) if name.endswith("scale") else (0.0, 0.3)
            variable.assign(rng.normal(center, spread, variable.shape).astype(np.float32))
            variables[who][name] = (variable, turned)
    inputs, targets = (rng.integers(1, 53, [3, n]).astype(np.int32) for n in (10, 6))
    inputs[1, 7:] = 0
    targets[2, 4:] = 0
    mask, counted = (inputs != 0).astype(np.int32), (targets != 0).astype(np.int32)
    told = np.concatenate([np.zeros([3, 1], np.int32), targets[:, :-1]], 1)

    def states(stack, ids, **more):
        """Returns the stack's output, and the inputs of all blocks and of the final norm (recorded by a wrapper)."""
        kept = []
        norm = stack.final_layer_norm.call
        stack.final_layer_norm.call = lambda x: (kept.append(x), norm(x))[1]
        out = stack(input_ids=ids, output_hidden_states=True, training=False, **more)
        stack.final_layer_norm.call = norm
        return out.last_hidden_state, [*out.hidden_states[:-1], kept[-1]]

    def run(model):
        encoded, encoder = states(model.encoder, inputs, attention_mask=mask)
        decoded, decoder = states(model.decoder, told, attention_mask=tf.ones_like(told),
                                  encoder_hidden_states=encoded, encoder_attention_mask=mask)
        if model.config.tie_word_embeddings:
            words = model.shared.weights[0]
            return decoded * model.config.d_model**-0.5 @ tf.transpose(words), encoder, decoder
        return model.lm_head(decoded), encoder, decoder

    taught = run(models["teacher"])
    own = variables["student"]
    names = sorted(own)
    with tf.GradientTape() as tape:
        said = run(models["student"])
        nll = tf.nn.sparse_softmax_cross_entropy_with_logits(targets, said[0])
        losses = {"target_loss": weighted(nll, counted),
                  "kd_loss": weighted(kl(taught[0], said[0], settings["temperature"]), counted)}
        losses |= losses_of_states(settings, [(mask, said[1], taught[1]), (counted, said[2], taught[2])])
        loss = total(settings, losses)
    gradients = dict(zip(names, tape.gradient(loss, [own[name][0] for name in names])))
    record("answers", tensors, own, variables["teacher"], dict(inputs=inputs, targets=targets), gradients)
    return {**configs, "distill": settings, "losses": {name: float(value) for name, value in losses.items()},
            "loss": float(loss)}


def main():
    tensors, head = {}, lambda name: name.startswith("output_")
    cases = {
        "texts": classify_case("texts", "bert", "bert", TEACHER, ALL, tensors, "single_label"),
        "wide": classify_case("wide", "bert", "electra", WIDE, KD | dict(hidden=0.5), tensors, "single_label"),
        "several": classify_case("several", "bert", "bert", {}, KD, tensors, "multi_label", head),
        "numbers": classify_case("numbers", "bert", "bert", {}, KD, tensors, "regression", head),
        "tokens": classify_case("tokens", "electra-tokens", "bert-tokens", {}, KD, tensors, "token_labels"),
        "spans": classify_case("spans", "bert-spans", "electra-spans", {}, KD, tensors, "answer_spans"),
        "words": words_case(tensors, KD | dict(cosine=0.5)),
        "answers": answers_case(tensors, KD | dict(hidden=0.05, cosine=0.5)),
    }
    save_file({name: np.ascontiguousarray(value) for name, value in tensors.items()},
              GOLDEN / "distill_tiny.safetensors")
    lines = [f'"{case}": {json.dumps(facts)}' for case, facts in cases.items()]
    (GOLDEN / "distill_tiny.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main()
