"""A product that learns as codes of eight bits would give it, in JAX, and its gradients.

python tools/fake_quant_twin.py IN OUT

IN holds x f32 [T,I], kernel f32 [I,O] and cotangent f32 [T,O]; OUT gets y = q(x) q(kernel) [T,O], and of sum(y cotangent) the
gradients dx and dkernel. q of a row of x: s = max(max|x| / 127, 2^-23), s round(x / s); of an output of the kernel: s =
max(max|w| / 127.5, 2^-23), s min(round(w / s), 127); both round half to even and are a + stop_gradient(q(a) - a) to
differentiation. Fails unless TensorFlow's fake_quant_with_min_max_vars_per_channel gives the same q for these scales.
"""
import sys

import jax
import jax.numpy as jnp
import numpy as np
import tensorflow as tf
from safetensors.numpy import load_file, save_file

LEAST = np.float32(2**-23)


def through(a, q):
    return a + jax.lax.stop_gradient(q - a)


def scales_of(x, kernel):
    return (jnp.maximum(jnp.abs(x).max(1, keepdims=True) / np.float32(127), LEAST),
            jnp.maximum(jnp.abs(kernel).max(0, keepdims=True) / np.float32(127.5), LEAST))


def rounded(x, kernel):
    of_x, of_kernel = scales_of(x, kernel)
    return (through(x, jnp.round(x / of_x) * of_x),
            through(kernel, jnp.minimum(jnp.round(kernel / of_kernel), 127) * of_kernel))


def product(x, kernel):
    qx, qk = rounded(x, kernel)
    return jnp.matmul(qx, qk, precision="highest")


def check_by_tensorflow(x, kernel):
    of_x, of_kernel = (np.asarray(s).ravel() for s in scales_of(x, kernel))
    qx, qk = rounded(x, kernel)
    fake = tf.quantization.fake_quant_with_min_max_vars_per_channel
    np.testing.assert_allclose(fake(x.T, -127 * of_x, 127 * of_x, narrow_range=True).numpy().T, qx, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(fake(kernel, -128 * of_kernel, 127 * of_kernel), qk, rtol=1e-5, atol=1e-6)


def main():
    given = load_file(sys.argv[1])
    x, kernel = given["x"], given["kernel"]
    check_by_tensorflow(x, kernel)
    y, pull = jax.vjp(product, x, kernel)
    dx, dkernel = pull(jnp.asarray(given["cotangent"]))
    save_file({"y": np.asarray(y), "dx": np.asarray(dx), "dkernel": np.asarray(dkernel)}, sys.argv[2])


if __name__ == "__main__":
    main()
