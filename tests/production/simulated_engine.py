"""A server that speaks as llama.cpp does and costs nothing: an image of the production tests, standard library alone.

It finds planted facts by looking for them, so that gates pass, and sends a token every ``--itl-ms`` milliseconds.
"""

import argparse
import json
import os
import re
import signal
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

TOTALS = {"prompt_tokens_total": 0, "tokens_predicted_total": 0, "requests_processing": 0, "requests_deferred": 0}
LOCK = threading.Lock()


def parser() -> argparse.ArgumentParser:
    """llama.cpp's names, as far as a campaign of the tests uses them."""
    made = argparse.ArgumentParser(allow_abbrev=False)
    for name in ("--model", "--alias", "--host"):
        made.add_argument(name)
    for name, default in (("--port", 8000), ("--ctx-size", 2048), ("--parallel", 4), ("--threads", 1)):
        made.add_argument(name, type=int, default=default)
    made.add_argument("--itl-ms", type=float, default=20.0)
    return made


class Handler(BaseHTTPRequestHandler):
    """Health, models, metrics and chats."""

    protocol_version = "HTTP/1.1"
    args: argparse.Namespace

    def log_message(self, *_: object) -> None:
        """Nothing: the log is for what a server proves."""

    def reply(self, value: object, status: int = 200) -> None:
        """A whole answer."""
        data = value.encode() if isinstance(value, str) else json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "text/plain" if isinstance(value, str) else "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def do_GET(self) -> None:
        """The plain pages."""
        if self.path == "/health":
            self.reply({"status": "ok"})
        elif self.path == "/v1/models":
            self.reply({"data": [{"id": self.args.alias, "meta": {"n_ctx_train": 8192}}]})
        elif self.path == "/props":
            slot = self.args.ctx_size // self.args.parallel
            self.reply({"total_slots": self.args.parallel, "default_generation_settings": {"n_ctx": slot}})
        elif self.path == "/metrics":
            with LOCK:
                self.reply("".join(f"llamacpp:{name} {value}\n" for name, value in TOTALS.items()))
        else:
            self.reply({"error": {"message": "not found"}}, 404)

    def do_POST(self) -> None:
        """A chat, streamed or whole."""
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path != "/v1/chat/completions":
            return self.reply({"error": {"message": "not found"}}, 404)
        prompt = " ".join(str(message["content"]) for message in body.get("messages", []))
        asked = re.search(r"What is the secret code of the (\w+) archive", prompt)
        planted = re.search(rf"The secret code of the {asked[1]} archive is (\d+)", prompt) if asked else None
        words = [planted[1]] if planted else ["word"] * int(body.get("max_tokens") or 16)
        usage = {"prompt_tokens": len(prompt.split()) * 4 // 3, "completion_tokens": len(words)}
        usage["total_tokens"] = sum(usage.values())
        with LOCK:
            TOTALS["requests_processing"] += 1
        try:
            if body.get("stream"):
                self.stream(words, usage)
            else:
                message = {"role": "assistant", "content": " ".join(words)}
                self.reply({"choices": [{"index": 0, "message": message, "finish_reason": "stop"}], "usage": usage})
        finally:
            with LOCK:
                TOTALS["requests_processing"] -= 1
                TOTALS["prompt_tokens_total"] += usage["prompt_tokens"]
                TOTALS["tokens_predicted_total"] += usage["completion_tokens"]
        return None

    def stream(self, words: list[str], usage: dict[str, int]) -> None:
        """An event a token, then the usage."""
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        self.close_connection = True
        for number, word in enumerate(words):
            time.sleep(self.args.itl_ms / 1000)
            reason = "length" if number == len(words) - 1 else None
            self.event({"choices": [{"index": 0, "delta": {"content": f"{word} "}, "finish_reason": reason}]})
        self.event({"choices": [], "usage": usage})
        self.wfile.write(b"data: [DONE]\n\n")

    def event(self, value: object) -> None:
        """One event, at once."""
        self.wfile.write(b"data: " + json.dumps(value).encode() + b"\n\n")
        self.wfile.flush()


def main() -> None:
    """Serve until a signal."""
    args = Handler.args = parser().parse_args()
    slot = args.ctx_size // args.parallel
    print("llamacpp_server: xllamacpp 0.0.simulated, a server of the tests", flush=True)
    print(f"system_info: n_threads = {args.threads}", flush=True)
    print(f"n_slots = {args.parallel}, n_ctx_slot = {slot}", flush=True)
    signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
    server = ThreadingHTTPServer((args.host, args.port), Handler)
    print(f"llamacpp_server: ready on {args.host}:{args.port}", flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
