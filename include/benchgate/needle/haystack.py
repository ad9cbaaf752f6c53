"""A long document of plain sentences with one fact planted at a depth. Pure: a seed gives the same text everywhere."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

_SUBJECTS = (
    "The harbour office", "A visiting surveyor", "The night librarian", "One of the gardeners", "The ferry crew",
    "An elderly clockmaker", "The town baker", "A student of maps", "The railway porter", "The weather station",
    "A retired teacher", "The museum guide", "The bridge keeper", "A careful beekeeper", "The village choir",
)  # fmt: skip
_VERBS = (
    "wrote a short note about", "spent the morning with", "asked twice about", "kept a small record of",
    "walked slowly past", "told a long story about", "repaired", "carefully described", "drew a picture of",
    "had never heard of", "read aloud from a book about", "was surprised by",
)  # fmt: skip
_OBJECTS = (
    "the old stone wall", "a basket of green apples", "the winter timetable", "a broken wooden gate",
    "the quiet river bend", "some yellow lanterns", "the market square", "a letter without a stamp",
    "the copper roof", "a row of poplar trees", "the empty reading room", "a pair of muddy boots",
)  # fmt: skip
_ENDINGS = (
    "before the rain began.", "while the bells were ringing.", "and then went home.", "without any hurry.",
    "as everybody had expected.", "on the last day of the fair.", "when the lamps were lit.", "for no special reason.",
)  # fmt: skip
_PLACES = (
    "Alder", "Birch", "Cedar", "Dogwood", "Elm", "Fir", "Ginkgo", "Hazel", "Ivy", "Juniper", "Laurel", "Maple",
    "Olive", "Pine", "Rowan", "Spruce", "Willow", "Yew",
)  # fmt: skip
_INSTRUCTION = "Read the document and answer the question after it."


@dataclass(frozen=True)
class Needle:
    """A fact that cannot be guessed, and the question that asks it back."""

    depth: float  # 0 is the start of the document, 1 its end
    fact: str
    question: str
    answer: str


def make_needle(depth: float, rng: random.Random) -> Needle:
    """A needle with a six-digit code that stands nowhere else in a haystack (haystacks have no digits)."""
    place = rng.choice(_PLACES)
    code = str(rng.randrange(100_000, 1_000_000))
    return Needle(
        depth=depth,
        fact=f"The secret code of the {place} archive is {code}.",
        question=f"What is the secret code of the {place} archive? Answer with the number only.",
        answer=code,
    )


def sentence(rng: random.Random) -> str:
    """One sentence of filler."""
    return " ".join(rng.choice(part) for part in (_SUBJECTS, _VERBS, _OBJECTS, _ENDINGS))


def build_prompt(needle: Needle, sentences: int, seed: int) -> str:
    """The whole prompt with ``sentences`` filler sentences.

    It begins with words that differ from probe to probe, so that no prefix cache can answer for the server.
    """
    rng = random.Random(seed)
    opening = f"Document {rng.getrandbits(48):x}. {_INSTRUCTION}"
    filler = [sentence(rng) for _ in range(sentences)]
    filler.insert(round(needle.depth * len(filler)), needle.fact)
    return f"{opening}\n\n{' '.join(filler)}\n\n{needle.question}"


def sentences_for(target_tokens: int, count: Callable[[str], int], needle: Needle, seed: int) -> int:
    """How many filler sentences make a prompt of at most ``target_tokens`` by ``count``, and within 1 % of it.

    ``count`` is called a handful of times: the length grows almost linearly with the number of sentences.
    """
    probe = 64
    base = count(build_prompt(needle, 0, seed))
    per_sentence = max((count(build_prompt(needle, probe, seed)) - base) / probe, 1.0)
    sentences = max(int((target_tokens - base) / per_sentence), 0)
    for _ in range(8):
        have = count(build_prompt(needle, sentences, seed))
        missing = target_tokens - have
        if missing >= 0 and (missing <= max(0.005 * target_tokens, per_sentence) or sentences == 0):
            break
        step = int(missing / per_sentence)
        sentences = max(sentences + (step or (-1 if missing < 0 else 1)), 0)
        if sentences == 0:
            break
    while sentences and count(build_prompt(needle, sentences, seed)) > target_tokens:
        sentences -= 1
    return sentences
