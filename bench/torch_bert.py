#!/usr/bin/env python3
"""Times a BERT pre-training step in PyTorch at its fastest settings, to compare it with smelt.

    python3 bench/torch_bert.py --model base --batch 64 --seq 128

torch.compile, scaled_dot_product_attention (FlashAttention on a GPU), bf16 by autocast, fused AdamW, clipped gradients.
The step is that of bench/jax_bert.py. Prints one line of JSON.
"""
import argparse
import json
import statistics
import time

import torch
import torch.nn.functional as F
from torch import nn

SIZES = {"tiny": (128, 2), "small": (512, 4), "base": (768, 12), "large": (1024, 24)}  # name: hidden, layers
VOCAB, POSITIONS = 30522, 512


def parse_flags():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--model", choices=SIZES, default="base")
    p.add_argument("--batch", type=int, default=8, help="sequences per step")
    p.add_argument("--seq", type=int, default=128, help="tokens per sequence")
    p.add_argument("--predictions", type=int, default=20, help="masked positions per sequence")
    p.add_argument("--steps", type=int, default=5, help="timed steps, after three untimed")
    p.add_argument("--dropout", type=float, default=0.1)
    p.add_argument("--precision", choices=["f32", "bf16"], default="f32")
    p.add_argument("--platform", choices=["cpu", "gpu"], default="cpu")
    p.add_argument("--eager", action="store_true", help="without torch.compile")
    return p.parse_args()


class Layer(nn.Module):
    def __init__(self, hidden, dropout):
        super().__init__()
        self.heads, self.dropout = hidden // 64, dropout
        self.qkv, self.out = nn.Linear(hidden, 3 * hidden), nn.Linear(hidden, hidden)
        self.inner, self.outer = nn.Linear(hidden, 4 * hidden), nn.Linear(4 * hidden, hidden)
        self.norms = nn.ModuleList(nn.LayerNorm(hidden, eps=1e-12) for _ in range(2))

    def forward(self, x, mask):
        q, k, v = (t.unflatten(-1, (self.heads, 64)).transpose(1, 2) for t in self.qkv(x).chunk(3, dim=-1))
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, dropout_p=self.dropout)
        x = self.norms[0](x + F.dropout(self.out(y.transpose(1, 2).flatten(2)), self.dropout))
        y = self.outer(F.gelu(self.inner(x), approximate="tanh"))
        return self.norms[1](x + F.dropout(y, self.dropout))


class Bert(nn.Module):
    def __init__(self, hidden, layers, dropout):
        super().__init__()
        self.words, self.types = nn.Embedding(VOCAB, hidden), nn.Embedding(2, hidden)
        self.positions, self.norm = nn.Embedding(POSITIONS, hidden), nn.LayerNorm(hidden, eps=1e-12)
        self.layers = nn.ModuleList(Layer(hidden, dropout) for _ in range(layers))
        self.pooler, self.nsp = nn.Linear(hidden, hidden), nn.Linear(hidden, 2)
        self.transform, self.transform_norm = nn.Linear(hidden, hidden), nn.LayerNorm(hidden, eps=1e-12)
        self.mlm_bias, self.dropout = nn.Parameter(torch.zeros(VOCAB)), dropout

    def forward(self, batch):
        places = torch.arange(batch["ids"].shape[1], device=batch["ids"].device)
        x = self.words(batch["ids"]) + self.types(batch["types"]) + self.positions(places)
        x = F.dropout(self.norm(x), self.dropout)
        for layer in self.layers:
            x = layer(x, batch.get("mask"))
        picked = x.gather(1, batch["at"][:, :, None].expand(-1, -1, x.shape[-1]))
        h = self.transform_norm(F.gelu(self.transform(picked), approximate="tanh"))
        logits = F.linear(h, self.words.weight.to(h.dtype)) + self.mlm_bias
        mlm = F.cross_entropy(logits.float().flatten(0, 1), batch["labels"].flatten())
        return mlm + F.cross_entropy(self.nsp(self.pooler(x[:, 0]).tanh()).float(), batch["next"])


def make_batch(args, device):
    torch.manual_seed(2)
    ids = lambda limit, *shape: torch.randint(limit, shape, device=device)
    return {"ids": ids(VOCAB, args.batch, args.seq), "types": ids(2, args.batch, args.seq),
            "at": ids(args.seq, args.batch, args.predictions), "labels": ids(VOCAB, args.batch, args.predictions),
            "next": ids(2, args.batch)}  # without a mask: no padding, which is what FlashAttention is fastest at


def main():
    args = parse_flags()
    device = {"gpu": "cuda", "cpu": "cpu"}[args.platform]
    model = Bert(*SIZES[args.model], args.dropout).to(device)
    for weight in model.parameters():
        if weight.dim() == 2:
            nn.init.normal_(weight, std=0.02)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, weight_decay=0.01, fused=True)
    loss_of = model if args.eager else torch.compile(model)
    batch = make_batch(args, device)

    def step():
        begin = time.perf_counter()
        with torch.autocast(device, torch.bfloat16, enabled=args.precision == "bf16"):
            loss = loss_of(batch)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        loss = loss.item()
        if device == "cuda":
            torch.cuda.synchronize()
        return time.perf_counter() - begin, loss

    compile_s = sum(step()[0] for _ in range(3))
    walls, losses = zip(*(step() for _ in range(args.steps)))
    peak = torch.cuda.max_memory_allocated() if device == "cuda" else 0
    print(json.dumps({"torch": torch.__version__, "compile_s": compile_s, "step_s_min": min(walls),
                      "step_s_median": statistics.median(walls), "device_peak_bytes": peak, "last_loss": losses[-1]}))


if __name__ == "__main__":
    main()
