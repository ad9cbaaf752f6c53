"""``vllm bench serve`` with the loads of gpt-oss-20b-h200-dummy on a running server, in one process."""

from __future__ import annotations

import argparse
import sys
from urllib.parse import urlsplit

# (name, prompt tokens, answer tokens, requests, users)
LOADS = [("short-u16", 256, 256, 48, 16), ("short-u64", 256, 256, 128, 64)]


def arguments(
    base_url: str, model: str, tokenizer: str, folder: str, load: tuple[str, int, int, int, int]
) -> list[str]:
    """The options of one measurement, as they are typed after ``vllm bench serve``."""
    name, prompt, answer, requests, users = load
    address = urlsplit(base_url)
    return [
        *("--backend", "vllm", "--host", str(address.hostname), "--port", str(address.port)),
        *("--endpoint", "/v1/completions", "--model", model, "--served-model-name", model, "--tokenizer", tokenizer),
        *("--dataset-name", "random", "--random-input-len", str(prompt), "--random-output-len", str(answer)),
        *("--random-range-ratio", "0.0", "--num-prompts", str(requests), "--max-concurrency", str(users)),
        *("--num-warmups", str(users), "--seed", "1017", "--ignore-eos"),
        *("--percentile-metrics", "ttft,tpot,itl,e2el", "--metric-percentiles", "50,90,95,99"),
        *("--save-result", "--save-detailed", "--result-dir", folder, "--result-filename", f"{name}.json"),
        "--disable-tqdm",
    ]


def main() -> int:
    """Run every load, one after another."""
    from vllm.benchmarks.serve import add_cli_args
    from vllm.benchmarks.serve import main as bench

    base_url, model, tokenizer, folder = sys.argv[1:]
    for load in LOADS:
        parser = argparse.ArgumentParser()
        add_cli_args(parser)
        argv = arguments(base_url, model, tokenizer, folder, load)
        print(f"=== {load[0]}: vllm bench serve {' '.join(argv)}", flush=True)
        bench(parser.parse_args(argv))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
