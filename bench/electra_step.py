#!/usr/bin/env python3
"""Times ELECTRA-small pre-training steps of smelt and of JAX in turns, as bench/bert_step.py does BERT's."""
from bert_step import main

main("jax_electra.py", model="electra-small", batch=32)
