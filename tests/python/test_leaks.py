import gc
import unittest

import data
from smelt_lm import Model, Tokenizer, UsageError, _server


def resident(pid):
    """Returns the memory of a process in bytes."""
    with open(f"/proc/{pid}/statm") as file:
        return int(file.read().split()[1]) * 4096


class Tokenizers(unittest.TestCase):
    def test_1000_tokenizers_leave_no_memory(self):
        def load(count):
            for _ in range(count):
                Tokenizer(data.vocabulary())(["cat dog"] * 10, padding=True)
                with self.assertRaises(UsageError):
                    Tokenizer("no-such.txt")

        load(200)
        before = resident("self")
        load(1000)
        self.assertLess(resident("self") - before, 4 << 20)  # a leaked tokenizer would be at least 5 kB


class Models(unittest.TestCase):
    def test_1000_models_leave_no_memory(self):
        def load(count):
            for i in range(count):
                model = Model.load(data.model("classes"), "cpu")
                if i % 2:  # the others are closed when nothing refers to them
                    model.close()
            gc.collect()

        load(100)
        server = _server.server().process.pid
        before = resident("self"), resident(server)
        load(1000)
        self.assertLess(resident("self") - before[0], 4 << 20)
        self.assertLess(resident(server) - before[1], 8 << 20)


if __name__ == "__main__":
    unittest.main()
