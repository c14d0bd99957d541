"""The parts that the plain JAX steps of bench/jax_*.py share. Import it after JAX_PLATFORMS is set.

A step is a function (state, batch) -> (state, report); a report is the loss, or an array that begins with the loss.
"""
import json
import statistics
import time

import jax
import jax.numpy as jnp


def adam_state(params):
    """Returns the state before the first step: the parameters, two zero slots for each, and the step number."""
    zeros = lambda: jax.tree.map(jnp.zeros_like, params)
    return params, zeros(), zeros(), jnp.int32(0)


def lower(train_step, state, batch, platform, devices):
    """Lowers the step for devices that this machine may lack: the batch is sharded, everything else is replicated."""
    jitted = jax.jit(train_step, donate_argnums=0)
    if devices > 1:
        mesh = jax.make_mesh((devices,), ("data",))
        named = lambda *axes: jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec(*axes))
        jitted = jax.jit(train_step, donate_argnums=0, in_shardings=(named(), named("data")),
                         out_shardings=(named(), named()))
    shapes = lambda tree: jax.tree.map(lambda x: jax.ShapeDtypeStruct(x.shape, x.dtype), tree)
    return jitted.trace(shapes(state), shapes(batch)).lower(lowering_platforms=(platform,)).as_text()


def timed(step, state, batch):
    """Runs a step. Returns the state, the loss, and the wall and processor time in seconds."""
    start, cpu = time.perf_counter(), time.process_time()
    state, report = step(state, batch)
    loss = float(report[0] if report.ndim else report)
    jax.block_until_ready(state)
    return state, loss, (time.perf_counter() - start, time.process_time() - cpu)


def compiled(train_step, state, batch, begin):
    """Compiles the step and runs it once. Returns it, the state, and times; `begin` is the script's start."""
    jax.block_until_ready((state, batch))
    start = time.perf_counter()
    lowered = jax.jit(train_step, donate_argnums=0).lower(state, batch)
    traced = time.perf_counter()
    step = lowered.compile()
    ready = time.perf_counter()
    state, loss, (first, _) = timed(step, state, batch)
    return step, state, {"start_s": ready - begin, "trace_s": traced - start, "compile_s": ready - traced,
                         "first_step_s": first, "loss": loss}


def measure(train_step, state, batch, steps, begin):
    """Compiles the step, times it `steps` times after one untimed run, and prints the figures as one line of JSON."""
    step, state, times = compiled(train_step, state, batch, begin)
    walls, cpus = [], []
    for _ in range(steps):
        state, loss, (wall, cpu) = timed(step, state, batch)
        walls.append(wall)
        cpus.append(cpu)
    print(json.dumps({"jax": jax.__version__, **times, "step_s_min": min(walls),
                      "step_s_median": statistics.median(walls), "step_cpu_s_min": min(cpus), "steps": steps,
                      "last_loss": loss}))
