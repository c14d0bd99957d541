"""Computes a matmul with fake int8 quantization, and its gradients, in JAX.

python tools/fake_quant_twin.py IN OUT

IN contains x f32 [T,I], kernel f32 [I,O] and cotangent f32 [T,O]. OUT gets y = q(x) q(kernel) [T,O], and the gradients
dx and dkernel of sum(y cotangent). For a row of x, q(x) = s round(x / s) with s = max(max|x| / 127, 2^-23); for an
output of the kernel, q(w) = s min(round(w / s), 127) with s = max(max|w| / 127.5, 2^-23). Both round half to even, and
gradients pass straight through: a + stop_gradient(q(a) - a). Fails unless TensorFlow's
fake_quant_with_min_max_vars_per_channel gives the same q for these scales. The only exception is an output's largest
weight if it is negative, -127.5 s: TensorFlow rounds this tie up.
"""
import sys

import jax
import jax.numpy as jnp
import numpy as np
import tensorflow as tf
from safetensors.numpy import load_file, save_file

LEAST = np.float32(2**-23)


def scales_of(x, kernel):
    return (np.maximum(np.abs(x).max(1, keepdims=True) / np.float32(127), LEAST),
            np.maximum(np.abs(kernel).max(0, keepdims=True) / np.float32(127.5), LEAST))


# In numpy, because XLA may multiply by a reciprocal, which changes ties.
def rounded(x, kernel):
    of_x, of_kernel = scales_of(x, kernel)
    return np.rint(x / of_x) * of_x, np.minimum(np.rint(kernel / of_kernel), 127) * of_kernel


def through(a, q):
    return a + jax.lax.stop_gradient(q - a)


def check_by_tensorflow(x, kernel):
    qx, qk = rounded(x, kernel)
    of_x, of_kernel = (s.ravel() for s in scales_of(x, kernel))
    fake = tf.quantization.fake_quant_with_min_max_vars_per_channel
    np.testing.assert_allclose(fake(x.T, -127 * of_x, 127 * of_x, narrow_range=True).numpy().T, qx, rtol=1e-5, atol=1e-6)
    no_tie = np.abs(kernel / of_kernel + 127.5) > 1e-3
    np.testing.assert_allclose(fake(kernel, -128 * of_kernel, 127 * of_kernel)[no_tie], qk[no_tie], rtol=1e-5, atol=1e-6)


def main():
    given = load_file(sys.argv[1])
    x, kernel = given["x"], given["kernel"]
    check_by_tensorflow(x, kernel)
    qx, qk = rounded(x, kernel)
    y, pull = jax.vjp(lambda x, kernel: jnp.matmul(through(x, qx), through(kernel, qk), precision="highest"), x, kernel)
    dx, dkernel = pull(jnp.asarray(given["cotangent"]))
    save_file({"y": np.asarray(y), "dx": np.asarray(dx), "dkernel": np.asarray(dkernel)}, sys.argv[2])


if __name__ == "__main__":
    main()
