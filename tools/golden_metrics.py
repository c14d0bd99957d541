#!/usr/bin/env python3
"""Golden scores of synthetic predictions, by scikit-learn, scipy, seqeval, sacrebleu, rouge-score and NLTK.

    python -m venv oracles && oracles/bin/pip install scikit-learn==1.9.1 scipy==1.17.1 seqeval==1.2.2 sacrebleu==2.6.0 rouge-score==0.1.2 nltk==3.10.4
    oracles/bin/python tools/golden_metrics.py

Writes tests/golden/metrics.json with one group of cases per line.
"""
import json
import random
from pathlib import Path

import numpy as np
import sacrebleu
from nltk.stem.porter import PorterStemmer
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
        case["by_class"] = list(zip(*(map(float, row) for row in sk.precision_recall_fscore_support(
            wanted, predicted, labels=range(len(NAMES)), zero_division=0)[:3])))
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


def probabilities(draw):
    """In the last case one class has no examples: the macro mean is undefined, but the weighted mean is defined."""
    out = []
    for classes, n, wanted_classes in [(2, 30, 2), (3, 40, 3), (5, 60, 5), (4, 30, 3)]:
        wanted = [i if i < wanted_classes else draw.choice([0, draw.randrange(wanted_classes)]) for i in range(n)]
        rows = []
        for w in wanted:
            counts = [draw.randrange(4) + (1 if c == w else 0) for c in range(classes)]
            rows.append([c / (sum(counts) or 1) for c in counts] if sum(counts) else [1 / classes] * classes)
        is_so = np.eye(classes)[wanted]
        auc = {}
        for kind in ("macro", "weighted"):
            value = (sk.roc_auc_score(wanted, rows, multi_class="ovr", average=kind, labels=range(classes)) if classes > 2
                     else sk.roc_auc_score(is_so, rows, average=kind))
            auc[kind] = None if np.isnan(value) else value
        out.append({"probabilities": rows, "wanted": wanted, **auc})
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


def stems(draw):
    """Draws words that exercise every rule of the stemmer: roots with endings, and NLTK's exceptions."""
    words = """sky skies dying lying tying news innings howe proceed ties dies flies caress caresses ponies cats feed agreed plastered bled motoring
        sing conflated troubled sized hopping tanned falling hissing fizzed failing filing happy enjoy spy say spied died relational conditional rational
        valency hesitancy digitizer conformably radically differently vilely analogously vietnamization predication operator feudalism decisiveness hopefulness
        callousness formality sensitivity sensibility hopefully geology theology logic analogy triplicate formative formalize electricity electrical hopeful
        goodness revival allowance inference airliner gyroscopic adjustable defensible irritant replacement adjustment dependent adoption decision opinion
        homologous communism activate angularity effective bowdlerize probate rate cease controlling roll rolled yyyy syzygy toy yes tray ied eed ing
        ion sion ll ally alli bli a1ed 1990s x2ing as us aed oxing axed ability eying""".split()
    roots = ["act", "hop", "fall", "gener", "oper", "rel", "tr", "y", "by", "argu", "iz", "bl", "controll", "nat", "decis", "geo", "ow", "e", "ax"]
    ends = ("s sses ies ss eed ed ing ated bled izing y ly ational tional ency ancy izer ably ally ently ely ously ization ation ator alism iveness fulness "
            "ousness ality ivity ability fully logy icate ative alize icity ical ful ness al ance ence er ic able ible ant ement ment ent sion tion gion ou ism ate "
            "ity ous ive ize e ll le").split(" ")
    words += sorted({root + end for root in roots for end in ends if draw.random() < .5})
    return dict(zip(words, map(PorterStemmer().stem, words)))


def summaries(draw):
    words = "cats cat sat sitting sits mats mat the of relational relate happily happy 1990s on, and, running ran".split()
    line = lambda: " ".join(draw.choice(words) for _ in range(draw.randrange(0, 7))) + draw.choice(["", ".", " "])
    rows = [["", "the cat"], ["the cat", "\n.\n"], ["a\n\nb", "b\na"]]
    rows += [["\n".join(line() for _ in range(draw.randrange(1, 5))) for _ in range(2)] for _ in range(20)]
    kinds = ["rouge1", "rouge2", "rougeL", "rougeLsum"]
    return [{"predicted": text, "wanted": wanted,
             "plain": {k: list(v) for k, v in RougeScorer(kinds).score(wanted, text).items()},
             "stems": {k: list(v) for k, v in RougeScorer(kinds, use_stemmer=True).score(wanted, text).items()}}
            for text, wanted in rows]


def main():
    draw = random.Random(24)
    facts = {"made_by": "tools/golden_metrics.py", "names": NAMES, "classes": classes(draw), "numbers": numbers(draw),
             "entities": entities(draw), "texts": texts(draw), "stems": stems(draw), "summaries": summaries(draw),
             "probabilities": probabilities(draw),
             "mcnemar": [[a, b, stats.binomtest(min(a, b), a + b).pvalue] for a, b in [(1, 9), (3, 3), (40, 62)]]}
    lines = [f"{json.dumps(key)}: {json.dumps(value)}" for key, value in facts.items()]
    (GOLDEN / "metrics.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")


main()
