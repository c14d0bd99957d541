#!/usr/bin/env python3
"""Times ModernBERT pre-training steps of smelt and JAX on this machine and prints the ratio; see bench/bert_step.py."""
import bert_step

bert_step.main("jax_modernbert.py", model="modernbert-small", batch=4, seq=1024, steps=3, rounds=2)
