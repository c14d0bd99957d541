import itertools
import os
import pickle
import subprocess
import unittest

import numpy as np

import data
import smelt_lm
from smelt_lm import Batches, Tokenizer, UsageError


def numbers(batch):
    """Returns the numbers of the examples in a batch."""
    return [int(row[0]) for row in batch["masked_lm_ids"]]


class BatchesTest(unittest.TestCase):
    def test_an_epoch_has_every_example_once_and_any_step_can_be_read(self):
        batches = Batches(data.RECORDS, batch_size=13, seed=1)
        self.assertEqual((batches.examples, len(batches.files)), (13, 2))
        in_order = sorted(numbers(Batches(data.RECORDS, batch_size=13, order="file")[0]))
        first, second = itertools.islice(batches, 2)
        self.assertEqual(sorted(numbers(first)), in_order)
        self.assertEqual(sorted(numbers(second)), in_order)
        self.assertNotEqual(numbers(first), numbers(second))
        self.assertEqual(numbers(batches[1]), numbers(second))
        resumed = Batches(data.RECORDS, batch_size=13, seed=1, start_step=1)
        self.assertEqual(numbers(next(iter(resumed))), numbers(second))

    def test_arrays_are_read_only_and_outlive_the_batches(self):
        batch = Batches(data.RECORDS, batch_size=4)[0]
        self.assertEqual(batch["input_ids"].dtype, np.int32)
        self.assertEqual(batch["input_ids"].shape, (4, 8))
        self.assertEqual(batch["masked_lm_weights"].dtype, np.float32)
        self.assertEqual(batch["next_sentence_labels"].shape, (4,))
        self.assertFalse(batch["input_ids"].flags.writeable)

    def test_file_order_makes_one_pass(self):
        self.assertEqual(len(list(Batches(data.RECORDS, batch_size=4, order="file"))), 3)

    def test_hosts_share_a_batch(self):
        whole = numbers(Batches(data.RECORDS, batch_size=4)[2])
        parts = [numbers(Batches(data.RECORDS, batch_size=4, host=host, hosts=2)[2]) for host in range(2)]
        self.assertEqual(parts[0] + parts[1], whole)

    def test_features_can_be_selected(self):
        batches = Batches(data.RECORDS, batch_size=2, features=["input_ids"])
        self.assertEqual(list(batches[0]), ["input_ids"])
        self.assertEqual(list(Batches(data.RECORDS, batch_size=2, features=["input_ids", "input_ids"])[0]), ["input_ids"])
        self.assertEqual(batches.features, [{"name": "input_ids", "dtype": "int32", "shape": [8]}])

    def test_windows_of_a_token_store_are_its_tokens(self):
        text, store = os.path.join(data.DATA, "tokens.txt"), os.path.join(data.DATA, "x.tokens")
        with open(text, "w", encoding="utf-8") as file:
            file.write("cat dog cats\ndog dog cat ü\n\ncat cat\n")
        subprocess.run([smelt_lm.program(), "data", "tokens", "--input", text, "--vocab", data.vocabulary(), "--out", store],
                       check=True, capture_output=True)
        ids = Tokenizer(data.vocabulary()).ragged(["cat dog cats dog dog cat ü"]).ids
        batches = Batches(store, 2, window=4, order="file")
        self.assertEqual(batches[0]["targets"].reshape(-1).tolist(), ids.tolist())

    def test_pickles_and_works_after_a_fork(self):
        batches = Batches(data.RECORDS, batch_size=4, seed=3, start_step=5)
        copy = pickle.loads(pickle.dumps(batches))
        self.assertEqual(numbers(next(iter(copy))), numbers(batches[5]))
        child = os.fork()
        if child == 0:
            os._exit(0 if numbers(batches[5]) == numbers(copy[5]) else 1)
        self.assertEqual(os.waitpid(child, 0)[1], 0)

    def test_errors_have_hints(self):
        cases = [
            (lambda: Batches("none-*.tfrecord", 4), "none-*.tfrecord", ""),
            (lambda: Batches(data.RECORDS, 0), "batch_size is 0", "at least 1"),
            (lambda: Batches(data.RECORDS, 4)[-1], "step is -1", "begin with 0"),
            (lambda: Batches(data.RECORDS, 4, order="random"), "order 'random' is unknown", "known: training, file"),
            (lambda: Batches(data.RECORDS, 4, features=["ids"]), "no numeric feature 'ids'", "input_ids"),
            (lambda: Batches(data.RECORDS, 4, window=8), "window is for token stores", "remove window"),
            (lambda: Batches(data.RECORDS, 4, lengths=[4, 8]), "belong together", "pass both"),
            (lambda: Batches(data.RECORDS, 4, host=2, hosts=2), "host is 2, hosts is 2", "from 0"),
        ]
        for call, what, hint in cases:
            with self.assertRaises(UsageError) as caught:
                call()
            self.assertIn(what, caught.exception.what)
            self.assertIn(hint, caught.exception.hint)


if __name__ == "__main__":
    unittest.main()
