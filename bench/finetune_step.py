#!/usr/bin/env python3
"""Times fine-tuning steps of a BERT-base that tells two classes apart, of smelt and of JAX in turns, as bench/bert_step.py does."""
from bert_step import main

main("jax_bert.py", batch=32, classes=2)
