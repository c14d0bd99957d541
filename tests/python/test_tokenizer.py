import os
import pickle
import random
import threading
import unittest

import numpy as np
import tokenizers

import data
import smelt_lm
from smelt_lm import Tokenizer, UsageError

ENGLISH = ["the cat sees a dog", "", "cats   and dogs.", "Ünïted naïve café 3.14", "日本語 text", "a" * 300, "tab\tand\nline"]


def wordpiece(path):
    """Returns the tokenizer of Hugging Face for a vocab.txt."""
    return tokenizers.BertWordPieceTokenizer(path, lowercase=True)


class Longer(str):
    """A text whose length is wrong."""

    def __len__(self):
        return 400


class Ids(unittest.TestCase):
    """The ids are those of Hugging Face's tokenizers."""

    def setUp(self):
        letters = "abcdefghijklmnopqrstuvwxyz0123456789.日本語é"
        words = ["the", "cat", "dog", "sees", "and", "##s", "text", "nai", "##ve", "caf", "##e"]
        self.path = os.path.join(data.DATA, "ids-vocab.txt")
        with open(self.path, "w", encoding="utf-8") as file:
            file.write("\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *words, *letters, *("##" + c for c in letters)]) + "\n")
        self.ours = Tokenizer(self.path, lower_case=True)
        self.theirs = wordpiece(self.path)
        draw = random.Random(1)
        self.texts = ENGLISH + [" ".join(draw.choice(words + ["zebra", "Ünknown", "a.b", "日本"]) for _ in range(draw.randrange(40)))
                                for _ in range(2000)]

    def test_ascii_and_other_texts_have_the_same_ids_together_and_alone(self):
        tokenizer = Tokenizer(data.vocabulary())
        for texts in (["cat", "", "dog cat"] * 30, [Longer("cat"), "dog"], ["cat dogs"] * 70 + ["d\u00fcg \u00fc"], ["\u00fc"] + ["cat"] * 70, ["cat\0dog", "cat"]):
            ids = [row.tolist() for row in tokenizer.ragged(texts).rows()]
            self.assertEqual(ids, [tokenizer.ragged([str(text)]).ids.tolist() for text in texts])

    def test_ids_equal_those_of_tokenizers(self):
        want = [e.ids for e in self.theirs.encode_batch(self.texts)]
        got = self.ours(self.texts)
        self.assertEqual([ids.tolist() for ids in got["input_ids"]], want)
        ids, starts = self.ours.ragged(self.texts)
        bare = [e.ids for e in self.theirs.encode_batch(self.texts, add_special_tokens=False)]
        self.assertEqual([ids[a:b].tolist() for a, b in zip(starts, starts[1:])], bare)
        self.assertEqual([row.tolist() for row in smelt_lm.Ragged(ids, starts).rows()], bare)

    def test_pairs_segments_offsets_and_truncation_equal_those_of_tokenizers(self):
        pairs = list(zip(self.texts[:400], self.texts[400:800]))
        self.theirs.enable_truncation(16, strategy="longest_first")
        want = self.theirs.encode_batch(pairs)
        got = self.ours([a for a, _ in pairs], [b for _, b in pairs], truncation=True, max_length=16, offsets=True)
        for i, encoding in enumerate(want):
            if len(encoding.ids) == 16:  # the libraries differ in which text keeps an odd token
                continue
            self.assertEqual(got["input_ids"][i].tolist(), encoding.ids)
            self.assertEqual(got["token_type_ids"][i].tolist(), encoding.type_ids)
            self.assertEqual([tuple(o) for o in got["offset_mapping"][i].tolist()], encoding.offsets)
        single = self.ours(self.texts, truncation=True, max_length=7)
        self.theirs.enable_truncation(7)
        self.assertEqual([ids.tolist() for ids in single["input_ids"]], [e.ids for e in self.theirs.encode_batch(self.texts)])

    def test_padding_equals_that_of_tokenizers(self):
        self.theirs.enable_padding()
        want = self.theirs.encode_batch(self.texts)
        got = self.ours(self.texts, padding=True)
        self.assertEqual(got["input_ids"].tolist(), [e.ids for e in want])
        self.assertEqual(got["attention_mask"].tolist(), [e.attention_mask for e in want])
        self.assertEqual(self.ours(["cat"], padding="max_length", max_length=9)["input_ids"].shape, (1, 9))
        self.assertEqual(self.ours([], padding=True)["input_ids"].shape, (0, 0))

    def test_decode_equals_that_of_tokenizers(self):
        ids = self.ours.ragged(["the cats and dogs"]).ids.tolist()
        self.assertEqual(self.ours.decode(ids), self.theirs.decode(ids, skip_special_tokens=False))
        self.assertEqual(self.ours.decode([2, *ids, 3], skip_special_tokens=True), self.ours.decode(ids))


class SentencePiece(unittest.TestCase):
    def test_a_t5_gets_its_end_token(self):
        tokenizer = Tokenizer(data.model("text"))
        self.assertEqual(tokenizer.kind, "sentencepiece")
        ids = tokenizer("a")["input_ids"].tolist()
        self.assertEqual(ids[-1], tokenizer.end_id)
        self.assertEqual(ids[:-1], tokenizer.ragged(["a"]).ids.tolist())


class Behaviour(unittest.TestCase):
    def setUp(self):
        self.tokenizer = Tokenizer(data.vocabulary())

    def test_one_text_gives_flat_arrays(self):
        encoding = self.tokenizer("cat dog", offsets=True)
        self.assertEqual(encoding.input_ids.tolist(), [2, 5, 6, 3])
        self.assertEqual(encoding["offset_mapping"].tolist(), [[0, 0], [0, 3], [4, 7], [0, 0]])
        self.assertEqual(sorted(encoding), ["attention_mask", "input_ids", "offset_mapping", "token_type_ids"])
        self.assertEqual(self.tokenizer.tokenize("cats dog"), ["cat", "##s", "dog"])
        self.assertEqual(len(self.tokenizer), 10)
        self.assertEqual((self.tokenizer.pad_id, self.tokenizer.cls_id, self.tokenizer.sep_id, self.tokenizer.mask_id), (0, 2, 3, 4))

    def test_offsets_are_characters(self):
        self.assertEqual(self.tokenizer("ü cat", offsets=True, special_tokens=False)["offset_mapping"].tolist(), [[0, 1], [2, 5]])

    def test_arrays_are_views_that_outlive_the_tokenizer(self):
        ids = Tokenizer(data.vocabulary()).ragged(["cat dog"] * 1000).ids
        self.assertFalse(ids.flags.writeable)
        self.assertFalse(ids.flags.owndata)
        self.assertEqual(ids.sum(), 11000)
        self.assertEqual(ids.dtype, np.int32)

    def test_errors_have_hints(self):
        cases = [
            (lambda: Tokenizer("no-such.txt"), "no-such.txt", "check the path"),
            (lambda: Tokenizer(data.DATA), "has no vocab.txt", "name the vocabulary's file"),
            (lambda: self.tokenizer(["cat", None]), "texts[1] is NoneType None", "remove missing values"),
            (lambda: self.tokenizer.ragged(["cat", None]), "texts[1] is NoneType None", "remove missing values"),
            (lambda: self.tokenizer.ragged(["cat", b"dog"]), "texts[1] is bytes", "str()"),
            (lambda: self.tokenizer.ragged(["ä"] * 70 + [None]), "texts[70] is NoneType None", "remove missing values"),
            (lambda: self.tokenizer.ragged("cat"), "texts is one string", "pass [texts]"),
            (lambda: self.tokenizer(["a"], ["b", "c"]), "2 pairs for 1 texts", "one pair"),
            (lambda: self.tokenizer("a", truncation=True), "max_length is missing", "pass max_length"),
            (lambda: self.tokenizer("a", padding="left"), "padding is 'left'", "'longest'"),
            (lambda: self.tokenizer("a", truncation=True, max_length=2), "max_length is 2", "raise max_length"),
            (lambda: self.tokenizer(["\ud800"]), "texts[0] has a surrogate", "UTF-8"),
            (lambda: self.tokenizer.decode([99]), "no id 99", "decode with the vocabulary"),
        ]
        for call, what, hint in cases:
            with self.assertRaises(UsageError) as caught:
                call()
            self.assertIn(what, caught.exception.what)
            self.assertIn(hint, caught.exception.hint)
            self.assertIsInstance(caught.exception, ValueError)

    def test_pickles(self):
        copy = pickle.loads(pickle.dumps(self.tokenizer))
        self.assertEqual(copy("cat").input_ids.tolist(), [2, 5, 3])

    def test_threads_share_a_tokenizer(self):
        texts = ["cat dog cats"] * 5000
        want = self.tokenizer.ragged(texts).ids.tolist()
        wrong = []

        def work(number):
            for _ in range(5):
                if self.tokenizer.ragged(texts).ids.tolist() != want:
                    wrong.append(number)
                try:
                    self.tokenizer.decode([1000 + number])
                except UsageError as error:
                    if str(1000 + number) not in error.what:  # the error of another thread
                        wrong.append(error.what)

        threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])

    def test_a_forked_process_encodes(self):
        self.tokenizer.ragged(["cat dog"] * 20000)  # starts threads, which end before it returns
        child = os.fork()
        if child == 0:
            os._exit(0 if self.tokenizer.ragged(["cat dog"] * 20000).ids.sum() == 220000 else 1)
        self.assertEqual(os.waitpid(child, 0)[1], 0)

    def test_ctrl_c_stops_a_long_call(self):
        done = data.python(f"""
import os, signal, threading, time
from smelt_lm import Tokenizer
signal.signal(signal.SIGINT, signal.default_int_handler)  # it may be ignored, as in a background process
tokenizer = Tokenizer({data.vocabulary()!r})
texts = ["cat dog cats dogs " * 20] * 100000
threading.Timer(1.0, os.kill, (os.getpid(), signal.SIGINT)).start()
start = time.monotonic()
try:
    while time.monotonic() - start < 30:
        tokenizer.ragged(texts)
    print("not stopped")
except KeyboardInterrupt:
    print("stopped", tokenizer.tokenize("cat"))
""")
        self.assertEqual(done.stdout, "stopped ['cat']\n", done.stderr)


if __name__ == "__main__":
    unittest.main()
