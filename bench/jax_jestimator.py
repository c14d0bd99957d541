#!/usr/bin/env python3
"""Times a pre-training step of JEstimator's BERT-base with Amos in plain JAX, to compare smelt's speed with.

The step is complete: masks, forward with logits of all words at all positions, backward, clip by value, Amos with its
reduced slots and full momentum (Tian & Parikh 2022), jitted with donated state. Prints one line of JSON; see
docs/explanation/performance.md.
"""
import argparse
import os
import time

BEGIN = time.perf_counter()
VOCAB, H, LAYERS, HEADS, INNER, MASK = 32000, 768, 12, 12, 3072, 4
RATE, WARMUP, BETA, MOMENTUM = 5e-3, 10000, 0.999, 0.9


def parse_flags():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--model", choices=["jestimator-base"], default="jestimator-base")
    p.add_argument("--batch", type=int, default=8, help="sequences per step")
    p.add_argument("--seq", type=int, default=128, help="tokens per sequence")
    p.add_argument("--steps", type=int, default=5, help="timed steps, after one untimed")
    p.add_argument("--dropout", type=float, default=0.1, help="0 turns it off")
    p.add_argument("--prng", default="threefry2x32", help="JAX's generator: threefry2x32 (its default), rbg")
    p.add_argument("--optimizer", choices=["amos"], default="amos")
    return p.parse_args()


args = parse_flags()
os.environ["JAX_PLATFORMS"] = "cpu"
import jax
import jax.numpy as jnp
from jax import lax

import jax_harness

jax.config.update("jax_default_prng_impl", args.prng)
HEAD = H // HEADS


def init(key):
    keys = iter(jax.random.split(key, 1000))
    drawn = lambda *shape: 0.02 * jax.random.truncated_normal(next(keys), -2, 2, shape)
    dense = lambda i, o: {"kernel": drawn(i, o), "bias": jnp.zeros(o)}
    zeros = lambda i, o: {"kernel": jnp.zeros((i, o)), "bias": jnp.zeros(o)}
    norm = lambda: {"scale": jnp.ones(H), "bias": jnp.zeros(H)}
    layer = lambda: {"query": zeros(H, H), "key": dense(H, H), "value": zeros(H, H), "attention_out": dense(H, H),
                     "attention_norm": norm(), "dense1": dense(H, INNER), "dense2": zeros(INNER, H), "mlp_norm": norm()}
    return {"embedding": {"token": drawn(VOCAB, H), "position": drawn(args.seq, H), "segment": drawn(1, H)},
            "embedding_norm": norm(), "layers": [layer() for _ in range(LAYERS)],
            "head": {"dense": zeros(H, H), "norm": norm(), "bias": jnp.zeros(VOCAB)}}


def dropout(key, x):
    if args.dropout == 0:
        return x
    keep = 1 - args.dropout
    return jnp.where(jax.random.bernoulli(key, keep, x.shape), x / keep, 0)


def dense(p, x):
    return x @ p["kernel"] + p["bias"]


def layer_norm(p, x):
    x = x - x.mean(-1, keepdims=True)
    return x * lax.rsqrt(jnp.square(x).mean(-1, keepdims=True) + 1e-12) * p["scale"] + p["bias"]


def encoder_layer(p, x, key):
    k1, k2, k3 = jax.random.split(key, 3)
    heads = lambda t: t.reshape(*t.shape[:2], HEADS, HEAD)
    q, k, v = (heads(dense(p[n], x)) for n in ("query", "key", "value"))
    scores = jnp.einsum("bqhd,bkhd->bhqk", q, k) * HEAD**-0.5
    context = jnp.einsum("bhqk,bkhd->bqhd", dropout(k1, jax.nn.softmax(scores)), v).reshape(x.shape)
    x = layer_norm(p["attention_norm"], x + dropout(k2, dense(p["attention_out"], context)))
    y = dense(p["dense2"], jax.nn.gelu(dense(p["dense1"], x), approximate=True))
    return layer_norm(p["mlp_norm"], x + dropout(k3, y))


def loss_fn(params, targets, key):
    keys = jax.random.split(key, LAYERS + 2)
    masked = jax.random.uniform(keys[-1], targets.shape) < 0.15
    e = params["embedding"]
    x = e["token"][jnp.where(masked, MASK, targets)] + e["position"] + e["segment"][0]
    x = dropout(keys[-2], layer_norm(params["embedding_norm"], x))
    for p, k in zip(params["layers"], keys):
        x = encoder_layer(p, x, k)
    head = params["head"]
    x = layer_norm(head["norm"], jax.nn.gelu(dense(head["dense"], x), approximate=True))
    logp = jax.nn.log_softmax(x @ e["token"].T + head["bias"])
    of_label = jnp.take_along_axis(logp, targets[:, :, None], axis=-1)[..., 0]
    return -jnp.where(masked, of_label, 0).sum() * lax.rsqrt(masked.sum().astype(jnp.float32))


def name(path):
    return jax.tree_util.keystr(path)


def eta(path, p):
    """Returns Amos's eta: the expected scale of a parameter's elements."""
    if "norm" in name(path) and "scale" in name(path):
        return 1.0
    if "bias" in name(path):
        return 0.5
    if "embedding" in name(path):
        return (2 / H) ** 0.5
    return ((2 if "dense2" in name(path) else 1) / p.shape[0]) ** 0.5


def reduced(path, p):
    """Returns the axes along which the parameter's slots are reduced to size one."""
    if "kernel" in name(path):
        return (0,)
    return (1,) if p.ndim == 2 else tuple(range(p.ndim))


def slot(path, p):
    return jnp.zeros([1 if i in reduced(path, p) else n for i, n in enumerate(p.shape)])


def train_step(state, targets):
    params, v, b, m, step = state
    loss, grads = jax.value_and_grad(loss_fn)(params, targets, jax.random.fold_in(jax.random.key(0), step))
    t = (step + 1).astype(jnp.float32)
    xi = RATE * jnp.minimum(1.0, t / WARMUP)

    def update(path, p, g, v, b, m):
        g = jnp.clip(g, -1, 1)
        g2 = jnp.square(g).mean(reduced(path, p), keepdims=True)
        v = BETA * v + (1 - BETA) * g2
        r = (1 - BETA**t) / jnp.maximum(v, 2.0**-125)
        gamma = lax.rsqrt(1 + 0.25 * jnp.sqrt(xi) * b) * xi**2 * r * g2
        rate = xi * eta(path, p)
        delta = (-0.5 * gamma * p - rate * jnp.sqrt(r) * g) / (1 + 0.25 * jnp.sqrt(rate) * b)
        m = MOMENTUM * m + (1 - MOMENTUM) * delta
        return p + m, v, b + gamma * (1 + b), m

    new = jax.tree_util.tree_map_with_path(update, params, grads, v, b, m)
    pick = lambda i: jax.tree.map(lambda n: n[i], new, is_leaf=lambda n: isinstance(n, tuple))
    return (pick(0), pick(1), pick(2), pick(3), step + 1), loss


def main():
    params = init(jax.random.key(1))
    slots = lambda: jax.tree_util.tree_map_with_path(slot, params)
    state = (params, slots(), slots(), jax.tree.map(jnp.zeros_like, params), jnp.int32(0))
    batch = jax.random.randint(jax.random.key(2), (args.batch, args.seq), 5, VOCAB)
    jax_harness.measure(train_step, state, batch, args.steps, BEGIN)


main()
