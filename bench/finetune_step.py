#!/usr/bin/env python3
"""Times fine-tuning steps of a BERT-base with two classes of smelt and JAX, like bench/bert_step.py."""
from bert_step import main

main("jax_bert.py", batch=32, classes=2)
