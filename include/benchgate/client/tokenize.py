"""``POST /tokenize`` of the engines: vLLM and SGLang read ``prompt``, llama.cpp reads ``content``. Pure."""

from __future__ import annotations


def question(model: str, text: str) -> dict[str, object]:
    """The body that asks any of them how many tokens ``text`` has, special tokens left out."""
    return {"model": model, "prompt": text, "content": text, "add_special_tokens": False, "add_special": False}


def count_in(answer: object) -> int | None:
    """The count that an answer states, or the number of tokens that it lists; None where it does neither."""
    if not isinstance(answer, dict):
        return None
    count, tokens = answer.get("count"), answer.get("tokens")
    if isinstance(count, int) and not isinstance(count, bool) and 0 <= count < 2**40:
        return count
    return len(tokens) if isinstance(tokens, list) else None
