#!/usr/bin/env bash
# Measure launches of a campaign on a machine with GPUs, no Docker and no network, and pack what came of it.
#
#   arm.sh CAMPAIGN_FILE RUN_ID LIMIT_S [ARM|LAUNCH ..]
#
# Needs: an unpacked engine (ENGINE_SITE, a folder on PYTHONPATH), Benchgate's own packages (BENCHGATE_SITE) and OUT, where
# results are packed every 10 s and at the end, so that a run that is cut off loses little. The run's artifacts stay in
# BENCHGATE_HOME: the next call with the same RUN_ID goes on with the same run.
# AFTER_CELLS, if set, is run beside every server after its cells (BASE_URL, MODEL, ARM and RESULT are set for it).
set -u
campaign=$1 run=$2 limit=$3; shift 3
here=$(cd "$(dirname "$0")/../.." && pwd)
: "${OUT:?}" "${ENGINE_SITE:=/tmp/site}" "${BENCHGATE_SITE:=/tmp/benchgate-site}"
export BENCHGATE_HOME=${BENCHGATE_HOME:-/tmp/benchgate-home}
export PYTHONPATH="$here/include:$BENCHGATE_SITE:$ENGINE_SITE" PYTHONUNBUFFERED=1
python=${PYTHON:-python3}
mkdir -p "$BENCHGATE_HOME/bin" "$OUT"
# The campaign starts `vllm`; an unpacked wheel has no such script.
if [ ! -x "$BENCHGATE_HOME/bin/vllm" ]; then
  printf '#!/bin/sh\nexec %s -u -m vllm.entrypoints.cli.main "$@"\n' "$(command -v "$python")" >"$BENCHGATE_HOME/bin/vllm"
  chmod +x "$BENCHGATE_HOME/bin/vllm"
fi
export PATH="$BENCHGATE_HOME/bin:$PATH"

# The engine's log lies in the placement's state until the server is stopped; a run that is cut off would lose it.
logs() {
  find "$BENCHGATE_HOME/state" -name '*.log' 2>/dev/null | while read -r log; do
    gzip -c "$log" >"$BENCHGATE_HOME/artifacts/state-$(basename "$(dirname "$log")")-$(basename "$log").gz"
  done
}
pack() {
  mkdir -p "$BENCHGATE_HOME/artifacts"; logs
  tar -czf "$OUT/$run.tar.gz.part" -C "$BENCHGATE_HOME" --exclude='*.part' artifacts console.txt 2>/dev/null
  mv -f "$OUT/$run.tar.gz.part" "$OUT/$run.tar.gz" 2>/dev/null
}
( while sleep 10; do pack; done ) >/dev/null 2>&1 </dev/null &
packer=$!
launches=(); [ $# -eq 0 ] || launches=(--launches "$@")
after=(); [ -z "${AFTER_CELLS:-}" ] || after=(--after-cells "$AFTER_CELLS")
# SIGINT first: what was measured is kept and the servers are stopped; the hard end comes 30 s later.
timeout --signal=INT --kill-after=30 "$limit" "$python" -m benchgate run "$campaign" --no-airflow --run-id "$run" \
  --no-publish "${launches[@]}" "${after[@]}" 2>&1 </dev/null | tee -a "$BENCHGATE_HOME/console.txt" | cut -c1-240
status=${PIPESTATUS[0]}
kill "$packer" 2>/dev/null
nvidia-smi >"$BENCHGATE_HOME/artifacts/nvidia-smi.txt" 2>/dev/null </dev/null
pack
ls -l "$OUT"
exit "$status"
