#!/usr/bin/env python3
"""Prints where a step spends its time on a GPU: matmuls, attention, optimizer, other kernels, and idle time.

    build/release/smelt bench --model base --batch 64 --seq 128 --precision bf16 --device gpu --emit step.mlir
    python3 bench/gpu_kernels.py step.mlir

Compiles the program with JAX's runtime, which is XLA too, runs it with random values, and reads the times of the
kernels from its profiler (CUPTI on a GPU). Needs jax; on a CPU, the events of XLA's thread pool take the place of the
kernels, so only the classification can be tried there. The last line is JSON.
"""
import argparse
import json
import re
import sys
import tempfile
from collections import Counter
from pathlib import Path

KINDS = {  # the first pattern that matches the kernel's name or the instruction's op_name gives the kind
    "matmuls": r"gemm|cublas|cutlass|nvjet|xmma|wgmma|\bdot\b|dot_general|_dot_|convolution",
    "copies": r"^memcpy|^memset|copy",
    "attention": r"attention|softmax",
    "optimizer": r"optimizer|adam|update",
}
NUMPY = {"f32": "float32", "f64": "float64", "i32": "int32", "ui32": "uint32", "i64": "int64", "ui64": "uint64", "i1": "bool"}


def kind_of(kernel, instruction):
    for kind, pattern in KINDS.items():
        if re.search(pattern, kernel, re.I) or re.search(pattern, instruction, re.I):
            return kind
    return "other elementwise and reductions"


def random_value(rng, tensor):
    """Returns an array of the type of an argument such as tensor<4x8xbf16>; integers are 0 or 1, valid as any id."""
    import ml_dtypes
    import numpy as np
    *dims, element = re.fullmatch(r"tensor<(.*)>", tensor)[1].split("x")
    shape = [int(d) for d in dims]
    if element == "bf16":
        return rng.normal(0, 0.02, shape).astype(ml_dtypes.bfloat16)
    if element.startswith("f"):
        return rng.normal(0, 0.02, shape).astype(NUMPY[element])
    return rng.integers(0, 2, shape).astype(NUMPY[element])


def compiled(path):
    """Returns the loaded program and the types of its arguments."""
    import jax
    from jax._src.interpreters import mlir
    from jax._src.lib import xla_client
    from jax._src.lib.mlir import ir
    devices = jax.devices()[:1]
    with mlir.make_ir_context():
        module = ir.Module.parse(Path(path).read_text())
        mains = [op for op in module.body.operations if str(op.name).strip('"') == "main"]
        types = [str(t) for t in mains[0].type.inputs]
        program = devices[0].client.compile_and_load(module, xla_client.DeviceList(tuple(devices)),
                                                     xla_client.CompileOptions())
    return program, types


def instructions(program):
    """Returns the op_name of the metadata of each instruction of the optimized program."""
    found = {}
    for module in program.hlo_modules():
        for line in module.to_string().splitlines():
            name = re.match(r"\s*(?:ROOT )?%?([\w.\-]+) = ", line)
            op_name = re.search(r'op_name="([^"]*)"', line)
            if name:
                found[name[1]] = (op_name[1] if op_name else "") + " " + line.split("(")[0]
    return found


def run(program, types, steps, trace):
    import jax
    import numpy as np
    rng = np.random.default_rng(1)
    for traced in [False] + [True] * steps:  # the first run is not traced
        arguments = [jax.device_put(random_value(rng, t)) for t in types]
        jax.block_until_ready(arguments)
        if traced and not trace.started:
            trace.start()
        jax.block_until_ready(program.execute_sharded(arguments).disassemble_into_single_device_arrays())
    trace.stop()


class Trace:
    """A profile of everything between start() and stop()."""

    def __init__(self, folder):
        self.folder, self.started = folder, False

    def start(self):
        import jax
        self.started = True
        jax.profiler.start_trace(self.folder)

    def stop(self):
        import jax
        jax.profiler.stop_trace()

    def kernels(self):
        """Returns (name, instruction, begin, duration in ns) of the kernels of the device."""
        from jax.profiler import ProfileData
        [path] = Path(self.folder).rglob("*.xplane.pb")
        planes = list(ProfileData.from_file(str(path)).planes)
        device = [p for p in planes if p.name.startswith("/device:GPU")] or planes
        for plane in device:
            for line in plane.lines:
                if plane.name.startswith("/device:GPU") and not line.name.startswith("Stream"):
                    continue  # the other lines repeat the kernels by module and by instruction
                for event in line.events:
                    stats = {key: str(value) for key, value in event.stats}
                    if "hlo_op" in stats or line.name.startswith("Stream"):
                        yield event.name, stats.get("hlo_op", ""), event.start_ns, event.duration_ns


def idle_ns(kernels):
    """Returns the time within the steps in which no kernel ran; gaps of more than 2 ms are between steps."""
    idle, end = 0.0, None
    for begin, duration in sorted((k[2], k[3]) for k in kernels):
        if end is not None and 0 < begin - end < 2e6:
            idle += begin - end
        end = max(end or 0, begin + duration)
    return idle


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program", help="StableHLO text, as smelt bench --emit writes it")
    parser.add_argument("--steps", type=int, default=3, help="steps in the profile")
    parser.add_argument("--top", type=int, default=15, help="slowest instructions to print")
    args = parser.parse_args()
    program, types = compiled(args.program)
    names = instructions(program)
    with tempfile.TemporaryDirectory() as folder:
        trace = Trace(folder)
        run(program, types, args.steps, trace)
        kernels = list(trace.kernels())
    if not kernels:
        sys.exit("error: the profile has no kernels\nhint: run this on a GPU with a CUDA plugin whose CUPTI can be loaded")
    kinds, slowest = Counter(), Counter()
    for name, instruction, _, duration in kernels:
        kinds[kind_of(name, names.get(instruction, instruction))] += duration
        slowest[instruction or name] += duration
    kinds["idle"] = idle_ns(kernels)
    total = sum(kinds.values())
    print("| kind | ms per step | share |\n|---|---|---|")
    for kind, duration in kinds.most_common():
        print(f"| {kind} | {duration / args.steps / 1e6:.2f} | {duration / total:.1%} |")
    print("\n| instruction | ms per step | from |\n|---|---|---|")
    for name, duration in slowest.most_common(args.top):
        print(f"| {name} | {duration / args.steps / 1e6:.3f} | {names.get(name, '').strip()[:100]} |")
    memory = program.get_compiled_memory_stats()
    print(json.dumps({"ms_per_step": {kind: ns / args.steps / 1e6 for kind, ns in kinds.items()},
                      "argument_bytes": memory.argument_size_in_bytes, "temporary_bytes": memory.temp_size_in_bytes}))


if __name__ == "__main__":
    main()
