"""A gpt-oss of a few megabytes whose words are known: run inside an environment that has vLLM.

    python make_gpt_oss.py O200K_BASE_TIKTOKEN FOLDER [--garbled]

The architecture is gpt-oss (attention sinks, sliding window, experts), so that a server treats it as the real one, but
attention and experts add nothing, and the embedding of a token leads to what may follow it. So the model walks
through a graph of harmony tokens: it thinks, then answers, and ends. ``--garbled`` adds ways out of the format: after a
finished thought it may say a token that starts no message, or give the role "wizard". At temperature 0 it takes the
likeliest way each time (a correct one without ``--garbled``), at temperature 1 each way by its probability.
"""

from __future__ import annotations

import itertools
import json
import math
import sys
from pathlib import Path

import tiktoken
import tiktoken.load
import torch
from transformers import GptOssConfig, GptOssForCausalLM
from transformers.convert_slow_tokenizer import TikTokenConverter

THOUGHT = "The user asks for talk: I answer shortly then stop"
ANSWER = " Here come some words that nobody ever wrote by hand"
VOCAB_SIZE, HIDDEN = 201088, 128
# how o200k cuts text before it merges; only whole words are encoded here, so this simple form is enough
PATTERN = r"[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s+"
SURE = 30.0  # logit of a token that may follow; everything else stays below 6

Graph = dict[int, list[tuple[int, float]]]


def chain(graph: Graph, tokens: list[int]) -> None:
    """Each token leads to the next one."""
    for here, after in itertools.pairwise(tokens):
        graph.setdefault(here, []).append((after, 1.0))


def harmony_graph(encoding: tiktoken.Encoding, *, garbled: bool) -> Graph:
    """What may follow each token, with probabilities. The prompt ends in ``<|start|>assistant``."""

    def one(text: str) -> int:
        (token,) = encoding.encode(text, allowed_special="all")
        return token

    start, end, stop = one("<|start|>"), one("<|end|>"), one("<|return|>")
    channel, message = one("<|channel|>"), one("<|message|>")
    assistant, analysis, final = one("assistant"), one("analysis"), one("final")
    thought, answer = encoding.encode(THOUGHT), encoding.encode(ANSWER)
    if len(set(thought + answer)) != len(thought + answer):
        raise ValueError("every word must be used once, or its successor is not known")
    graph: Graph = {}
    chain(graph, [assistant, channel])
    # one token of memory: the channel's name leads to <|message|>, which no longer knows which it was
    graph[channel] = [(analysis, 0.6), (final, 0.4)]
    graph[analysis] = graph[final] = [(message, 1.0)]
    graph[message] = [(thought[0], 0.4), (answer[0], 0.6)]
    chain(graph, thought)
    chain(graph, answer)
    graph[thought[-1]] = [(end, 0.7), (thought[0], 0.3)]
    graph[answer[-1]] = [(stop, 0.7), (answer[0], 0.3)]
    graph[end] = [(start, 1.0)]
    graph[start] = [(assistant, 1.0)]
    if garbled:
        wizard, zero = one("wizard"), 0
        graph[end] = [(start, 0.5), (zero, 0.5)]
        graph[start] = [(assistant, 0.4), (wizard, 0.6)]
        graph[wizard] = [(message, 1.0)]
        graph[zero] = [(zero, 1.0)]
    return graph


def weights(graph: Graph) -> tuple[torch.Tensor, torch.Tensor]:
    """Embedding and output matrix: a token's normalised embedding times the output matrix gives its successors' logits.

    The tokens of the graph have orthogonal embeddings, so that their probabilities are what the graph says.
    """
    generator = torch.Generator().manual_seed(20)
    embedding = torch.randn(VOCAB_SIZE, HIDDEN, generator=generator)
    known = sorted({*graph, *(after for successors in graph.values() for after, _ in successors)})
    basis, _ = torch.linalg.qr(torch.randn(HIDDEN, HIDDEN, generator=generator))
    embedding[known] = basis[: len(known)]
    embedding = torch.nn.functional.normalize(embedding, dim=1) * HIDDEN**0.5
    output = torch.zeros(VOCAB_SIZE, HIDDEN)
    for here, successors in graph.items():
        for after, probability in successors:
            output[after] += embedding[here] * (SURE + math.log(probability)) / HIDDEN
    return embedding, output


def harmony_encoding(vocab: Path) -> tiktoken.Encoding:
    """harmony's tokens, from the plain vocabulary: tiktoken would look for it under another name, or download it."""
    base = tiktoken.load.load_tiktoken_bpe(str(vocab))
    special = {f"<|reserved_{number}|>": number for number in range(199998, VOCAB_SIZE)}
    named = {
        "<|startoftext|>": 199998,
        "<|endoftext|>": 199999,
        "<|return|>": 200002,
        "<|constrain|>": 200003,
        "<|channel|>": 200005,
        "<|start|>": 200006,
        "<|end|>": 200007,
        "<|message|>": 200008,
        "<|call|>": 200012,
    }
    for name, number in named.items():
        del special[f"<|reserved_{number}|>"]
        special[name] = number
    return tiktoken.Encoding("harmony", pat_str=PATTERN, mergeable_ranks=base, special_tokens=special)


def main(vocab: Path, folder: Path, *, garbled: bool) -> None:
    """Write the checkpoint and its tokenizer."""
    encoding = harmony_encoding(vocab)
    config = GptOssConfig(
        vocab_size=VOCAB_SIZE,
        hidden_size=HIDDEN,
        intermediate_size=HIDDEN,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=1,
        head_dim=64,
        num_local_experts=4,
        num_experts_per_tok=2,
        sliding_window=128,
        max_position_embeddings=8192,
        layer_types=["sliding_attention", "full_attention"],
        eos_token_id=200002,
        pad_token_id=199999,
    )
    model = GptOssForCausalLM(config)
    embedding, output = weights(harmony_graph(encoding, garbled=garbled))
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter.fill_(1.0 if "norm" in name else 0.0)
        model.get_input_embeddings().weight.copy_(embedding)
        model.get_output_embeddings().weight.copy_(output)
    model.to(torch.bfloat16).save_pretrained(folder)
    names = sorted(encoding._special_tokens, key=lambda name: encoding._special_tokens[name])
    TikTokenConverter(str(vocab), pattern=PATTERN, extra_special_tokens=names).converted().save(
        str(folder / "tokenizer.json")
    )
    settings = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "eos_token": "<|return|>",
        "pad_token": "<|endoftext|>",
        "model_max_length": 8192,
        "chat_template": "{% for m in messages %}{{ m.content }}{% endfor %}",
    }
    (folder / "tokenizer_config.json").write_text(json.dumps(settings))
    generation = {"do_sample": True, "eos_token_id": [200002, 199999, 200012], "pad_token_id": 199999}
    (folder / "generation_config.json").write_text(json.dumps(generation))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), garbled="--garbled" in sys.argv[3:])
