"""Computes thresholds for histograms of |x|, for tests/golden/calibration.json.

python tools/golden_calibration.py OUT [--modelopt HISTOGRAM.py] [--onnxruntime]

The rules are those of src/compress/calibration.h, implemented in numpy. With the flags, the results must match the
original programs: --modelopt, for entropy and percentile, NVIDIA's Model Optimizer (the file
modelopt/torch/quantization/calib/histogram.py from the unpacked wheel nvidia-modelopt 0.47.0, whose functions take
numpy arrays and do not need PyTorch); --onnxruntime, for percentile, onnxruntime.quantization.calibrate (needs
onnxruntime and onnx). The golden file was written with both:

    pip install numpy scipy onnxruntime onnx; pip download --no-deps nvidia-modelopt==0.47.0; unzip nvidia_modelopt-*.whl
    python tools/golden_calibration.py tests/golden/calibration.json --onnxruntime \\
        --modelopt modelopt/torch/quantization/calib/histogram.py
"""
import argparse
import json
import sys
import types

import numpy as np

BINS, LEVELS, SHARE = 2048, 128, 99.999


def drawn():
    rng = np.random.default_rng(28)
    normal = rng.normal(size=200_000)
    outliers = np.concatenate([normal, 40 + 3 * rng.normal(size=300)])
    return {"normal": normal, "laplace": 3 * rng.laplace(size=200_000), "relu": np.maximum(normal, 0),
            "heavy": rng.standard_t(3, size=200_000), "outliers": outliers, "few": np.array([0.5, 0.25, 0.75, 0, 0.1])}


def histogram(values):
    x = np.abs(values.astype(np.float32))
    width = float(2.0 ** (np.floor(np.log2(x.max())) + 1) / BINS)
    return np.bincount((x.astype(np.float64) / width).astype(np.int64)), width, float(x.max())


def percentile(counts, width, most):
    return max(np.argmax(np.cumsum(counts) >= SHARE / 100 * counts.sum()), 1) * width


def entropy(counts, width, most):
    counts = counts.astype(np.float64)
    counts[0] = counts[1]
    found, least = 0, np.inf
    for bins in range(LEVELS, len(counts) + 1):
        kept = counts[:bins]
        level = np.arange(bins) * LEVELS // bins
        of_level = np.bincount(level, kept, LEVELS) / np.maximum(np.bincount(level, kept > 0, LEVELS), 1)
        q = np.where(kept > 0, of_level[level], 0)
        p = kept.copy()
        p[-1] += counts[bins:].sum()
        if kept[-1] == 0 and p[-1] > 0 or p.sum() == 0:
            continue
        p, q = p[p > 0] / p.sum(), q[p > 0] / q.sum()
        divergence = (p * np.log(p / q)).sum()
        if divergence <= least:
            found, least = bins, divergence
    return min(found * width, most) if found else most


def mse(counts, width, most):
    x = (np.arange(len(counts)) + 0.5) * width
    thresholds = most * (np.arange(100, 19, -1) / 100)

    def lost(threshold):
        scale = threshold / 127
        return (counts * (x - np.minimum(np.rint(x / scale), 127) * scale) ** 2).sum()
    return thresholds[np.argmin([lost(t) for t in thresholds])]


def check_by_modelopt(path, counts, width, want):
    """Compares with the functions in Model Optimizer's file; the other modules that it imports are stubs."""
    stubs = {"torch": types.ModuleType("torch"), "modelopt.torch.utils": types.ModuleType("utils")}
    stubs["torch"].tensor, stubs["torch"].Tensor = float, type("Tensor", (), {})
    stubs["modelopt.torch.utils"].distributed = None
    sys.modules.update(stubs)
    text = [line for line in open(path).read().splitlines() if not line.startswith("from .")]
    space = {"_Calibrator": object, "__name__": "histogram"}
    exec(compile("\n".join(text), path, "exec"), space)
    edges = np.arange(len(counts) + 1) * width
    theirs = {"percentile": space["_compute_amax_percentile"](counts, edges, SHARE)}
    if len(counts) > LEVELS and want["few"] is False:
        theirs["entropy"] = min(space["_compute_amax_entropy"](counts.copy(), edges, 8, False), want["most"])
    return theirs


def check_by_onnxruntime(counts, width, want):
    from onnxruntime.quantization.calibrate import HistogramCollector
    collector = HistogramCollector("percentile", True, BINS, LEVELS, SHARE, "same")
    edges = (np.arange(len(counts) + 1) * width).astype(np.float32)
    most = np.float32(want["most"])
    collector.histogram_dict = {"x": (counts, edges, -most, most)}
    return {"percentile": float(np.ravel(collector.compute_percentile()["x"][1])[0])}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out")
    parser.add_argument("--modelopt")
    parser.add_argument("--onnxruntime", action="store_true")
    args = parser.parse_args()
    facts = {}
    for name, values in drawn().items():
        counts, width, most = histogram(values)
        said = {"minmax": most} | {rule.__name__: float(rule(counts.copy(), width, most)) for rule in (percentile, entropy, mse)}
        facts[name] = {"counts": counts.tolist(), "width": width, "most": most, "thresholds": said}
        want = {"most": most, "few": name == "few"}
        theirs = [check_by_modelopt(args.modelopt, counts, width, want)] if args.modelopt else []
        theirs += [check_by_onnxruntime(counts, width, want)] if args.onnxruntime else []
        for one in theirs:
            for rule, threshold in one.items():
                if abs(threshold - said[rule]) > 1e-6 * most:
                    sys.exit(f"{name}: {rule} is {said[rule]}, theirs {threshold}")
        print(name, said)
    json.dump({"made_by": "tools/golden_calibration.py", "histograms": facts}, open(args.out, "w"))


if __name__ == "__main__":
    main()
