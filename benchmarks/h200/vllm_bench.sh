#!/bin/sh
# The same load as a cell of the campaign, by vLLM's own client, on the server that was just measured (--after-cells).
# One Python process for all cells: its imports take half a minute.
set -e
exec "${PYTHON:-python3}" "$(dirname "$0")/vllm_bench.py" "$BASE_URL" "$MODEL" "${TOKENIZER:-/tmp/models/gpt-oss-20b}" "$RESULT"
