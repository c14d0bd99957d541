#!/usr/bin/env python3
"""Times pre-training steps of JEstimator's BERT-base with Amos of smelt and JAX, like bench/bert_step.py."""
from bert_step import main

main("jax_jestimator.py", model="jestimator-base", optimizer="amos")
