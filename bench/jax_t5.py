#!/usr/bin/env python3
"""Times a T5 training step in plain JAX, to compare smelt's speed with.

The step is complete: forward, backward, global-norm clip, AdamW, jitted with donated state. Prints one line of
JSON; see docs/explanation/performance.md.
"""
import argparse
import math
import os
import time

BEGIN = time.perf_counter()
SIZES = {  # name: d_model, d_ff, layers of each stack, heads, gated and untied
    "t5-small": (512, 2048, 6, 8, False),
    "t5-v1_1-small": (512, 1024, 8, 6, True),
}
VOCAB, HEAD, BUCKETS, FAR, EPSILON, Z_LOSS = 32128, 64, 32, 128, 1e-6, 1e-4


def parse_flags():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--model", choices=SIZES, default="t5-small")
    p.add_argument("--batch", type=int, default=8, help="sequences per step")
    p.add_argument("--seq", type=int, default=256, help="tokens per sequence of the encoder")
    p.add_argument("--predictions", type=int, default=64, help="tokens per sequence of the decoder")
    p.add_argument("--steps", type=int, default=5, help="timed steps, after one untimed")
    p.add_argument("--dropout", type=float, default=0.1, help="0 turns it off")
    p.add_argument("--prng", default="threefry2x32", help="JAX's generator: threefry2x32 (its default), rbg")
    p.add_argument("--optimizer", default="adamw", choices=["adamw"])
    p.add_argument("--layers", choices=["loop", "scan"], default="loop", help="Python loop or lax.scan over layers")
    p.add_argument("--depth", type=int, default=0, help="number of layers of each stack, if not that of the model")
    p.add_argument("--remat", action="store_true", help="store only the input of each layer for the backward pass")
    p.add_argument("--precision", choices=["f32", "bf16"], default="f32", help="precision of activations and matmuls")
    p.add_argument("--platform", default="cpu", help="cpu; with --hlo-out also tpu, which this machine may lack")
    p.add_argument("--devices", type=int, default=1, help="devices that share a batch, by Shardy; with --hlo-out")
    p.add_argument("--hlo-out", metavar="FILE", help="write the lowered StableHLO text and stop")
    return p.parse_args()


args = parse_flags()
if args.platform == "tpu" and not args.hlo_out:
    raise SystemExit("error: --platform tpu only writes a program\nhint: give --hlo-out FILE")
os.environ["JAX_PLATFORMS"] = "cpu"
os.environ["XLA_FLAGS"] = os.environ.get("XLA_FLAGS", "") + (
    f" --xla_force_host_platform_device_count={args.devices}" if args.devices > 1 else "")
import jax
import jax.numpy as jnp
from jax import lax

import jax_harness

jax.config.update("jax_default_prng_impl", args.prng)
E, F, LAYERS, N, GATED = SIZES[args.model]
LAYERS = args.depth or LAYERS
COMPUTE = jnp.bfloat16 if args.precision == "bf16" else jnp.float32


def init(key):
    keys = iter(jax.random.split(key, 1000))
    weight = lambda fan, *shape: fan**-0.5 * jax.random.truncated_normal(next(keys), -2, 2, shape)
    attention = lambda: {"norm": jnp.ones(E), "q": weight(E * HEAD, E, N * HEAD), "k": weight(E, E, N * HEAD),
                         "v": weight(E, E, N * HEAD), "o": weight(N * HEAD, N * HEAD, E)}
    inner = ("wi_0", "wi_1") if GATED else ("wi",)

    def stack(decoder):
        layers = [{"own": attention(), **({"encoder": attention()} if decoder else {}), "norm": jnp.ones(E),
                   **{name: weight(E, E, F) for name in inner}, "wo": weight(F, F, E)} for _ in range(LAYERS)]
        if args.layers == "scan":
            layers = jax.tree.map(lambda *xs: jnp.stack(xs), *layers)
        return {"layers": layers, "distances": weight(E, N, BUCKETS), "norm": jnp.ones(E)}

    params = {"words": weight(1, VOCAB, E), "encoder": stack(False), "decoder": stack(True)}
    return params | ({"logits": weight(E, E, VOCAB)} if GATED else {})


def dropout(key, x):
    if args.dropout == 0:
        return x
    keep = 1 - args.dropout
    return jnp.where(jax.random.bernoulli(key, keep, x.shape), x / keep, 0)


def dense(kernel, x):
    return x @ kernel.astype(x.dtype)


def norm(scale, x):
    wide = x.astype(jnp.float32)
    return (wide * lax.rsqrt((wide * wide).mean(-1, keepdims=True) + EPSILON) * scale).astype(x.dtype)


def bucket(distance, both_sides):
    buckets, first = BUCKETS, 0
    if both_sides:
        buckets //= 2
        first, distance = (buckets if distance > 0 else 0), abs(distance)
    else:
        distance = max(-distance, 0)
    exact = buckets // 2
    if distance < exact:
        return first + distance
    wide = exact + int(math.log(distance / exact) / math.log(FAR / exact) * (buckets - exact))
    return first + min(wide, buckets - 1)


def position_bias(table, length, both_sides):
    rows = jnp.array([[bucket(key - query, both_sides) for key in range(length)] for query in range(length)])
    return table[:, rows][None]


def attention(p, x, keys, bias, key):
    split = lambda t: t.reshape(*t.shape[:2], N, HEAD)
    q, k, v = split(dense(p["q"], x)), split(dense(p["k"], keys)), split(dense(p["v"], keys))
    scores = jnp.einsum("bqhd,bkhd->bhqk", q, k).astype(jnp.float32) + bias
    probs = dropout(key, jax.nn.softmax(scores, axis=-1).astype(x.dtype))
    return dense(p["o"], jnp.einsum("bhqk,bkhd->bqhd", probs, v).reshape(*x.shape[:2], N * HEAD))


def feed_forward(p, x, key):
    if GATED:
        inner = jax.nn.gelu(dense(p["wi_0"], x), approximate=True) * dense(p["wi_1"], x)
    else:
        inner = jax.nn.relu(dense(p["wi"], x))
    return dense(p["wo"], dropout(key, inner))


def layer(x, p, key, biases, encoded):
    k = jax.random.split(key, 6)
    y = norm(p["own"]["norm"], x)
    x = x + dropout(k[0], attention(p["own"], y, y, biases[0], k[1]))
    if encoded is not None:
        y = norm(p["encoder"]["norm"], x)
        x = x + dropout(k[2], attention(p["encoder"], y, encoded, biases[1], k[3]))
    return x + dropout(k[4], feed_forward(p, norm(p["norm"], x), k[5]))


def stack(p, x, biases, encoded, key):
    keys = jax.random.split(key, LAYERS + 2)
    x = dropout(keys[-1], x)
    one = jax.checkpoint(layer) if args.remat else layer
    if args.layers == "scan":
        step = lambda x, pk: (one(x, pk[0], pk[1], biases, encoded), None)
        x = lax.scan(step, x, (p["layers"], keys[:LAYERS]))[0]
    else:
        for weights, k in zip(p["layers"], keys):
            x = one(x, weights, k, biases, encoded)
    return dropout(keys[-2], norm(p["norm"], x))


def loss_fn(params, batch, key):
    inputs, targets = batch["inputs"], batch["targets"]
    k1, k2 = jax.random.split(key)
    words = lambda ids: params["words"][ids].astype(COMPUTE)
    mask = jnp.where(inputs != 0, 0.0, -1e4)[:, None, None, :]
    encoder, decoder = params["encoder"], params["decoder"]
    encoded = stack(encoder, words(inputs),
                    (position_bias(encoder["distances"], inputs.shape[1], True) + mask,), None, k1)
    told = jnp.pad(targets[:, :-1], ((0, 0), (1, 0)))
    T = targets.shape[1]
    causal = jnp.where(jnp.tril(jnp.ones((T, T))) > 0, 0.0, -1e4)
    own = position_bias(decoder["distances"], T, False) + causal
    x = stack(decoder, words(told), (own, mask), encoded, k2)
    scoring = params["logits"] if GATED else params["words"].T * E**-0.5
    logits = jnp.matmul(x, scoring.astype(x.dtype), preferred_element_type=jnp.float32)
    log_z = jax.nn.logsumexp(logits, axis=-1)
    loss = log_z - jnp.take_along_axis(logits, targets[:, :, None], axis=-1)[..., 0] + Z_LOSS * log_z**2
    weights = (targets != 0).astype(jnp.float32)
    return (loss * weights).sum() / weights.sum()


def train_step(state, batch):
    params, m, v, step = state
    key = jax.random.fold_in(jax.random.key(0), step)
    loss, grads = jax.value_and_grad(loss_fn)(params, batch, key)
    size = jnp.sqrt(sum(jnp.sum(g * g) for g in jax.tree.leaves(grads)))
    scale = 1.0 / jnp.maximum(size, 1.0)
    t = step.astype(jnp.float32) + 1
    rate = 1e-4 * jnp.minimum(t / 100, 1.0)

    def update(p, g, m, v):
        g = g * scale
        m = 0.9 * m + 0.1 * g
        v = 0.999 * v + 0.001 * g * g
        u = (m / (1 - 0.9**t)) / (jnp.sqrt(v / (1 - 0.999**t)) + 1e-8) + 0.01 * p
        return p - rate * u, m, v

    new = jax.tree.map(update, params, grads, m, v)
    pick = lambda i: jax.tree.map(lambda n: n[i], new, is_leaf=lambda n: isinstance(n, tuple))
    return (pick(0), pick(1), pick(2), step + 1), loss


def make_batch(key):
    k1, k2 = jax.random.split(key)
    ids = lambda k, length: jax.random.randint(k, (args.batch, length), 1, VOCAB)
    return {"inputs": ids(k1, args.seq), "targets": ids(k2, args.predictions)}


def main():
    state = jax_harness.adam_state(init(jax.random.key(1)))
    batch = make_batch(jax.random.key(2))
    if args.hlo_out:
        with open(args.hlo_out, "w") as out:
            out.write(jax_harness.lower(train_step, state, batch, args.platform, args.devices))
        return
    jax_harness.measure(train_step, state, batch, args.steps, BEGIN)


main()
