#!/usr/bin/env python3
"""Times pre-training steps of JEstimator's BERT-base with Amos of smelt and of JAX in turns, as bench/bert_step.py does BERT's."""
from bert_step import main

main("jax_jestimator.py", model="jestimator-base", optimizer="amos")
