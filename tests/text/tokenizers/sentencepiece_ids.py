"""Trains a model with Google's sentencepiece and tokenizes the training texts with it.

    python sentencepiece_ids.py TYPE TEXTS OUT

TYPE is unigram or bpe; each line of TEXTS is a JSON string. Writes OUT.model, and to OUT for each text its ids, its
pieces, its offsets in bytes and the decoded ids.
"""
import json
import sys

import sentencepiece
from sentencepiece.sentencepiece_pb2 import SentencePieceText


def main():
    kind, texts, out = sys.argv[1:]
    with open(texts, encoding="utf-8") as file:
        lines = [json.loads(line) for line in file]
    sentencepiece.SentencePieceTrainer.train(sentence_iterator=iter(lines), model_prefix=out, model_type=kind,
                                             vocab_size=1500, character_coverage=0.98, minloglevel=2)
    model = sentencepiece.SentencePieceProcessor(model_file=out + ".model")
    with open(out, "w", encoding="utf-8") as result:
        for text in lines:
            pieces = SentencePieceText.FromString(model.encode(text, out_type="serialized_proto")).pieces
            offsets = [[piece.begin, piece.end] for piece in pieces]
            ids = [piece.id for piece in pieces]
            print(json.dumps({"ids": ids, "pieces": [piece.piece for piece in pieces], "offsets": offsets,
                              "text": model.decode(ids)}), file=result)


if __name__ == "__main__":
    main()
