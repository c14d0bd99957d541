"""Checks `smelt serve` over pipes: serve_pipes.py CASE SMELT FOLDER. FOLDER has the models of write_inference_folders()."""
import json
import os
import signal
import struct
import subprocess
import sys
import time

CASE, SMELT, FOLDER = sys.argv[1:]
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))


class Serve:
    def __init__(self):
        self.process = subprocess.Popen([SMELT, "serve"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, env={**os.environ, "HF_HUB_OFFLINE": "1"})
        hello = self.line()
        assert hello["protocol"] == 1 and hello["smelt"], hello
        self.events = []

    def line(self):
        return json.loads(self.process.stdout.readline())

    def send(self, **request):
        self.process.stdin.write(json.dumps(request).encode() + b"\n")
        self.process.stdin.flush()

    def reply(self, number):
        """Returns the answer or error of a request, with its arrays."""
        while "event" in (got := self.line()):
            self.events.append(got)
        assert got["id"] == number, got
        for array in got.get("arrays", []):
            data = self.process.stdout.read(array["bytes"])
            array["values"] = struct.unpack(f"<{len(data) // 4}f", data)
        return got

    def ask(self, do, **fields):
        self.send(id=do, do=do, **fields)
        return self.reply(do)

    def load(self, name):
        return self.ask("load", path=os.path.join(FOLDER, name))["answer"]

    def end(self):
        self.process.stdin.close()
        status = self.process.wait(timeout=20)
        return status, self.process.stderr.read().decode()


def printed(*arguments):
    """Returns the JSON lines that a command prints."""
    out = subprocess.run([SMELT, *arguments, "--json"], check=True, capture_output=True, text=True).stdout
    return [json.loads(line) for line in out.splitlines()]


def check_predictions():
    serve = Serve()
    model = serve.load("mask")
    assert model["model"] == 1 and "fill_mask" in model["tasks"] and "classify" not in model["tasks"], model
    got = serve.ask("fill_mask", model=1, texts=["word7 [MASK] word30"], top=3)["answer"]["texts"]
    want = printed("fill", f"{FOLDER}/mask", "--text", "word7 [MASK] word30", "--top", "3")
    assert got == [want[0]["masks"]], (got, want)

    assert serve.load("classes")["labels"] == ["a", "b", "c"]
    texts = ["cat w9", "dog bird"]
    got = serve.ask("classify", model=2, texts=texts, pairs=["bird", ""])
    want = printed("predict", f"{FOLDER}/classes", "--text", texts[0], "--pair", "bird", "--text", texts[1], "--pair", "")
    assert got["answer"]["predictions"] == [row["prediction"] for row in want], (got, want)
    outputs = got["arrays"][0]
    assert outputs["shape"] == [2, 3] and outputs["dtype"] == "f32", outputs
    expected = [p for row in want for p in row["probabilities"].values()]
    assert all(abs(a - b) < 1e-6 for a, b in zip(outputs["values"], expected, strict=True)), (outputs, expected)

    assert serve.load("words")["problem"] == "token_labels"
    got = serve.ask("token_labels", model=3, texts=["cat  dög w9"])["answer"]["texts"][0]
    want = printed("predict", f"{FOLDER}/words", "--text", "cat  dög w9")[0]
    assert [word["label"] for word in got] == want["prediction"], (got, want)
    assert [(word["begin"], word["end"]) for word in got] == [(0, 3), (5, 8), (9, 11)], got

    serve.load("answers")
    got = serve.ask("answer", model=4, questions=["cat"], contexts=["dog w10 bird"], no_answer_threshold=1e6)["answer"]["answers"][0]
    want = printed("predict", f"{FOLDER}/answers", "--text", "cat", "--pair", "dog w10 bird", "--no-answer-threshold", "1e6")[0]
    assert got == {key: want[key] for key in got} and got["prediction"], (got, want)

    serve.load("text")
    got = serve.ask("generate", model=5, texts=["a", "b"], max_length=4, answers=2, beams=2)["answer"]["texts"]
    want = printed("generate", f"{FOLDER}/text", "--text", "a", "--text", "b", "--max-length", "4", "--answers", "2", "--beams", "2")
    assert got == [row["answers"] for row in want], (got, want)

    assert "detect" in serve.load("replaced")["tasks"]
    got = serve.ask("detect", model=6, texts=["word7 word9"])["answer"]["texts"][0]
    want = printed("detect", f"{FOLDER}/replaced", "--text", "word7 word9")[0]["tokens"]
    assert [(t["text"], t["begin"], t["end"]) for t in got] == [(t["text"], *t["offsets"]) for t in want], (got, want)
    assert all(abs(a["probability"] - b["probability"]) < 1e-6 for a, b in zip(got, want)), (got, want)
    check_embeddings(serve)
    status, log = serve.end()
    assert status == 0
    assert "gelu" not in log, log  # embedding models keep the gelu of their folder, also beside other models


def check_embeddings(serve):
    """The embeddings are those of `smelt embed`, bit for bit."""
    vectors = os.path.join(ROOT, "tests/golden/sentence_transformers/v3")
    assert serve.ask("load", path=vectors)["answer"]["tasks"] == ["embed"]
    with open(os.path.join(vectors, "embeddings.json")) as file:
        golden = json.load(file)
    for number, folder, fields, flags in [(7, vectors, {}, ()), (7, vectors, {"dimensions": 3, "normalize": False}, ("--dimensions", "3", "--normalize", "no")),
                                          (7, vectors, {"batch_size": 2, "max_length": 6}, ("--batch", "2", "--max-length", "6")),
                                          (1, f"{FOLDER}/mask", {"pooling": "mean"}, ("--pooling", "mean"))]:
        got = serve.ask("embed", model=number, texts=golden["texts"], **fields)
        path = os.path.join(FOLDER, "vectors.npy")
        subprocess.run([SMELT, "embed", folder, "--output", path, *(part for text in golden["texts"] for part in ("--text", text)), *flags], check=True)
        with open(path, "rb") as file:
            want = file.read()[128:]
        os.remove(path)
        values = got["arrays"][0]["values"]
        assert struct.pack(f"<{len(values)}f", *values) == want, (fields, got)
        assert got["arrays"][0]["shape"] == [len(golden["texts"]), len(values) // len(golden["texts"])], got
        if not fields:
            assert got["answer"]["truncated"] == 1, got
            near = [x for row in golden["embeddings"] for x in row]
            assert all(abs(a - b) < 1e-5 for a, b in zip(values, near, strict=True))
    assert serve.ask("embed", model=7, texts=[])["arrays"][0]["shape"] == [0, 0]


def check_errors():
    serve = Serve()
    serve.load("classes")
    cases = [
        (dict(do="fil_mask"), "serve: request 'fil_mask' is unknown", "did you mean 'fill_mask'?"),
        (dict(do="classify", model=1, text=["cat"]), "serve: classify: unknown field 'text'", "did you mean 'texts'?"),
        (dict(do="classify", model=1, texts="cat"), "serve: classify: texts is not a list", "docs/reference/serve.md"),
        (dict(do="classify", model=1), "serve: classify: texts is missing, expected a list of strings", "serve.md"),
        (dict(do="classify", model=1, texts=["cat"], batch_size=2**58), "batch_size is 288230376151711744, expected at most 1048576", "serve.md"),
        (dict(do="classify", model=9, texts=[]), "serve: model 9 is not loaded", '"do": "load"'),
        (dict(do="classify", model=1, texts=["cat"], pairs=[]), "classify: 0 pairs for 1 texts", "one pair"),
        (dict(do="classify", model=1, texts=["cat"], batch_size=0), "batch_size is 0, expected at least 1", "serve.md"),
        (dict(do="answer", model=1, questions=["a"], contexts=[]), "answer: 0 contexts for 1 questions", "one context"),
        (dict(do="fill_mask", model=1, texts=["[MASK]"]), "classify", "this model can"),
        (dict(do="load", path=FOLDER + "/none"), FOLDER + "/none", ""),
        (dict(do="load", path=FOLDER + "/classes", precision="f16"), "load: precision 'f16' is unknown", "f32"),
        (dict(do="load", path=FOLDER + "/none", device="tpuu"), "device: 'tpuu' is unknown", "tpu"),
        (dict(do="load", path="runs/none", directory=FOLDER), "hub: hf://runs/none: not in the cache", "unset HF_HUB_OFFLINE"),
        (dict(do="load", path="classes/none", directory=FOLDER), FOLDER + "/classes/none", ""),
        (dict(do="embed", model=1, texts=["a"]), "embed: " + FOLDER, "--pooling mean"),
        (dict(do="embed", model=1, texts=["a"], pooling="max"), "embed: pooling 'max' is unknown", "mean"),
        (dict(do="embed", model=1, texts=["a"], pooling="mean", dimensions=99), "embed: dimensions 99: the model's", "smaller"),
        (dict(do="embed", model=1, texts=["a"], pooling="mean", max_length=4), "embed: --max-length 4: must be at least 5", "5 or more"),
        (dict(do="detect", model=1, texts=["a"]), "has no discriminator", "ELECTRA"),
        (dict(do="generate", model=1, texts=["a"], early_stopping="maybe"), "early_stopping 'maybe'", "never"),
    ]
    for number, (request, what, hint) in enumerate(cases):
        serve.send(id=number, **request)
        error = serve.reply(number)["error"]
        assert error["kind"] == "usage" and what in error["what"] and hint in error["hint"], (request, error)
    serve.process.stdin.write(b"[1]\n")
    serve.process.stdin.flush()
    assert "a request must be a JSON object" in serve.reply(None)["error"]["what"]
    assert serve.ask("close", model=1) == {"id": "close", "answer": {}}
    assert "model 1 is not loaded" in serve.ask("close", model=1)["error"]["what"]
    assert serve.end()[0] == 0


def check_ends():
    serve = Serve()
    serve.load("classes")
    serve.send(id=1, do="classify", model=1, texts=["cat w9"] * 50_000, batch_size=8)
    first = serve.line()
    assert first["event"] == "progress" and first["total"] == 50_000, first
    serve.process.send_signal(signal.SIGINT)
    error = serve.reply(1)["error"]
    assert error["kind"] == "stopped" and error["hint"] == "send it again", error
    assert serve.ask("classify", model=1, texts=["cat"])["answer"]["predictions"]  # the model is still loaded
    # A reader that has gone away ends a long request.
    serve.send(id=2, do="classify", model=1, texts=["cat w9"] * 200_000, batch_size=8)
    serve.line()
    serve.process.stdout.close()
    start = time.monotonic()
    assert serve.process.wait(timeout=20) == 1
    assert time.monotonic() - start < 10
    assert "standard output was closed by its reader" in serve.process.stderr.read().decode()
    # SIGTERM ends the program.
    serve = Serve()
    serve.process.send_signal(signal.SIGTERM)
    assert serve.process.wait(timeout=20) == 75


{"predictions": check_predictions, "errors": check_errors, "ends": check_ends}[CASE]()
