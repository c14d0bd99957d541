#!/usr/bin/env python3
"""Times training steps of T5-small with AdamW of smelt and JAX, as bench/bert_step.py does for BERT."""
from bert_step import main

main("jax_t5.py", model="t5-small", optimizer="adamw", seq=256, predictions=64)
