"""The same prompts in every client's format, and a tokenizer that all of them load: one word is one token."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Sequence
from pathlib import Path

from benchmarks.reference_server.frames import WORDS

_POSITION = re.compile(r"\bp(\d{6})\b")
_VOCABULARY = [f"w{i}" for i in range(2000)]
SCENARIO_MARK = "scenario="
WORDS_A_PROMPT = 64


def make(count: int, words: int = WORDS_A_PROMPT, scenarios: Sequence[str] = ()) -> list[str]:
    """``count`` prompts of ``words`` words. Each starts with its number and, if given, names its scenario."""
    draw = random.Random(1)
    prompts = []
    for i in range(count):
        head = [f"p{i:06d}"] + ([SCENARIO_MARK + scenarios[i % len(scenarios)]] if scenarios else [])
        prompts.append(" ".join([*head, *draw.choices(_VOCABULARY, k=words - len(head))]))
    return prompts


def position(text: str) -> int | None:
    """The number of the prompt that ``text`` contains."""
    found = _POSITION.search(text)
    return int(found[1]) if found else None


def write(folder: Path, prompts: Sequence[str], max_tokens: int) -> None:
    """Every file that a client may want."""
    folder.mkdir(parents=True, exist_ok=True)
    answer = " ".join(WORDS[i % len(WORDS)] for i in range(max_tokens))
    conversations = [
        {"id": str(i), "conversations": [{"from": "human", "value": prompt}, {"from": "gpt", "value": answer}]}
        for i, prompt in enumerate(prompts)
    ]
    (folder / "sharegpt.json").write_text(json.dumps(conversations))
    for name, text, length in (
        ("vllm", "prompt", "output_tokens"),
        ("aiperf", "text", "output_length"),
        ("guidellm", "prompt", "output_tokens_count"),
    ):
        lines = (json.dumps({text: prompt, length: max_tokens}) for prompt in prompts)
        (folder / f"{name}.jsonl").write_text("\n".join(lines) + "\n")
    write_tokenizer(folder / "tokenizer", prompts)


def write_tokenizer(folder: Path, prompts: Sequence[str]) -> None:
    """A word-level tokenizer in Hugging Face's format."""
    from tokenizers import Tokenizer, models, pre_tokenizers

    folder.mkdir(parents=True, exist_ok=True)
    heads = {word for prompt in prompts for word in prompt.split()[:2]}
    words = ["<unk>", "<s>", "</s>", *WORDS, *_VOCABULARY, *sorted(heads - {*WORDS, *_VOCABULARY})]
    tokenizer = Tokenizer(models.WordLevel({word: i for i, word in enumerate(words)}, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer.save(str(folder / "tokenizer.json"))
    config = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "unk_token": "<unk>",
        "bos_token": "<s>",
        "eos_token": "</s>",
        "model_max_length": 1_000_000,
        "chat_template": "{% for m in messages %}{{ m['content'] }} {% endfor %}",
    }
    (folder / "tokenizer_config.json").write_text(json.dumps(config))
    (folder / "config.json").write_text(json.dumps({"model_type": "llama", "vocab_size": len(words)}))
