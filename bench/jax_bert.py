#!/usr/bin/env python3
"""Times a BERT pre-training step, or with --classes a fine-tuning step, in plain JAX, to compare smelt's speed with.

The step is complete: forward, backward, global-norm clip, AdamWeightDecay with exclusions, jitted with donated state.
Prints one line of JSON; see docs/explanation/performance.md.
"""
import argparse
import json
import os
import sys
import time

BEGIN = time.perf_counter()
SIZES = {  # name: hidden, layers, heads, intermediate
    "tiny": (128, 2, 2, 512),
    "small": (512, 4, 8, 2048),
    "base": (768, 12, 12, 3072),
    "large": (1024, 24, 16, 4096),
}
VOCAB, POSITIONS, TYPES = 30522, 512, 2


def parse_flags():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--model", choices=SIZES, default="base")
    p.add_argument("--batch", type=int, default=8, help="sequences per step")
    p.add_argument("--seq", type=int, default=128, help="tokens per sequence")
    p.add_argument("--predictions", type=int, default=20, help="masked positions per sequence")
    p.add_argument("--classes", type=int, default=0, help="classes to fine-tune for; 0: pre-training")
    p.add_argument("--steps", type=int, default=5, help="timed steps, after one untimed")
    p.add_argument("--dropout", type=float, default=0.1, help="0 turns it off")
    p.add_argument("--prng", default="threefry2x32",
                   help="threefry2x32 (JAX's default), rbg, or hash: dropout by a counter hash, which JAX lacks")
    p.add_argument("--layers", choices=["loop", "scan"], default="loop", help="Python loop or lax.scan over layers")
    p.add_argument("--attention", choices=["plain", "cudnn"], default="plain",
                   help="cudnn: jax.nn.dot_product_attention on a GPU in bf16, without dropout of the scores")
    p.add_argument("--depth", type=int, default=0, help="number of layers, if not that of the model")
    p.add_argument("--remat", action="store_true", help="store only the input of each layer for the backward pass")
    p.add_argument("--precision", choices=["f32", "bf16"], default="f32", help="precision of activations and matmuls")
    p.add_argument("--platform", default="cpu", help="cpu or gpu; with --hlo-out also tpu, which this machine may lack")
    p.add_argument("--devices", type=int, default=1, help="devices that share a batch, by Shardy; with --hlo-out")
    p.add_argument("--hlo-out", metavar="FILE", help="write the lowered StableHLO text and stop")
    p.add_argument("--serve", action="store_true", help="time one step per line read from stdin")
    return p.parse_args()


args = parse_flags()
if args.platform == "tpu" and not args.hlo_out:
    raise SystemExit("error: --platform tpu only writes a program\nhint: give --hlo-out FILE")
os.environ["JAX_PLATFORMS"] = {"gpu": "cuda"}.get(args.platform, "cpu")
os.environ["XLA_FLAGS"] = os.environ.get("XLA_FLAGS", "") + (
    f" --xla_force_host_platform_device_count={args.devices}" if args.devices > 1 else "")
import jax
import jax.numpy as jnp
from jax import lax

import jax_harness

jax.config.update("jax_default_prng_impl", "threefry2x32" if args.prng == "hash" else args.prng)
H, LAYERS, HEADS, INNER = SIZES[args.model]
LAYERS = args.depth or LAYERS
HEAD = H // HEADS
COMPUTE = jnp.bfloat16 if args.precision == "bf16" else jnp.float32


def init(key):
    keys = iter(jax.random.split(key, 1000))
    weight = lambda *shape: 0.02 * jax.random.truncated_normal(next(keys), -2, 2, shape)
    dense = lambda i, o: {"kernel": weight(i, o), "bias": jnp.zeros(o)}
    norm = lambda: {"gamma": jnp.ones(H), "beta": jnp.zeros(H)}
    layer = lambda: {
        "query": dense(H, H), "key": dense(H, H), "value": dense(H, H), "attention_out": dense(H, H),
        "attention_norm": norm(), "inner": dense(H, INNER), "out": dense(INNER, H), "out_norm": norm(),
    }
    layers = [layer() for _ in range(LAYERS)]
    if args.layers == "scan":
        layers = jax.tree.map(lambda *xs: jnp.stack(xs), *layers)
    encoder = {
        "words": weight(VOCAB, H), "positions": weight(POSITIONS, H), "types": weight(TYPES, H),
        "embedding_norm": norm(), "layers": layers, "pooler": dense(H, H),
    }
    if args.classes:
        return encoder | {"classes": {"kernel": weight(args.classes, H), "bias": jnp.zeros(args.classes)}}
    return encoder | {
        "transform": dense(H, H), "transform_norm": norm(), "mlm_bias": jnp.zeros(VOCAB),
        "nsp": {"kernel": weight(2, H), "bias": jnp.zeros(2)},
    }


def hashed_keep(key, keep, shape):
    """Like jax.random.bernoulli, but with the hash "lowbias32" of a counter."""
    number, stride = jax.random.key_data(key)[0], 1
    for axis in reversed(range(len(shape))):
        number = number + jax.lax.broadcasted_iota(jnp.uint32, shape, axis) * jnp.uint32(stride % 2**32)
        stride *= shape[axis]
    for shift, factor in (16, 0x7FEB352D), (15, 0x846CA68B):
        number = (number ^ (number >> shift)) * jnp.uint32(factor)
    return number >= jnp.uint32(round((1 - keep) * 2**32))


def dropout(key, x):
    if args.dropout == 0:
        return x
    keep = 1 - args.dropout
    kept = hashed_keep if args.prng == "hash" else jax.random.bernoulli
    return jnp.where(kept(key, keep, x.shape), x / keep, 0)


def dense(p, x):
    return x @ p["kernel"].astype(x.dtype) + p["bias"].astype(x.dtype)


def layer_norm(p, x):
    wide = x.astype(jnp.float32)
    mean = wide.mean(-1, keepdims=True)
    var = wide.var(-1, keepdims=True)
    return ((wide - mean) * lax.rsqrt(var + 1e-12) * p["gamma"] + p["beta"]).astype(x.dtype)


def gelu(x):
    return jax.nn.gelu(x, approximate=True)


def attention(p, x, bias, key):
    split = lambda t: t.reshape(*t.shape[:2], HEADS, HEAD)
    q, k, v = (split(dense(p[n], x)) for n in ("query", "key", "value"))
    if args.attention == "cudnn":
        lengths = (bias[:, 0, 0] == 0).sum(-1, dtype=jnp.int32)
        return jax.nn.dot_product_attention(q, k, v, query_seq_lengths=lengths, key_value_seq_lengths=lengths,
                                            implementation="cudnn").reshape(x.shape)
    scores = jnp.einsum("bqhd,bkhd->bhqk", q, k) / HEAD**0.5 + bias
    probs = dropout(key, jax.nn.softmax(scores.astype(jnp.float32), axis=-1).astype(x.dtype))
    return jnp.einsum("bhqk,bkhd->bqhd", probs, v).reshape(x.shape)


def encoder_layer(x, p, key, bias):
    k1, k2, k3 = jax.random.split(key, 3)
    y = dense(p["attention_out"], attention(p, x, bias, k1))
    x = layer_norm(p["attention_norm"], x + dropout(k2, y))
    y = dense(p["out"], gelu(dense(p["inner"], x)))
    return layer_norm(p["out_norm"], x + dropout(k3, y))


def encode(params, batch, key):
    x = params["words"][batch["ids"]] + params["types"][batch["types"]] + params["positions"][: args.seq]
    keys = jax.random.split(key, LAYERS + 1)
    x = dropout(keys[-1], layer_norm(params["embedding_norm"], x).astype(COMPUTE))
    bias = (1.0 - batch["mask"][:, None, None, :].astype(x.dtype)) * -10000.0
    layer = jax.checkpoint(encoder_layer) if args.remat else encoder_layer
    if args.layers == "scan":
        step = lambda x, pk: (layer(x, pk[0], pk[1], bias), None)
        return lax.scan(step, x, (params["layers"], keys[:-1]))[0]
    for p, k in zip(params["layers"], keys):
        x = layer(x, p, k, bias)
    return x


def class_loss(params, batch, key):
    x = encode(params, batch, key)
    pooled = dropout(jax.random.fold_in(key, 1), jnp.tanh(dense(params["pooler"], x[:, 0])).astype(jnp.float32))
    logp = jax.nn.log_softmax(pooled @ params["classes"]["kernel"].T + params["classes"]["bias"])
    return -jnp.take_along_axis(logp, batch["class"][:, None], axis=-1).mean()


def loss_fn(params, batch, key):
    if args.classes:
        return class_loss(params, batch, key)
    x = encode(params, batch, key)
    picked = jnp.take_along_axis(x, batch["positions"][:, :, None], axis=1)
    h = layer_norm(params["transform_norm"], gelu(dense(params["transform"], picked)))
    words = params["words"].T.astype(h.dtype)
    logp = jax.nn.log_softmax(jnp.matmul(h, words, preferred_element_type=jnp.float32) + params["mlm_bias"])
    per_token = -jnp.take_along_axis(logp, batch["labels"][:, :, None], axis=-1)[..., 0]
    mlm = (per_token * batch["weights"]).sum() / (batch["weights"].sum() + 1e-5)
    pooled = jnp.tanh(dense(params["pooler"], x[:, 0])).astype(jnp.float32)
    logp = jax.nn.log_softmax(pooled @ params["nsp"]["kernel"].T + params["nsp"]["bias"])
    nsp = -jnp.take_along_axis(logp, batch["next"][:, None], axis=-1).mean()
    return mlm + nsp


def decays(path):
    last = jax.tree_util.keystr(path)
    return not any(word in last for word in ("bias", "gamma", "beta"))


def train_step(state, batch):
    params, m, v, step = state
    key = jax.random.fold_in(jax.random.key(0), step)
    loss, grads = jax.value_and_grad(loss_fn)(params, batch, key)
    norm = jnp.sqrt(sum(jnp.sum(g * g) for g in jax.tree.leaves(grads)))
    scale = 1.0 / jnp.maximum(norm, 1.0)
    t = step.astype(jnp.float32)
    rate = jnp.where(t < 100, 1e-4 * t / 100, 1e-4 * (1 - t / 1000))

    def update(path, p, g, m, v):
        g = g * scale
        m = 0.9 * m + 0.1 * g
        v = 0.999 * v + 0.001 * g * g
        u = m / (jnp.sqrt(v) + 1e-6)
        if decays(path):
            u = u + 0.01 * p
        return p - rate * u, m, v

    new = jax.tree_util.tree_map_with_path(update, params, grads, m, v)
    pick = lambda i: jax.tree.map(lambda n: n[i], new, is_leaf=lambda n: isinstance(n, tuple))
    return (pick(0), pick(1), pick(2), step + 1), loss


def make_batch(key):
    k = jax.random.split(key, 5)
    b, s, n = args.batch, args.seq, args.predictions
    half = jnp.arange(s)[None, :] >= s // 2
    labels = {"class": jax.random.randint(k[4], (b,), 0, args.classes)} if args.classes else {}
    return labels | {
        "ids": jax.random.randint(k[0], (b, s), 0, VOCAB), "mask": jnp.ones((b, s), jnp.int32),
        "types": jnp.broadcast_to(half, (b, s)).astype(jnp.int32),
        "positions": jax.random.randint(k[1], (b, n), 0, s), "labels": jax.random.randint(k[2], (b, n), 0, VOCAB),
        "weights": jnp.ones((b, n)), "next": jax.random.randint(k[3], (b,), 0, 2),
    }


def main():
    state = jax_harness.adam_state(init(jax.random.key(1)))
    batch = make_batch(jax.random.key(2))
    if args.hlo_out:
        with open(args.hlo_out, "w") as out:
            out.write(jax_harness.lower(train_step, state, batch, args.platform, args.devices))
        return
    if args.serve:
        step, state, ready = jax_harness.compiled(train_step, state, batch, BEGIN)
        print(json.dumps(ready), flush=True)
        for _ in sys.stdin:
            state, loss, (wall, cpu) = jax_harness.timed(step, state, batch)
            print(json.dumps({"step_s": wall, "step_cpu_s": cpu, "loss": loss}), flush=True)
        return
    jax_harness.measure(train_step, state, batch, args.steps, BEGIN)


main()
