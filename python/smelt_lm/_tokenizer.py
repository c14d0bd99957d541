"""Tokenizers."""
from __future__ import annotations

import ctypes
import os
from typing import TYPE_CHECKING, Any, Dict, Iterable, Iterator, List, Mapping, NamedTuple, Optional, Sequence, Tuple, Union, overload

from ._errors import UsageError, surrogate_error
from ._library import Handle, arrays_of, check, interruptible, json_of, library, numpy, options_json, text_list

if TYPE_CHECKING:
    from ._library import Array

_LONG = 1 << 20  # bytes of text from which a call runs on a thread of its own, so that Ctrl-C works


class Ragged(NamedTuple):
    """Token ids of texts: text i has ``ids[starts[i]:starts[i + 1]]``."""

    ids: "Array"
    starts: "Array"

    def rows(self) -> "List[Array]":
        """Returns a view of the ids of each text."""
        bounds = self.starts.tolist()
        return [self.ids[begin:end] for begin, end in zip(bounds, bounds[1:])]


class Encoding(Mapping[str, Any]):
    """Arrays of a model's inputs by name: ``input_ids``, ``token_type_ids``, ``attention_mask`` and, on request,
    ``offset_mapping``.

    With padding each is an array [texts, tokens], otherwise a list of one array for each text. For a single text each
    is an array [tokens].
    """

    def __init__(self, arrays: Dict[str, Any]) -> None:
        self._arrays = arrays

    def __getitem__(self, name: str) -> Any:
        return self._arrays[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._arrays)

    def __len__(self) -> int:
        return len(self._arrays)

    @property
    def input_ids(self) -> Any:
        return self._arrays["input_ids"]

    @property
    def attention_mask(self) -> Any:
        return self._arrays["attention_mask"]

    def __repr__(self) -> str:
        return f"Encoding({', '.join(self._arrays)})"


def _unchecked_list(texts: Iterable[str], name: str = "texts") -> List[str]:
    if isinstance(texts, (str, bytes)):
        raise UsageError(f"{name} is one string, expected a list of strings", f"pass [{name}]")
    return list(texts)  # a copy: another thread may change the caller's list


def list_of_texts(texts: Iterable[str], name: str = "texts") -> List[str]:
    """Returns a list of strings. Raises UsageError for anything else, such as None or NaN in a column."""
    out = _unchecked_list(texts, name)
    if not set(map(type, out)) <= {str}:  # much faster than a loop
        for at, text in enumerate(out):
            if not isinstance(text, str):
                raise UsageError(f"{name}[{at}] is {type(text).__name__} {text!r}, expected a string",
                                 "remove missing values, or convert them with str()")
    return out


def listed(texts: Union[str, Iterable[str]], name: str = "texts") -> List[str]:
    """Does the same as list_of_texts(), but returns a list of one text for a string."""
    return [texts] if isinstance(texts, str) else list_of_texts(texts, name)


# Returns the UTF-8 of a str, which stays valid as long as the str. Python's copy of an ASCII str is its UTF-8.
_utf8_of = ctypes.pythonapi.PyUnicode_AsUTF8AndSize
_utf8_of.restype, _utf8_of.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_void_p)


def _joined(texts: List[str]) -> "Tuple[Any, Array, Any]":
    """Returns the texts joined as UTF-8 bytes, the byte at which each begins, and the object that owns the bytes."""
    np = numpy()
    starts = np.zeros(len(texts) + 1, np.int64)
    try:
        joined = "".join(texts) if all(map(str.isascii, texts[:64])) else "ä"
        parts = [] if joined.isascii() else list(map(str.encode, texts))
    except TypeError:
        list_of_texts(texts)  # raises the error that names the element
        raise
    except UnicodeEncodeError:
        at = next(i for i, text in enumerate(texts) if any("\ud800" <= c <= "\udfff" for c in text))
        raise surrogate_error(f"texts[{at}]") from None
    np.cumsum(np.fromiter(map(bytes.__len__, parts) if parts else map(str.__len__, texts), np.int64, len(texts)), out=starts[1:])
    if not parts:  # ASCII, in a third of the time
        return _utf8_of(joined, ctypes.byref(ctypes.c_ssize_t())), starts, joined
    data = b"".join(parts)
    return data, starts, data


class Tokenizer:
    """A tokenizer: WordPiece, Unigram, BPE or SentencePiece.

    ``path`` is a vocab.txt, tokenizer.json, vocab.json (with merges.txt) or SentencePiece model, or a folder that has
    one. ``lower_case`` and ``strip_accents`` are only for a vocab.txt without stored settings. Raises UsageError if the
    file is missing, damaged or not supported.

    Tokenizers can be shared by threads, pickled, and used after a fork.

    >>> tokenizer = Tokenizer(VOCABULARY)
    >>> tokenizer.tokenize("cat dog")
    ['cat', 'dog']
    >>> tokenizer("cat dog")["input_ids"].tolist()
    [2, 5, 6, 3]
    >>> tokenizer.decode([5, 6])
    'cat dog'
    """

    def __init__(self, path: "Union[str, os.PathLike[str]]", *, lower_case: Optional[bool] = None,
                 strip_accents: Optional[bool] = None) -> None:
        self.path = os.fspath(path)
        self._flags = {"lower_case": lower_case, "strip_accents": strip_accents}
        self._handle = Handle("smelt_tokenizer_free")
        check(library().smelt_tokenizer_open(os.fsencode(self.path), options_json(**self._flags),
                                             ctypes.byref(self._handle.pointer)))
        facts = json_of(lambda out: library().smelt_tokenizer_describe(self._handle.pointer, out))
        self.kind: str = facts["kind"]
        self.vocab_size: int = facts["size"]
        self.unk_id: Optional[int] = facts["unknown"]
        self.pad_id: Optional[int] = facts["pad"]
        self.cls_id: Optional[int] = facts["cls"]
        self.sep_id: Optional[int] = facts["sep"]
        self.mask_id: Optional[int] = facts["mask"]
        self.end_id: Optional[int] = facts["end"]
        self._tokens: Optional[List[str]] = None

    @classmethod
    def load(cls, path: "Union[str, os.PathLike[str]]", **options: Any) -> "Tokenizer":
        """Does the same as ``Tokenizer(path, ...)``."""
        return cls(path, **options)

    def __reduce__(self) -> Any:
        return _reopen_tokenizer, (self.path, self._flags)

    def __repr__(self) -> str:
        return f"Tokenizer({self.path!r}, {self.kind}, {self.vocab_size} tokens)"

    def __len__(self) -> int:
        return self.vocab_size

    @property
    def tokens(self) -> List[str]:
        """The tokens by id."""
        if self._tokens is None:
            arrays = arrays_of(lambda out: library().smelt_tokenizer_tokens(self._handle.pointer, out))
            self._tokens = text_list(arrays["text"], arrays["starts"])
        return self._tokens

    def _encode(self, texts: List[str], **options: Any) -> "Dict[str, Array]":
        data, starts, owner = _joined(texts)
        given = options_json(**options)

        def encode(stop: Optional[int], keeps: Any = owner) -> "Dict[str, Array]":
            return arrays_of(lambda out: library().smelt_encode(
                self._handle.pointer, data, starts.ctypes.data, len(starts) - 1, given, stop, out))

        return interruptible(encode, int(starts[-1]) > _LONG)

    def ragged(self, texts: Iterable[str], *, special_tokens: bool = False, max_length: Optional[int] = None,
               threads: Optional[int] = None) -> Ragged:
        """Encodes texts without padding and without copying the ids; the fastest way.

        ``special_tokens`` adds [CLS] and [SEP], or the </s> of a T5. ``max_length`` truncates each text, special
        tokens included. ``threads`` defaults to all cores.

        >>> ids, starts = Tokenizer(VOCABULARY).ragged(["cat dog", "", "dog"])
        >>> ids.tolist(), starts.tolist()
        ([5, 6, 6], [0, 2, 2, 3])
        """
        arrays = self._encode(_unchecked_list(texts), special_tokens=special_tokens, max_length=max_length, threads=threads)
        return Ragged(arrays["ids"], arrays["starts"])

    def __call__(self, texts: Union[str, Iterable[str]], pairs: Union[str, Iterable[str], None] = None, *,
                 max_length: Optional[int] = None, padding: Union[bool, str] = False, truncation: bool = False,
                 special_tokens: bool = True, offsets: bool = False) -> Encoding:
        """Encodes texts, or pairs of texts, as a model's inputs (see Encoding).

        ``padding``: False, True or "longest" (to the longest text), or "max_length". ``truncation`` truncates to
        ``max_length`` tokens; of a pair, the longer text loses tokens first. ``offsets`` adds the characters
        [begin, end) of each token in its text.

        >>> encoding = Tokenizer(VOCABULARY)(["cat", "cat dog"], padding=True)
        >>> encoding["input_ids"].tolist()
        [[2, 5, 3, 0], [2, 5, 6, 3]]
        >>> encoding["attention_mask"].tolist()
        [[1, 1, 1, 0], [1, 1, 1, 1]]
        """
        single = isinstance(texts, str)
        rows = listed(texts)
        width = self._width(max_length, padding, truncation)
        if pairs is not None:
            seconds = listed(pairs, "pairs")
            if len(seconds) != len(rows):
                raise UsageError(f"{len(seconds)} pairs for {len(rows)} texts", "pass one pair for each text")
            rows = [text for both in zip(rows, seconds) for text in both]
        arrays = self._encode(rows, special_tokens=special_tokens, pairs=pairs is not None or None,
                              max_length=max_length if truncation else None, offsets=offsets or None)
        columns = self._columns(arrays, width)
        return Encoding({name: column[0] for name, column in columns.items()} if single else columns)

    def _width(self, max_length: Optional[int], padding: Union[bool, str], truncation: bool) -> Optional[int]:
        """Returns the tokens to pad to: 0 for the longest text, None for no padding."""
        if padding not in (False, True, "longest", "max_length", "do_not_pad"):
            raise UsageError(f"padding is {padding!r}", "use False, True, 'longest' or 'max_length'")
        if max_length is None and (truncation or padding == "max_length"):
            raise UsageError("max_length is missing", "pass max_length, such as 128")
        if max_length is not None and max_length < 1:
            raise UsageError(f"max_length is {max_length}", "pass at least 1")
        if padding in (False, "do_not_pad"):
            return None
        return max_length if padding == "max_length" else 0

    def _columns(self, arrays: "Dict[str, Array]", width: Optional[int]) -> Dict[str, Any]:
        np = numpy()
        ids, starts = arrays["ids"], arrays["starts"]
        columns = {"input_ids": ids, "token_type_ids": arrays.get("segments", np.zeros(len(ids), np.int32)),
                   "attention_mask": np.ones(len(ids), np.int32)}
        if "offsets" in arrays:
            columns["offset_mapping"] = arrays["offsets"]
        if width is None:
            bounds = starts.tolist()
            return {name: [column[begin:end] for begin, end in zip(bounds, bounds[1:])] for name, column in columns.items()}
        lengths = np.diff(starts)
        width = max(width, int(lengths.max(initial=0)))
        inside = np.arange(width) < lengths[:, None]
        out = {}
        for name, column in columns.items():
            fill = (self.pad_id or 0) if name == "input_ids" else 0
            padded = np.full((len(lengths), width, *column.shape[1:]), fill, np.int32)
            padded[inside] = column
            out[name] = padded
        return out

    def tokenize(self, text: str) -> List[str]:
        """Returns the tokens of a text, without special tokens."""
        return [self.tokens[i] for i in self.ragged([text]).ids.tolist()]

    @overload
    def decode(self, ids: Sequence[int], *, skip_special_tokens: bool = False) -> str: ...
    @overload
    def decode(self, ids: Sequence[Sequence[int]], *, skip_special_tokens: bool = False) -> List[str]: ...

    def decode(self, ids: Any, *, skip_special_tokens: bool = False) -> Any:
        """Joins token ids to a text, or lists of ids to a list of texts.

        >>> Tokenizer(VOCABULARY).decode([[2, 5, 3], [6]], skip_special_tokens=True)
        ['cat', 'dog']
        """
        np = numpy()
        nested = len(ids) > 0 and not isinstance(ids[0], (int, np.integer))
        rows = [np.asarray(row, np.int32).reshape(-1) for row in (ids if nested else [ids])]
        starts = np.zeros(len(rows) + 1, np.int64)
        np.cumsum([len(row) for row in rows], out=starts[1:])
        flat = np.ascontiguousarray(np.concatenate(rows)) if rows else np.zeros(0, np.int32)
        given = options_json(skip_special_tokens=skip_special_tokens)
        arrays = arrays_of(lambda out: library().smelt_decode(
            self._handle.pointer, flat.ctypes.data, starts.ctypes.data, len(rows), given, out))
        texts = text_list(arrays["text"], arrays["starts"])
        return texts if nested else texts[0]


def _reopen_tokenizer(path: str, flags: Dict[str, Optional[bool]]) -> Tokenizer:
    return Tokenizer(path, **flags)
