#!/usr/bin/env python3
"""Times ELECTRA-small pre-training steps of smelt and JAX, as bench/bert_step.py does for BERT."""
from bert_step import main

main("jax_electra.py", model="electra-small", batch=32)
