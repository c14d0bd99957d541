"""Inference with trained models."""
from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING, Any, Dict, Iterable, List, NamedTuple, Optional, Tuple, Union, overload

from ._errors import UsageError
from ._library import numpy
from ._server import Gone, Progress, Server, server
from ._tokenizer import listed

if TYPE_CHECKING:
    from types import TracebackType
    from typing import Type

    from ._library import Array

Texts = Union[str, Iterable[str]]


class Guess(NamedTuple):
    """A token that the model predicts for a [MASK]."""

    token: str
    probability: float


class Prediction(NamedTuple):
    """The class of a text; a list of classes for a model with several per text; a number for a regression."""

    label: Any
    #: of the class; 0 for several classes and for a number
    probability: float
    #: by class; empty for a number
    probabilities: Dict[str, float]


class Word(NamedTuple):
    """A word with its label; ``begin`` and ``end`` are characters of the text."""

    word: str
    label: str
    begin: int
    end: int
    probability: float


class Token(NamedTuple):
    """A token of a text and the probability that it was replaced. ``begin`` and ``end`` are positions in characters, in NFC."""

    text: str
    begin: int
    end: int
    probability: float


class Answer(NamedTuple):
    """The answer to a question; ``text`` is "" if the model predicts that there is none.

    ``begin`` and ``end`` are characters of the context in NFC, of the best span even if ``text`` is "".
    """

    text: str
    probability: float
    begin: Optional[int]
    end: Optional[int]


class Generated(NamedTuple):
    """A generated text. ``score`` is the sum of log p of its tokens; for beams, divided by the length penalty."""

    text: str
    score: float


class Model:
    """A trained model for inference.

    The models of a process live in one child process, ``smelt serve``, which ends with this process. Ctrl-C stops a
    call and keeps the model. Methods take a text or a list of texts, and return one result or a list. A method that
    the model cannot do raises UsageError, whose hint names those it can do.

    >>> model = Model.load(MASK_MODEL)
    >>> model.tasks
    ['fill_mask', 'embed']
    >>> [guess.token for guess in model.fill_mask("word7 [MASK] word30", top=2)[0]]
    ['word8', 'word26']
    >>> model.close()
    """

    def __init__(self, path: "Union[str, os.PathLike[str]]", *, device: str = "auto", precision: str = "f32",
                 vocab: "Union[str, os.PathLike[str], None]" = None) -> None:
        self.path = os.fspath(path)
        self._options: Dict[str, Any] = {"path": self.path, "directory": os.getcwd(), "device": device, "precision": precision,
                                         "vocab": None if vocab is None else _absolute(os.fspath(vocab))}
        self._pid = os.getpid()
        self._closed = False
        self._server: Optional[Server] = None
        self._number = 0
        self._loading = threading.Lock()
        self._load()

    @classmethod
    def load(cls, path: "Union[str, os.PathLike[str]]", device: str = "auto", *, precision: str = "f32",
             vocab: "Union[str, os.PathLike[str], None]" = None) -> "Model":
        """Loads a model: the folder of a run, or a folder or checkpoint of smelt, TensorFlow or Hugging Face.

        ``path`` may also be "ORG/NAME" or "hf://ORG/NAME[@REVISION]", a model on the Hugging Face Hub. "ORG/NAME" is a
        local folder if it or a folder ORG exists here; otherwise a message is logged that the Hub is used.
        ``device``: "cpu", "gpu", "tpu", or "auto": a TPU or GPU if there is one. ``precision``: "f32" or "f32_exact".
        ``vocab`` names the vocabulary if it is not stored with the model. Raises UsageError if the folder has no model.
        """
        return cls(path, device=device, precision=precision, vocab=vocab)

    def _load(self) -> None:
        path = self._options["path"]
        while True:
            running = server(of_hub="://" in path or not os.path.exists(os.path.join(self._options["directory"], path)))
            try:
                facts, _ = running.ask("load", **self._options)
                break
            except Gone:
                pass
        # After success only, and the number first: numbers of an ended server may be those of other models now.
        self._number = facts["model"]
        self._server = running
        #: what the model was loaded from: a path, or hf://ORG/NAME@COMMIT
        self.source: str = facts["path"]
        self._options["path"] = self.source  # if it is loaded again, from the same commit
        #: what the model can do, such as ["classify"]
        self.tasks: List[str] = facts["tasks"]
        #: of a classifier: "single_label", "multi_label", "regression", "token_labels" or "answer_spans"
        self.problem: Optional[str] = facts.get("problem")
        self.labels: List[str] = facts.get("labels", [])

    def _ask(self, do: str, progress: Optional[Progress], **fields: Any) -> Any:
        if self._closed:
            raise UsageError(f"the model {self.path} is closed", "load it again with Model.load")
        if self._pid != os.getpid():
            raise UsageError(f"the model {self.path} was loaded in another process, from which this one was forked",
                             "call Model.load in this process, or pass the model's path to it")
        while True:
            with self._loading:
                # The server was released, replaced because the token changed, or killed, for example by a second Ctrl-C.
                if self._server is None or not self._server.is_usable():
                    self._load()
                running, number = self._server, self._number
            assert running
            try:
                return running.ask(do, progress, model=number, **fields)
            except Gone:
                pass

    @overload
    def fill_mask(self, texts: str, top: int = 5, *, on_progress: Optional[Progress] = None) -> "List[List[Guess]]": ...  # type: ignore[overload-overlap]
    @overload
    def fill_mask(self, texts: Iterable[str], top: int = 5, *, on_progress: Optional[Progress] = None) -> "List[List[List[Guess]]]": ...

    def fill_mask(self, texts: Texts, top: int = 5, *, on_progress: Optional[Progress] = None) -> Any:
        """Returns the ``top`` most probable tokens for each [MASK], best first.

        For one text: a list with a list of Guess for each [MASK]; for several, a list of these.
        ``on_progress(done, total)`` is called during long calls, here and in the other methods.
        """
        answer, _ = self._ask("fill_mask", on_progress, texts=listed(texts), top=top)
        found = [[[Guess(guess["token"], guess["probability"]) for guess in mask] for mask in masks] for masks in answer["texts"]]
        return _like(texts, found)

    @overload
    def classify(self, texts: str, pairs: Optional[str] = None, *, batch_size: int = 32, on_progress: Optional[Progress] = None) -> "Prediction": ...  # type: ignore[overload-overlap]
    @overload
    def classify(self, texts: Iterable[str], pairs: Optional[Iterable[str]] = None, *, batch_size: int = 32, on_progress: Optional[Progress] = None) -> "List[Prediction]": ...

    def classify(self, texts: Texts, pairs: Optional[Texts] = None, *, batch_size: int = 32,
                 on_progress: Optional[Progress] = None) -> Any:
        """Returns a Prediction for each text, or for each pair of texts.

        >>> Model.load(CLASS_MODEL).classify("cat w9").label
        'b'
        """
        rows = listed(texts)
        answer, arrays = self._ask("classify", on_progress, texts=rows, pairs=None if pairs is None else listed(pairs, "pairs"),
                                   batch_size=batch_size)
        outputs = _floats(arrays["outputs"]).tolist()
        return _like(texts, [self._prediction(said, row) for said, row in zip(answer["predictions"], outputs)])

    def _prediction(self, said: Any, outputs: List[float]) -> Prediction:
        single = self.problem == "single_label"
        return Prediction(said, max(outputs) if single else 0.0, dict(zip(self.labels, outputs)))

    @overload
    def token_labels(self, texts: str, *, batch_size: int = 32, on_progress: Optional[Progress] = None) -> "List[Word]": ...  # type: ignore[overload-overlap]
    @overload
    def token_labels(self, texts: Iterable[str], *, batch_size: int = 32, on_progress: Optional[Progress] = None) -> "List[List[Word]]": ...

    def token_labels(self, texts: Texts, *, batch_size: int = 32, on_progress: Optional[Progress] = None) -> Any:
        """Returns a list of Word for each text. Words are separated by spaces; words beyond the model's maximum
        length are left out."""
        answer, _ = self._ask("token_labels", on_progress, texts=listed(texts), batch_size=batch_size)
        return _like(texts, [[Word(**word) for word in words] for words in answer["texts"]])

    @overload
    def answer(self, questions: str, contexts: str, *, batch_size: int = 32, no_answer_threshold: float = 0.0, on_progress: Optional[Progress] = None) -> "Answer": ...  # type: ignore[overload-overlap]
    @overload
    def answer(self, questions: Iterable[str], contexts: Iterable[str], *, batch_size: int = 32, no_answer_threshold: float = 0.0, on_progress: Optional[Progress] = None) -> "List[Answer]": ...

    def answer(self, questions: Texts, contexts: Texts, *, batch_size: int = 32, no_answer_threshold: float = 0.0,
               on_progress: Optional[Progress] = None) -> Any:
        """Returns the Answer to each question, found in its context.

        If the model was trained with questions that have no answer, it predicts none if the logit of "no answer"
        exceeds that of the best answer by more than ``no_answer_threshold``.
        """
        answer, _ = self._ask("answer", on_progress, questions=listed(questions, "questions"),
                              contexts=listed(contexts, "contexts"), batch_size=batch_size,
                              no_answer_threshold=no_answer_threshold)
        return _like(questions, [Answer(one["prediction"], one["probability"], one.get("begin"), one.get("end"))
                                 for one in answer["answers"]])

    def embed(self, texts: Texts, *, batch_size: int = 32, max_length: int = 0, dimensions: int = 0, pooling: Optional[str] = None,
              normalize: Optional[bool] = None, on_progress: Optional[Progress] = None) -> "Array":
        """Returns embeddings: a float32 array [texts, dimensions], or [dimensions] for one text.

        ``max_length`` truncates texts to this many tokens, at most the model's maximum. ``dimensions`` truncates embeddings,
        for models trained with model.matryoshka. ``pooling`` ("mean" or "cls") and ``normalize`` default to those of the
        model; a model that is not an embedding model needs ``pooling``.

        >>> model = Model.load(EMBEDDING_MODEL)
        >>> model.embed(["a", "bad cab"]).shape
        (2, 8)
        """
        _, arrays = self._ask("embed", on_progress, texts=listed(texts), batch_size=batch_size, max_length=max_length,
                              dimensions=dimensions, pooling=pooling, normalize=normalize)
        rows: Array = _floats(arrays["embeddings"])
        one: Array = rows[0] if isinstance(texts, str) else rows
        return one

    @overload
    def detect(self, texts: str, *, on_progress: Optional[Progress] = None) -> "List[Token]": ...  # type: ignore[overload-overlap]
    @overload
    def detect(self, texts: Iterable[str], *, on_progress: Optional[Progress] = None) -> "List[List[Token]]": ...

    def detect(self, texts: Texts, *, on_progress: Optional[Progress] = None) -> Any:
        """Returns a list of Token for each text, with the probability that each was replaced, from an ELECTRA discriminator."""
        answer, _ = self._ask("detect", on_progress, texts=listed(texts))
        return _like(texts, [[Token(**token) for token in tokens] for tokens in answer["texts"]])

    def generate(self, texts: Texts, *, max_length: int = 32, min_length: int = 0, beams: int = 1, answers: int = 1,
                 length_penalty: float = 1.0, early_stopping: str = "no", sample: bool = False, temperature: float = 1.0,
                 top_k: int = 0, top_p: float = 1.0, max_inputs: int = 512, batch_size: int = 32, seed: int = 12345,
                 prefix: Optional[str] = None, on_progress: Optional[Progress] = None) -> Any:
        """Generates text with a T5. Returns a list of ``answers`` Generated for each text, best first.

        Without ``beams`` and ``sample``, decoding is greedy. ``prefix`` defaults to that of the fine-tuning.
        """
        answer, _ = self._ask(
            "generate", on_progress, texts=listed(texts), max_length=max_length, min_length=min_length, beams=beams,
            answers=answers, length_penalty=length_penalty, early_stopping=early_stopping, sample=sample,
            temperature=temperature, top_k=top_k, top_p=top_p, max_inputs=max_inputs, batch_size=batch_size, seed=seed,
            prefix=prefix)
        return _like(texts, [[Generated(one["text"], one["score"]) for one in found] for found in answer["texts"]])

    def close(self) -> None:
        """Frees the memory of the model. Later calls raise UsageError."""
        was_closed, self._closed = self._closed, True
        if not was_closed and self._server is not None and self._server.is_usable():
            try:
                self._server.ask("close", model=self._number)
            except Gone:
                pass

    def __del__(self) -> None:
        # May run on any thread and during another call, so it only leaves a note.
        number, owner = getattr(self, "_number", 0), getattr(self, "_server", None)
        if number and owner is not None and not self._closed and owner.is_usable():
            owner.abandoned.append(number)

    def __enter__(self) -> "Model":
        return self

    def __exit__(self, kind: "Optional[Type[BaseException]]", error: Optional[BaseException],
                 trace: "Optional[TracebackType]") -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Model({self.path!r}, tasks={self.tasks})"


def _absolute(path: str) -> str:
    return path if "://" in path else os.path.abspath(path)


def _like(texts: Texts, results: List[Any]) -> Any:
    """Returns one result for one text, else all."""
    return results[0] if isinstance(texts, str) else results


def _floats(array: "Tuple[str, List[int], bytearray]") -> Any:
    np = numpy()
    _, shape, data = array
    return np.frombuffer(data, "<f4").reshape(shape)
