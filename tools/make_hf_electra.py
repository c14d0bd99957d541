"""Writes both folders of an ELECTRA with transformers' own classes and random weights, as other programs write them.

python tools/make_hf_electra.py FOLDER [--generator-heads H] [--own-embeddings]

FOLDER/discriminator is an ElectraForPreTraining, and FOLDER/generator an ElectraForMaskedLM of half the width, with the
discriminator's embeddings, or with its own of its own width (--own-embeddings). Weights have transformers' names for
PyTorch. FOLDER/in.safetensors are inputs for tools/check_hf_folder.py, and FOLDER/out.safetensors the expected outputs.
"""
import argparse
import os

os.environ["TF_USE_LEGACY_KERAS"] = "1"
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import numpy as np
import transformers
from check_hf_folder import run_model
from safetensors.numpy import save_file
from transformers.modeling_tf_pytorch_utils import convert_tf_weight_name_to_pt_weight_name

WORDS = 99
SIZES = dict(vocab_size=WORDS, num_hidden_layers=2, max_position_embeddings=25, hidden_dropout_prob=0.0,
             attention_probs_dropout_prob=0.0)


def draw_weights(model, random, shared):
    """Sets random weights, except those in `shared`, and returns all weights in the layout of PyTorch."""
    model.build_in_name_scope()
    weights = {}
    for weight in model.weights:
        name, transposed = convert_tf_weight_name_to_pt_weight_name(
            weight.name, start_prefix_to_remove="", tf_weight_shape=weight.shape)
        value = shared.get(name, weight.numpy() + random.normal(0, 0.1, weight.shape).astype(np.float32))
        weight.assign(value)
        weights[name] = value.T.copy() if transposed.value == "simple" else value
    return weights


def save(folder, model, weights):
    os.makedirs(folder)
    model.config.architectures = [type(model).__name__[2:]]
    model.config.save_pretrained(folder)
    save_file(weights, os.path.join(folder, "model.safetensors"), metadata={"format": "pt"})
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"] + [f"word{i}" for i in range(5, WORDS)]
    with open(os.path.join(folder, "vocab.txt"), "w") as file:
        file.write("\n".join(words) + "\n")
    transformers.ElectraTokenizer(os.path.join(folder, "vocab.txt")).save_pretrained(folder)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder")
    parser.add_argument("--generator-heads", type=int, default=1)
    parser.add_argument("--own-embeddings", action="store_true")
    args = parser.parse_args()
    random = np.random.default_rng(1)
    discriminator = transformers.TFElectraForPreTraining(transformers.ElectraConfig(
        **SIZES, embedding_size=24, hidden_size=32, num_attention_heads=4, intermediate_size=64))
    generator = transformers.TFElectraForMaskedLM(transformers.ElectraConfig(
        **SIZES, embedding_size=16 if args.own_embeddings else 24, hidden_size=16, intermediate_size=64,
        num_attention_heads=args.generator_heads))
    weights = draw_weights(discriminator, random, {})
    embeddings = {name: value for name, value in weights.items() if name.startswith("electra.embeddings.")}
    save(os.path.join(args.folder, "discriminator"), discriminator, weights)
    save(os.path.join(args.folder, "generator"), generator,
         draw_weights(generator, random, {} if args.own_embeddings else embeddings))
    inputs = {"input_ids": random.integers(5, WORDS, (2, 12)), "input_mask": np.ones((2, 12)),
              "segment_ids": random.integers(0, 2, (2, 12)), "masked_lm_positions": np.array([[1, 5], [2, 11]])}
    inputs = {name: value.astype(np.int32) for name, value in inputs.items()}
    outputs = run_model(discriminator, inputs) | run_model(generator, inputs)
    save_file(inputs, os.path.join(args.folder, "in.safetensors"))
    save_file(outputs, os.path.join(args.folder, "out.safetensors"))


if __name__ == "__main__":
    main()
