#!/usr/bin/env python3
"""Times a ModernBERT pre-training step in plain JAX, to compare smelt's speed with.

The step is complete: forward, backward, global-norm clip, AdamW with exclusions, jitted with donated state. Layers with
local attention compute all scores and mask those outside the window. The masked positions come with the batch; smelt
also draws them. Prints one line of JSON; see docs/explanation/performance.md.
"""
import argparse
import os
import time

BEGIN = time.perf_counter()
SIZES = {"modernbert-base": (768, 22, 12, 1152), "modernbert-small": (384, 10, 6, 576)}  # hidden, layers, heads, inner
VOCAB, WINDOW, MASKED = 50304, 64, 0.305


def parse_flags():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--model", choices=SIZES, default="modernbert-small")
    p.add_argument("--batch", type=int, default=4, help="sequences per step")
    p.add_argument("--seq", type=int, default=1024, help="tokens per sequence")
    p.add_argument("--steps", type=int, default=5, help="timed steps, after one untimed")
    p.add_argument("--dropout", type=float, default=0.1, help="of the output of attention; 0 turns it off")
    return p.parse_args()


args = parse_flags()
os.environ["JAX_PLATFORMS"] = "cpu"
import jax
import jax.numpy as jnp
from jax import lax

import jax_harness

H, LAYERS, HEADS, INNER = SIZES[args.model]
HEAD = H // HEADS


def init(key):
    keys = iter(jax.random.split(key, 1000))
    weight = lambda *shape: 0.02 * jax.random.truncated_normal(next(keys), -2, 2, shape)
    layer = lambda: {"attention_gamma": jnp.ones(H), "qkv": weight(H, 3 * H), "attention_out": weight(H, H),
                     "mlp_gamma": jnp.ones(H), "inner": weight(H, 2 * INNER), "out": weight(INNER, H)}
    return {"words": weight(VOCAB, H), "gamma": jnp.ones(H), "layers": [layer() for _ in range(LAYERS)],
            "last_gamma": jnp.ones(H), "head": weight(H, H), "head_gamma": jnp.ones(H), "bias": jnp.zeros(VOCAB)}


def norm(gamma, x):
    mean = x.mean(-1, keepdims=True)
    return (x - mean) * lax.rsqrt(x.var(-1, keepdims=True) + 1e-5) * gamma


def gelu(x):
    return jax.nn.gelu(x, approximate=False)


def rotary(theta):
    frequency = theta ** (-jnp.arange(0, HEAD, 2) / HEAD)
    angles = jnp.arange(args.seq)[:, None] * jnp.tile(frequency, 2)[None, :]
    return jnp.cos(angles)[None, :, None, :], jnp.sin(angles)[None, :, None, :]


def rotated(x, cos, sin):
    a, b = jnp.split(x, 2, axis=-1)
    return x * cos + jnp.concatenate([-b, a], axis=-1) * sin


def dropout(key, x):
    if args.dropout == 0:
        return x
    keep = 1 - args.dropout
    return jnp.where(jax.random.bernoulli(key, keep, x.shape), x / keep, 0)


def attention(p, x, bias, turn):
    q, k, v = jnp.split((x @ p["qkv"]).reshape(*x.shape[:2], 3 * HEADS, HEAD), 3, axis=2)
    scores = jnp.einsum("bqhd,bkhd->bhqk", rotated(q, *turn), rotated(k, *turn)) / HEAD**0.5 + bias
    return jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(scores, axis=-1), v).reshape(x.shape) @ p["attention_out"]


def encode(params, batch, key):
    x = norm(params["gamma"], params["words"][batch["ids"]])
    padding = (1.0 - batch["mask"][:, None, None, :]) * -10000.0
    at = jnp.arange(args.seq)
    near = padding + jnp.where(jnp.abs(at[:, None] - at[None, :]) <= WINDOW, 0.0, -10000.0)
    turns = {True: rotary(10000.0), False: rotary(160000.0)}
    for i, (p, k) in enumerate(zip(params["layers"], jax.random.split(key, LAYERS))):
        local = i % 3 != 0
        y = x if i == 0 else norm(p["attention_gamma"], x)
        x = x + dropout(k, attention(p, y, near if local else padding, turns[local]))
        gate, wide = jnp.split(norm(p["mlp_gamma"], x) @ p["inner"], 2, axis=-1)
        x = x + (gelu(gate) * wide) @ p["out"]
    return norm(params["last_gamma"], x)


def loss_fn(params, batch, key):
    picked = jnp.take_along_axis(encode(params, batch, key), batch["positions"][:, :, None], axis=1)
    h = norm(params["head_gamma"], gelu(picked @ params["head"]))
    logp = jax.nn.log_softmax(h @ params["words"].T + params["bias"])
    per_token = -jnp.take_along_axis(logp, batch["labels"][:, :, None], axis=-1)[..., 0]
    return (per_token * batch["weights"]).sum() / batch["weights"].sum()


def train_step(state, batch):
    params, m, v, step = state
    loss, grads = jax.value_and_grad(loss_fn)(params, batch, jax.random.fold_in(jax.random.key(0), step))
    scale = 1.0 / jnp.maximum(jnp.sqrt(sum(jnp.sum(g * g) for g in jax.tree.leaves(grads))), 1.0)
    t = step.astype(jnp.float32)
    rate = jnp.where(t < 100, 1e-4 * t / 100, 1e-4 * (1 - t / 10000))

    def update(path, p, g, m, v):
        g = g * scale
        m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
        u = m / (jnp.sqrt(v) + 1e-6)
        if not any(word in jax.tree_util.keystr(path) for word in ("bias", "gamma")):
            u = u + 0.01 * p
        return p - rate * u, m, v

    new = jax.tree_util.tree_map_with_path(update, params, grads, m, v)
    pick = lambda i: jax.tree.map(lambda n: n[i], new, is_leaf=lambda n: isinstance(n, tuple))
    return (pick(0), pick(1), pick(2), step + 1), loss


def make_batch(key):
    k = jax.random.split(key, 3)
    b, s, n = args.batch, args.seq, int(MASKED * args.seq)
    return {"ids": jax.random.randint(k[0], (b, s), 0, VOCAB), "mask": jnp.ones((b, s)),
            "positions": jax.random.randint(k[1], (b, n), 0, s), "labels": jax.random.randint(k[2], (b, n), 0, VOCAB),
            "weights": jnp.ones((b, n))}


def main():
    state = jax_harness.adam_state(init(jax.random.key(1)))
    batch = make_batch(jax.random.key(2))
    jax_harness.measure(train_step, state, batch, args.steps, BEGIN)


main()
