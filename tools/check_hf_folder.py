"""Loads an exported Hugging Face folder with transformers (TensorFlow, no PyTorch) and runs it.

python tools/check_hf_folder.py FOLDER [--inputs IN.safetensors --outputs OUT.safetensors] [--text TEXT] [--save-tokenizer TO]

Fails unless every weight of the class in config.json comes from the folder and every tensor in the folder is used.
IN contains input_ids, input_mask, segment_ids [B,S] and masked_lm_positions [B,P], or for a T5 inputs [B,S] and targets
[B,T]. The contents of OUT depend on the class:
  BertForPreTraining           mlm_logits [B,P,V], nsp_logits [B,2]
  …ForMaskedLM                 mlm_logits [B,P,V]
  T5ForConditionalGeneration   logits [B,T,V]
  ElectraForPreTraining        disc_logits [B,S]
  …ForSequenceClassification   class_logits [B,C]
  …ForTokenClassification      class_logits [B,S,C]
  …ForQuestionAnswering        class_logits [B,S,2]
--text prints the tokens and ids of TEXT by BertTokenizer or T5Tokenizer, and fails if the fast tokenizer returns other
ids. --save-tokenizer only writes the fast tokenizer, with its tokenizer.json, to TO.
"""
import argparse
import os
import sys

os.environ["TF_USE_LEGACY_KERAS"] = "1"
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import numpy as np
from safetensors import safe_open
from safetensors.numpy import load_file, save_file


def narrow_heads(model, config):
    """Removes the heads that config.json lists as pruned. transformers' PyTorch classes do this themselves with
    prune_heads(), which its TensorFlow classes lack."""
    if not config.pruned_heads:
        return
    encoder = getattr(model, config.model_type).encoder
    for layer, gone in config.pruned_heads.items():
        attention = encoder.layer[layer].attention
        own, dense = attention.self_attention, attention.dense_output.dense
        own.num_attention_heads -= len(gone)
        own.all_head_size = own.num_attention_heads * own.attention_head_size
        for product in (own.query, own.key, own.value):
            product.units = own.all_head_size
        dense.build = lambda _, build=dense.build, width=own.all_head_size: build([None, None, width])


def load_model(folder):
    import transformers
    from transformers.modeling_tf_pytorch_utils import load_pytorch_state_dict_in_tf2_model

    # from_pretrained of 4.57 iterates over a safe_open handle, which no version of safetensors allows. This calls the
    # same function as from_pretrained, with the same tensors in a dict.
    config = transformers.AutoConfig.from_pretrained(folder)
    if config.architectures not in (["BertForPreTraining"], ["BertForMaskedLM"],
                                    ["ElectraForPreTraining"], ["ElectraForMaskedLM"],
                                    ["T5ForConditionalGeneration"], ["BertForSequenceClassification"],
                                    ["ElectraForSequenceClassification"], ["BertForTokenClassification"],
                                    ["ElectraForTokenClassification"], ["BertForQuestionAnswering"],
                                    ["ElectraForQuestionAnswering"], ["RobertaForMaskedLM"],
                                    ["RobertaForSequenceClassification"], ["RobertaForTokenClassification"],
                                    ["RobertaForQuestionAnswering"]):
        sys.exit(f"config.json: unsupported architectures {config.architectures}")
    model_class = getattr(transformers, "TF" + config.architectures[0])
    path = os.path.join(folder, "model.safetensors")
    with safe_open(path, framework="np") as file:
        if file.metadata() != {"format": "pt"}:
            sys.exit(f"metadata is {file.metadata()}")
    model = model_class(config)
    narrow_heads(model, config)
    model, info = load_pytorch_state_dict_in_tf2_model(
        model, load_file(path), allow_missing_keys=True, output_loading_info=True)
    if any(info.values()):
        sys.exit(f"the weights do not fit: {info}")
    return model


def run_t5(model, inputs):
    targets = inputs["targets"]
    told = np.concatenate([np.full_like(targets[:, :1], model.config.decoder_start_token_id), targets[:, :-1]], 1)
    out = model(input_ids=inputs["inputs"], attention_mask=(inputs["inputs"] != 0).astype(np.int32),
                decoder_input_ids=told, decoder_attention_mask=np.ones_like(told), training=False)
    return {"logits": out.logits.numpy()}


def run_model(model, inputs):
    if model.config.model_type == "t5":
        return run_t5(model, inputs)
    out = model(input_ids=inputs["input_ids"], attention_mask=inputs["input_mask"],
                token_type_ids=inputs["segment_ids"], training=False)
    if model.config.architectures[0].endswith(("ForSequenceClassification", "ForTokenClassification")):
        return {"class_logits": out.logits.numpy()}
    if model.config.architectures[0].endswith("ForQuestionAnswering"):
        return {"class_logits": np.stack([out.start_logits.numpy(), out.end_logits.numpy()], -1)}
    if model.config.architectures == ["ElectraForPreTraining"]:
        return {"disc_logits": out.logits.numpy()}
    words_alone = model.config.model_type in ("electra", "roberta")
    words = (out.logits if words_alone else out.prediction_logits).numpy()
    outputs = {"mlm_logits": np.take_along_axis(words, inputs["masked_lm_positions"][..., None], axis=1)}
    return outputs if words_alone else outputs | {"nsp_logits": out.seq_relationship_logits.numpy()}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder")
    parser.add_argument("--inputs")
    parser.add_argument("--outputs")
    parser.add_argument("--text")
    parser.add_argument("--save-tokenizer")
    args = parser.parse_args()
    if args.save_tokenizer:
        from transformers import AutoTokenizer

        return AutoTokenizer.from_pretrained(args.folder).save_pretrained(args.save_tokenizer)
    if args.text is not None:
        from transformers import AutoTokenizer, BertTokenizer, T5Tokenizer

        is_t5 = os.path.exists(os.path.join(args.folder, "spiece.model"))
        tokenizer = (T5Tokenizer if is_t5 else BertTokenizer).from_pretrained(args.folder)
        fast = AutoTokenizer.from_pretrained(args.folder)
        if not fast.is_fast or fast(args.text)["input_ids"] != tokenizer(args.text)["input_ids"]:
            sys.exit(f"tokenizer.json gives {fast(args.text)['input_ids']}")
        print("tokens", *tokenizer.tokenize(args.text))
        print("ids", *tokenizer(args.text)["input_ids"])
        if is_t5:
            print("sentinels", *tokenizer.convert_tokens_to_ids(["<extra_id_0>", "<extra_id_1>"]))
        print("model_max_length", tokenizer.model_max_length)
    model = load_model(args.folder)
    print("all weights loaded:", len(model.weights))
    if args.inputs:
        outputs = run_model(model, load_file(args.inputs))
        save_file(outputs, args.outputs)
        for name, value in outputs.items():
            print(name, list(value.shape), f"mean {value.mean():.6f}")


if __name__ == "__main__":
    main()
