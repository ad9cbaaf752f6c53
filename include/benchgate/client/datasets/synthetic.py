"""Synthetic prompts of an exact token length, none of which shares a reusable prefix with another.

A prompt is ``head`` + ``filler`` + ``tail``. The head is a few words that spell the prompt's number, least significant
digit first, so that prompts differ from their second token on: prefix caches match from the start only. The filler is
put together from prepared blocks of random words whose token counts are known (every word used has the same count, and
words keep their tokens side by side because each begins with its space). What else the server counts (chat template,
head, tail) is the overhead: guessed first, then corrected by the usage of warm-up answers or of a probe.
So a prompt of a million tokens is a few hundred references to blocks, built in about a millisecond, and nothing is
tokenized again.
"""

from __future__ import annotations

import random
import statistics
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from benchgate.client.datasets.counting import TokenCounter
from benchgate.client.datasets.words import WORDS
from benchgate.client.template import Pieces, Prompt

START = "A"  # so that every word behind it begins with its space and keeps its token count; shared by all prompts
HEAD_WORDS = 6
TAIL = " \\n\\nWrite a long story that uses these words."  # JSON-escaped; asks for a long answer without forcing one
TAIL_TEXT = " \n\nWrite a long story that uses these words."
SMALL, LARGE = 64, 4096  # words a block
SMALL_BLOCKS, LARGE_BLOCKS = 256, 32
WARMUP_OFFSET = 10_000_000  # numbers of warm-up prompts, far from those of measured ones
PROBE_OFFSET = 20_000_000
TEMPLATE_GUESS = 24  # tokens of a chat template around one user message, until a usage says how many
TOLERANCE = 0.002  # share of the requested length that is not worth a correction
_GROUP = 64


@dataclass(frozen=True, slots=True)
class WordCounts:
    """Words that all have the same token count with a leading space."""

    words: tuple[str, ...]
    tokens_per_word: float


async def calibrate_words(counter: TokenCounter) -> WordCounts:
    """Find words of one and the same token count, asking the counter about groups first.

    With a vocabulary that knows all words this is a dozen questions; with a byte vocabulary it is one a word, once.
    """
    base = (await counter.count(["the"]))[0]
    counts: dict[str, int] = {}
    groups = [WORDS[at : at + _GROUP] for at in range(0, len(WORDS), _GROUP)]
    while groups:
        totals = await counter.count(["the " + " ".join(group) for group in groups])
        halves: list[tuple[str, ...]] = []
        for group, total in zip(groups, totals, strict=True):
            tokens = total - base
            if tokens == len(group) or len(group) == 1:  # a word has at least one token, so the sum says it all
                counts.update(dict.fromkeys(group, tokens // len(group)))
            else:
                middle = len(group) // 2
                halves += [group[:middle], group[middle:]]
        groups = halves
    most_common = Counter(counts.values()).most_common(1)[0][0]
    return WordCounts(tuple(word for word in WORDS if counts[word] == most_common), float(most_common))


def uncalibrated_words() -> WordCounts:
    """For servers without a tokenizer to ask: words of four letters, so that whatever counts (tokens, words,
    characters) counts the same for each of them; one token each until a usage says otherwise."""
    return WordCounts(tuple(word for word in WORDS if len(word) == 4), 1.0)


@dataclass
class SyntheticSource:
    """Prompts of ``prompt_tokens`` tokens as the server counts them.

    Args:
        overhead: tokens that are not filler: chat template, head, tail.
    """

    words: tuple[str, ...]
    tokens_per_word: float
    prompt_tokens: int
    overhead: int
    seed: int
    notes: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        rng = random.Random(f"blocks {self.seed}")
        pick = rng.choices
        self._small = [(" " + " ".join(pick(self.words, k=SMALL))).encode() for _ in range(SMALL_BLOCKS)]
        self._large = [b"".join(pick(self._small, k=LARGE // SMALL)) for _ in range(LARGE_BLOCKS)]
        shuffled = list(self.words)
        rng.shuffle(shuffled)
        self._digits = shuffled

    @property
    def filler_words(self) -> int:
        """How many words of filler make the requested length; never negative."""
        return max(0, round((self.prompt_tokens - self.overhead) / self.tokens_per_word))

    def empty_text(self) -> str:
        """A prompt without filler, as text: what its overhead is made of, chat template apart."""
        return self._head(0).decode() + TAIL_TEXT

    def prompt(self, index: int) -> Prompt:
        """The measured prompt number ``index``."""
        return Prompt(self.pieces(index, self.filler_words), self.prompt_tokens)

    def warmup_prompt(self, index: int) -> Prompt:
        """A prompt of the same length that no measured request uses."""
        return Prompt(self.pieces(WARMUP_OFFSET + index, self.filler_words), self.prompt_tokens)

    def probe_prompt(self, index: int, filler_words: int) -> Prompt:
        """A prompt with a given number of filler words, to find out what the rest costs."""
        return Prompt(self.pieces(PROBE_OFFSET + index, filler_words))

    def learn_overhead(self, counted: int, filler_words: int) -> None:
        """Take in what the server counted for a probe of ``filler_words``."""
        self.overhead = max(0, counted - round(filler_words * self.tokens_per_word))

    def correct(self, observed: Sequence[int]) -> None:
        """Take in what the server counted for prompts of the present length, so that the next ones hit it."""
        if not observed:
            return
        miss = self.prompt_tokens - statistics.median(observed)
        if abs(miss) > TOLERANCE * self.prompt_tokens and abs(miss) >= self.tokens_per_word / 2:
            self.overhead -= round(miss)

    def pieces(self, number: int, filler_words: int) -> Pieces:
        """Head, blocks and tail."""
        rng = random.Random(f"{self.seed} {number}")
        large, rest = divmod(filler_words, LARGE)
        small, single = divmod(rest, SMALL)
        blocks = rng.choices(self._large, k=large) if large else []
        words = rng.choices(self.words, k=single) if single else []
        loose = b"".join([*rng.choices(self._small, k=small), *(b" " + word.encode() for word in words)])
        return (self._head(number), *blocks, loose, TAIL.encode())

    def _head(self, number: int) -> bytes:
        """The number in words, least significant digit first; moved by a multiple of the seed."""
        base = len(self._digits)
        digits = []
        for _ in range(HEAD_WORDS):
            number, digit = divmod(number, base)
            digits.append(self._digits[digit])
        return " ".join([START, *digits]).encode()
