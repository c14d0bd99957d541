#!/usr/bin/env python3
"""Times a pre-training step of ELECTRA-small in plain JAX, to compare smelt's speed with.

The step is complete: masks, generator, samples, discriminator, backward, global-norm clip, AdamWeightDecay with
exclusions and the metrics of a training step, jitted with donated state. Prints one line of JSON; see
docs/explanation/performance.md.
"""
import argparse
import os
import time

BEGIN = time.perf_counter()
VOCAB, POSITIONS, TYPES = 30522, 512, 2
E, H, LAYERS, HEADS = 128, 256, 12, 4     # embeddings and discriminator
GENERATOR_H, GENERATOR_HEADS = 64, 1      # a quarter of the width, the same depth
CLS, SEP, MASK = 101, 102, 103


def parse_flags():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--model", choices=["electra-small"], default="electra-small")
    p.add_argument("--batch", type=int, default=32, help="sequences per step")
    p.add_argument("--seq", type=int, default=128, help="tokens per sequence")
    p.add_argument("--steps", type=int, default=5, help="timed steps, after one untimed")
    p.add_argument("--dropout", type=float, default=0.1, help="0 turns it off")
    p.add_argument("--prng", default="threefry2x32", help="JAX's generator: threefry2x32 (its default), rbg")
    return p.parse_args()


args = parse_flags()
os.environ["JAX_PLATFORMS"] = "cpu"
import jax
import jax.numpy as jnp
from jax import lax

import jax_harness

jax.config.update("jax_default_prng_impl", args.prng)
MASKS = int((0.15 + 0.005) * args.seq)


def init(key):
    keys = iter(jax.random.split(key, 1000))
    weight = lambda *shape: 0.02 * jax.random.truncated_normal(next(keys), -2, 2, shape)
    dense = lambda i, o: {"kernel": weight(i, o), "bias": jnp.zeros(o)}
    norm = lambda h: {"gamma": jnp.ones(h), "beta": jnp.zeros(h)}
    layer = lambda h: {
        "query": dense(h, h), "key": dense(h, h), "value": dense(h, h), "attention_out": dense(h, h),
        "attention_norm": norm(h), "inner": dense(h, 4 * h), "out": dense(4 * h, h), "out_norm": norm(h),
    }
    encoder = lambda h: {"project": dense(E, h), "layers": [layer(h) for _ in range(LAYERS)]}
    return {
        "words": weight(VOCAB, E), "positions": weight(POSITIONS, E), "types": weight(TYPES, E),
        "embedding_norm": norm(E), "generator": encoder(GENERATOR_H), "discriminator": encoder(H),
        "transform": dense(GENERATOR_H, E), "transform_norm": norm(E), "mlm_bias": jnp.zeros(VOCAB),
        "replaced": dense(H, H), "replaced_1": dense(H, 1),
    }


def dropout(key, x):
    if args.dropout == 0:
        return x
    keep = 1 - args.dropout
    return jnp.where(jax.random.bernoulli(key, keep, x.shape), x / keep, 0)


def dense(p, x):
    return x @ p["kernel"] + p["bias"]


def layer_norm(p, x):
    mean = x.mean(-1, keepdims=True)
    var = x.var(-1, keepdims=True)
    return (x - mean) * lax.rsqrt(var + 1e-12) * p["gamma"] + p["beta"]


def gelu(x):
    return jax.nn.gelu(x, approximate=False)


def attention(p, x, bias, heads, key):
    split = lambda t: t.reshape(*t.shape[:2], heads, -1)
    q, k, v = (split(dense(p[n], x)) for n in ("query", "key", "value"))
    scores = jnp.einsum("bqhd,bkhd->bhqk", q, k) / q.shape[-1]**0.5 + bias
    probs = dropout(key, jax.nn.softmax(scores, axis=-1))
    return jnp.einsum("bhqk,bkhd->bqhd", probs, v).reshape(x.shape)


def encoder_layer(x, p, bias, heads, key):
    k1, k2, k3 = jax.random.split(key, 3)
    y = dense(p["attention_out"], attention(p, x, bias, heads, k1))
    x = layer_norm(p["attention_norm"], x + dropout(k2, y))
    y = dense(p["out"], gelu(dense(p["inner"], x)))
    return layer_norm(p["out_norm"], x + dropout(k3, y))


def encode(params, p, heads, ids, batch, key):
    keys = jax.random.split(key, LAYERS + 1)
    x = params["words"][ids] + params["types"][batch["types"]] + params["positions"][: args.seq]
    x = dense(p["project"], dropout(keys[-1], layer_norm(params["embedding_norm"], x)))
    bias = (1.0 - batch["mask"][:, None, None, :].astype(x.dtype)) * -10000.0
    for layer, k in zip(p["layers"], keys):
        x = encoder_layer(x, layer, bias, heads, k)
    return x


def draw_masks(batch, key):
    """Returns distinct positions [B,N] per row, their tokens and weights, and the generator's input ids [B,S]."""
    where, shown = jax.random.split(key)
    ids = batch["ids"]
    allowed = (batch["mask"] == 1) & (ids != CLS) & (ids != SEP) & (ids != MASK) & (jnp.arange(args.seq) > 0)
    keys = jnp.where(allowed, jax.random.uniform(where, ids.shape), -1)
    positions = lax.top_k(keys, MASKS)[1]
    wanted = jnp.clip(jnp.round(batch["mask"].sum(1) * 0.15).astype(jnp.int32), 1, MASKS)
    used = jnp.arange(MASKS)[None, :] < jnp.minimum(wanted, allowed.sum(1))[:, None]
    masked = used & (jax.random.uniform(shown, positions.shape) < 0.85)
    return positions, jnp.take_along_axis(ids, positions, 1), used, put(ids, positions, masked, MASK)


def put(ids, positions, used, tokens):
    rows = jnp.arange(ids.shape[0])[:, None]
    return ids.at[rows, jnp.where(used, positions, args.seq)].set(tokens, mode="drop")


def mean(x, weights):
    return (x * weights).sum() / (weights.sum() + 1e-6)


def loss_fn(params, batch, key):
    k_mask, k_generator, k_sample, k_discriminator = jax.random.split(key, 4)
    positions, labels, used, masked_ids = draw_masks(batch, k_mask)
    weights = used.astype(jnp.float32)
    x = encode(params, params["generator"], GENERATOR_HEADS, masked_ids, batch, k_generator)
    picked = jnp.take_along_axis(x, positions[:, :, None], axis=1)
    h = layer_norm(params["transform_norm"], gelu(dense(params["transform"], picked)))
    logits = h @ params["words"].T + params["mlm_bias"]
    right = lambda tokens, wanted: (tokens == wanted).astype(jnp.float32)
    mlm = mean(-jnp.take_along_axis(jax.nn.log_softmax(logits), labels[:, :, None], axis=-1)[..., 0], weights)

    u = jax.random.uniform(k_sample, logits.shape)
    samples = jnp.argmax(lax.stop_gradient(logits) - jnp.log(-jnp.log(u + 1e-9) + 1e-9), -1).astype(jnp.int32)
    ids = put(batch["ids"], positions, used, samples)
    x = encode(params, params["discriminator"], HEADS, ids, batch, k_discriminator)
    x = dense(params["replaced_1"], gelu(dense(params["replaced"], x)))[..., 0]
    replaced, mask = (ids != batch["ids"]).astype(jnp.float32), batch["mask"].astype(jnp.float32)
    disc = mean(jnp.log1p(jnp.exp(-jnp.abs(x))) + jnp.maximum(x, 0) - x * replaced, mask)
    said = (x > 0).astype(jnp.float32)
    hits = (said * replaced * mask).sum()
    metrics = [mlm, disc, mean(right(jnp.argmax(logits, -1), labels), weights), mean(right(samples, labels), weights),
               mean(right(said, replaced), mask), hits / ((said * mask).sum() + 1e-6),
               hits / ((replaced * mask).sum() + 1e-6)]
    return mlm + 50 * disc, metrics


def decays(path):
    last = jax.tree_util.keystr(path)
    return not any(word in last for word in ("bias", "gamma", "beta"))


def train_step(state, batch):
    params, m, v, step = state
    key = jax.random.fold_in(jax.random.key(0), step)
    (loss, metrics), grads = jax.value_and_grad(loss_fn, has_aux=True)(params, batch, key)
    norm = jnp.sqrt(sum(jnp.sum(g * g) for g in jax.tree.leaves(grads)))
    scale = 1.0 / jnp.maximum(norm, 1.0)
    t = step.astype(jnp.float32)
    rate = 1e-4 * (1 - t / 10000) * jnp.minimum(1.0, t / 100)

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
    return (pick(0), pick(1), pick(2), step + 1), jnp.stack([loss, norm, *metrics])


def main():
    state = jax_harness.adam_state(init(jax.random.key(1)))
    shape = (args.batch, args.seq)
    batch = {"ids": jax.random.randint(jax.random.key(2), shape, 0, VOCAB), "mask": jnp.ones(shape, jnp.int32),
             "types": jnp.zeros(shape, jnp.int32)}
    jax_harness.measure(train_step, state, batch, args.steps, BEGIN)


main()
