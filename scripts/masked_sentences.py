#!/usr/bin/env python3
"""masked_sentences.py FILE: prints three sentences of a file, each with one word replaced by [MASK].

The file has one sentence per line, like a run's text/heldout.txt. In writing systems without spaces between words, a
character is replaced.
"""

import sys
import unicodedata

COUNT = 3
LEAST, MOST = 25, 160  # number of characters of the sentences that are printed


def is_letter(character):
    return unicodedata.category(character)[0] in "LM"


def mask_word(words):
    """Replaces the longest of the middle words by [MASK]; punctuation stays."""
    middle = range(len(words) // 3, max(len(words) // 3 + 1, 2 * len(words) // 3))
    at = max(middle, key=lambda i: sum(map(is_letter, words[i])))
    letters = [i for i, character in enumerate(words[at]) if is_letter(character)]
    if not letters:
        return None
    word = words[at][: letters[0]] + "[MASK]" + words[at][letters[-1] + 1 :]
    return " ".join([*words[:at], word, *words[at + 1 :]])


def mask_character(text):
    """Replaces a letter near the middle of the text, and its combining marks, by [MASK]."""
    for begin in range(len(text) // 2, len(text)):
        if unicodedata.category(text[begin])[0] != "L":
            continue
        end = begin + 1
        while end < len(text) and unicodedata.category(text[end])[0] == "M":
            end += 1
        return text[:begin] + "[MASK]" + text[end:]
    return None


def masked(sentence):
    words = sentence.split()
    if len(words) >= 5:
        return mask_word(words)
    return mask_character(sentence)


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        lines = [line.strip() for line in file]
    fit = [line for line in lines if LEAST <= len(line) <= MOST] or [line for line in lines if line]
    found = [text for text in map(masked, fit) if text]
    for part in range(min(COUNT, len(found))):
        print(found[(2 * part + 1) * len(found) // (2 * min(COUNT, len(found)))])


if __name__ == "__main__":
    main()
