"""Compares the ONNX files of a folder with transformers (TensorFlow) at several batch sizes and lengths.

python tools/check_onnx_folder.py HUGGING_FACE_FOLDER ONNX_FOLDER

Fails unless onnx's checker accepts every file, inputs and outputs have the names of Optimum's exporter, the tokenizer's
files exist, and values match transformers' up to 1e-4. For a T5, also decodes token by token with the KV cache, which
must give the same logits as all tokens at once.
"""
import os
import sys

import numpy as np
import onnx
import onnxruntime
from check_hf_folder import load_model

SIZES = [(1, 3), (2, 7), (3, 12)]
NEAR = 1e-4


def fail(text):
    sys.exit(f"check_onnx_folder: {text}")


def session_of(folder, name):
    path = os.path.join(folder, name)
    onnx.checker.check_model(path, full_check=True)
    return onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])


def names(values):
    return [value.name for value in values]


def require_names(session, inputs, outputs):
    if sorted(names(session.get_inputs())) != sorted(inputs) or names(session.get_outputs()) != outputs:
        fail(f"inputs {names(session.get_inputs())}, outputs {names(session.get_outputs())}")


def require_near(what, is_, wanted):
    if is_.shape != wanted.shape:
        fail(f"{what}: shape {is_.shape}, not {wanted.shape}")
    apart = np.abs(is_ - wanted).max()
    if not apart < NEAR * max(1.0, np.abs(wanted).max()):
        fail(f"{what} is off by {apart}")


def batch_of(rng, rows, length, vocab_size):
    """Returns ids and a mask; all rows except the first have padding."""
    mask = np.ones((rows, length), np.int64)
    for row in range(1, rows):
        mask[row, length - row:] = 0
    return rng.integers(1, vocab_size, (rows, length)) * mask, mask


def hidden_or_logits(model, output, inputs):
    kind = model.config.model_type
    if output == "last_hidden_state":
        return getattr(model, kind)(**inputs, training=False).last_hidden_state.numpy()
    out = model(**inputs, training=False)
    return (out.prediction_logits if "prediction_logits" in out else out.logits).numpy()


def check_encoder(model, folder, rng):
    session = session_of(folder, "model.onnx")
    output = session.get_outputs()[0].name
    require_names(session, ["input_ids", "attention_mask", "token_type_ids"], [output])
    for rows, length in SIZES:
        ids, mask = batch_of(rng, rows, length, model.config.vocab_size)
        types = rng.integers(0, 2, ids.shape)
        inputs = {"input_ids": ids, "attention_mask": mask, "token_type_ids": types}
        wanted = hidden_or_logits(model, output, {name: a.astype(np.int32) for name, a in inputs.items()})
        got = session.run(None, inputs)[0]
        seen = mask[..., None] == 1
        require_near(output, got * seen, wanted * seen)
    print("output", output)


def key_names(prefix, layers, parts):
    return [f"{prefix}.{i}.{of}.{part}" for i in range(layers) for of in parts for part in ("key", "value")]


class Answerer:
    """Runs the three files of a T5."""

    def __init__(self, folder, layers):
        self.encoder = session_of(folder, "encoder_model.onnx")
        self.decoder = session_of(folder, "decoder_model.onnx")
        self.with_past = session_of(folder, "decoder_with_past_model.onnx")
        both = ["decoder", "encoder"]
        require_names(self.encoder, ["input_ids", "attention_mask"], ["last_hidden_state"])
        require_names(self.decoder, ["input_ids", "encoder_attention_mask", "encoder_hidden_states"],
                      ["logits"] + key_names("present", layers, both))
        require_names(self.with_past,
                      ["input_ids", "encoder_attention_mask"] + key_names("past_key_values", layers, both),
                      ["logits"] + key_names("present", layers, ["decoder"]))

    def hidden(self, ids, mask):
        return self.encoder.run(None, {"input_ids": ids, "attention_mask": mask})[0]

    def logits(self, told, hidden, mask):
        return self.decoder.run(None, {"input_ids": told, "encoder_attention_mask": mask, "encoder_hidden_states": hidden})

    def one_by_one(self, told, hidden, mask, at_once):
        """Returns the logits for the decoder inputs `told`, of which it runs `at_once` at a time after the first."""
        out = self.logits(told[:, :1], hidden, mask)
        past = {name.replace("present", "past_key_values"): value
                for name, value in zip(names(self.decoder.get_outputs())[1:], out[1:])}
        logits = [out[0]]
        for begin in range(1, told.shape[1], at_once):
            out = self.with_past.run(None, {"input_ids": told[:, begin:begin + at_once], "encoder_attention_mask": mask, **past})
            logits.append(out[0])
            past.update({name.replace("present", "past_key_values"): value
                         for name, value in zip(names(self.with_past.get_outputs())[1:], out[1:])})
        return np.concatenate(logits, 1)


def check_t5(model, folder, rng):
    config = model.config
    answerer = Answerer(folder, config.num_decoder_layers or config.num_layers)
    # The last lengths exceed the distances that have separate buckets.
    for rows, length in SIZES + [(2, 150)]:
        ids, mask = batch_of(rng, rows, length, config.vocab_size)
        told = rng.integers(1, config.vocab_size, (rows, 6 if length < 100 else 140))
        told[:, 0] = config.decoder_start_token_id
        hidden = answerer.hidden(ids, mask)
        seen = mask[..., None] == 1
        reference = model(input_ids=ids.astype(np.int32), attention_mask=mask.astype(np.int32),
                          decoder_input_ids=told.astype(np.int32), training=False)
        require_near("last_hidden_state", hidden * seen, reference.encoder_last_hidden_state.numpy() * seen)
        wanted = reference.logits.numpy()
        require_near("logits", answerer.logits(told, hidden, mask)[0], wanted)
        for at_once in (1, 3):
            require_near(f"logits of {at_once} tokens at a time", answerer.one_by_one(told, hidden, mask, at_once), wanted)
    print("output logits")


def main():
    hugging_face, folder = sys.argv[1:]
    model = load_model(hugging_face)
    beside = ["config.json", "tokenizer_config.json"]
    missing = [name for name in beside + ["tokenizer.json"]
               if os.path.exists(os.path.join(hugging_face, name)) and not os.path.exists(os.path.join(folder, name))]
    if missing:
        fail(f"{missing} are missing in the folder of the ONNX files")
    check = check_t5 if model.config.model_type == "t5" else check_encoder
    check(model, folder, np.random.default_rng(7))


if __name__ == "__main__":
    main()
