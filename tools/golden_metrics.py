#!/usr/bin/env python3
"""Golden scores of made-up predictions, by scikit-learn, scipy, seqeval, sacrebleu and rouge-score.

    python -m venv oracles && oracles/bin/pip install scikit-learn==1.9.1 scipy==1.17.1 seqeval==1.2.2 sacrebleu==2.6.0 rouge-score==0.1.2
    oracles/bin/python tools/golden_metrics.py

Writes tests/golden/metrics.json, one group of cases a line.
"""
import json
import random
from pathlib import Path

import sacrebleu
from rouge_score.rouge_scorer import RougeScorer
from scipy import stats
from seqeval import metrics as seqeval
from sklearn import metrics as sk

GOLDEN = Path(__file__).resolve().parent.parent / "tests" / "golden"
NAMES = ["böse", "informative", "not informative", "other"]
WORDS = ("The a cat sat, mat. on-site 3.5 1,000 10-year &amp; &lt;b&gt; it's (so) “quoted” naïve 東京 İstanbul end! {x} a/b "
         "co-\nop <skipped> .5 U.S. $4 STRASSE Σας x_y").split(" ")


def classes(draw):
    out = []
    for classes, n in [(2, 30), (4, 60), (3, 5), (4, 12)]:
        wanted = [draw.randrange(classes) for _ in range(n)]
        predicted = [w if draw.random() < .6 else draw.randrange(classes) for w in wanted]
        case = {"predicted": predicted, "wanted": wanted, "accuracy": sk.accuracy_score(wanted, predicted),
                "matthews": sk.matthews_corrcoef(wanted, predicted)}
        for kind in ("macro", "micro", "weighted"):
            case[kind] = list(sk.precision_recall_fscore_support(wanted, predicted, average=kind, zero_division=0)[:3])
        there = sorted(set(wanted) | set(predicted))
        case["report"] = sk.classification_report(wanted, predicted, labels=there, target_names=[NAMES[c] for c in there],
                                                  zero_division=0)
        out.append(case)
    return out


def numbers(draw):
    out = []
    for n in (5, 40):
        wanted = [round(draw.gauss(0, 1), 1) for _ in range(n)]
        predicted = [round(w + draw.gauss(0, 1), 1) for w in wanted]
        positive = [int(w > 0) for w in wanted]
        out.append({"predicted": predicted, "wanted": wanted, "pearson": stats.pearsonr(predicted, wanted)[0],
                    "spearman": stats.spearmanr(predicted, wanted)[0], "mse": sk.mean_squared_error(wanted, predicted),
                    "positive": positive, "auc": sk.roc_auc_score(positive, predicted)})
    return out


def entities(draw):
    labels = ["O", "O", "B-PER", "I-PER", "E-PER", "S-PER", "B-LOC-x", "I-LOC-x", "I-ORG", "S"]
    wanted = [[draw.choice(labels) for _ in range(draw.randrange(1, 9))] for _ in range(40)]
    predicted = [[w if draw.random() < .7 else draw.choice(labels) for w in row] for row in wanted]
    case = {"predicted": predicted, "wanted": wanted}
    for kind in ("macro", "micro", "weighted"):
        case[kind] = [score(wanted, predicted, average=kind, zero_division=0)
                      for score in (seqeval.precision_score, seqeval.recall_score, seqeval.f1_score)]
    return case


def texts(draw):
    scorer = RougeScorer(["rouge1", "rouge2", "rougeL"])
    rows = []
    for _ in range(24):
        references = [" ".join(draw.choice(WORDS) for _ in range(draw.randrange(1, 14))) for _ in range(2)]
        text = " ".join(w for w in references[0].split(" ") if draw.random() < .8) + draw.choice([" ", "", ".", " end"])
        rouge = scorer.score(references[0], text)
        rows.append({"predicted": text, "wanted": references, "rouge": {k: list(v) for k, v in rouge.items()},
                     "bleu": sacrebleu.corpus_bleu([text], [[r] for r in references]).score})
    predicted = [row["predicted"] for row in rows]
    return {"rows": rows, "bleu": [sacrebleu.corpus_bleu(predicted, [[row["wanted"][i] for row in rows] for i in range(n)]).score
                                   for n in (1, 2)]}


def main():
    draw = random.Random(24)
    facts = {"made_by": "tools/golden_metrics.py", "names": NAMES, "classes": classes(draw), "numbers": numbers(draw),
             "entities": entities(draw), "texts": texts(draw),
             "mcnemar": [[a, b, stats.binomtest(min(a, b), a + b).pvalue] for a, b in [(1, 9), (3, 3), (40, 62)]]}
    lines = [f"{json.dumps(key)}: {json.dumps(value)}" for key, value in facts.items()]
    (GOLDEN / "metrics.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")


main()
