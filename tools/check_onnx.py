"""Runs an ONNX file that smelt has written, with onnxruntime on the CPU.

python tools/check_onnx.py FILE --inputs IN.safetensors --outputs OUT.safetensors

Fails unless onnx's own checker accepts the file. IN contains input_ids, input_mask, segment_ids [B,S]. OUT gets
class_logits: the output logits, or for question answering start_logits and end_logits as [B,S,2]. The first row alone,
and all rows without the positions that are padding in every row, must give the same logits up to 1e-5.
"""
import argparse
import sys

import numpy as np
import onnx
import onnxruntime
from safetensors.numpy import load_file, save_file


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file")
    parser.add_argument("--inputs", required=True)
    parser.add_argument("--outputs", required=True)
    args = parser.parse_args()
    onnx.checker.check_model(args.file, full_check=True)
    options = onnxruntime.SessionOptions()
    # By default it rounds the inputs of matmuls with quantized weights to int8, by its own rule.
    options.add_session_config_entry("session.qdq_matmulnbits_accuracy_level", "1")
    session = onnxruntime.InferenceSession(args.file, options, providers=["CPUExecutionProvider"])
    given = load_file(args.inputs)
    inputs = {"input_ids": given["input_ids"], "attention_mask": given["input_mask"], "token_type_ids": given["segment_ids"]}
    wanted = {one.name for one in session.get_inputs()}  # RoBERTa has no segment ids
    inputs = {name: a for name, a in inputs.items() if name in wanted}

    def logits(rows, length):
        out = session.run(None, {name: a[:rows, :length].astype(np.int64) for name, a in inputs.items()})
        return out[0] if len(out) == 1 else np.stack(out, -1)

    rows, length = given["input_ids"].shape
    whole, one = logits(rows, length), logits(1, length)
    if np.abs(whole[:1] - one).max() > 1e-5:
        sys.exit(f"the logits of the first row alone are {one}, in the batch {whole[:1]}")
    longest = int(given["input_mask"].sum(1).max())
    short = logits(rows, longest)
    if np.abs((whole if whole.ndim == 2 else whole[:, :longest]) - short).max() > 1e-5:
        sys.exit(f"the logits without padding are {short}, with padding {whole}")
    save_file({"class_logits": np.ascontiguousarray(whole)}, args.outputs)


if __name__ == "__main__":
    main()
