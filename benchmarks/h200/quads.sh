#!/usr/bin/env bash
# The eight-GPU campaign (gpt-oss-120b-h200-dp4) in one lease: both quads at once.
#
#   quads.sh RUN_ID LIMIT_S [--one-gpu ARM]
#
# --one-gpu is the dry run: the same campaign, steps and options, one replica of one arm on GPU 0 (data-parallel-size 1).
# Needs what arm.sh needs, and PLUGINS: a folder with a vLLM plugin that fills the weights of `--load-format dummy`
# (norms 1, other weights N(0, 0.02), MXFP4 codes uniform). The campaign's servers look for it in /tmp/plugins.
set -u
run=${1:?RUN_ID} limit=${2:?LIMIT_S}; shift 2
here=$(cd "$(dirname "$0")/../.." && pwd)
: "${PLUGINS:?the folder with the dummy-weights plugin}"
campaign=$here/include/campaigns/gpt-oss-120b-h200-dp4.yaml
gpus=$(nvidia-smi --list-gpus 2>/dev/null </dev/null | grep -c '^GPU')
launches=()
case "${1:-}" in
  --one-gpu)
    launches=("${2:?--one-gpu ARM}")
    one=$(mktemp -d)/gpt-oss-120b-h200-one-gpu.yaml
    sed -e 's/^campaign: .*/campaign: gpt-oss-120b-h200-one-gpu/' -e 's/^\(  data-parallel-size:\) 4/\1 1/' \
      -e 's#h200-process/quad-[ab]#h200-process/gpu0#' -e 's/, kv_ranks: 4//' "$campaign" >"$one"
    campaign=$one needed=1 ;;
  '') needed=8 ;;
  *) echo "quads.sh: unknown option '$1' (--one-gpu ARM)" >&2; exit 2 ;;
esac
if [ "$gpus" -lt "$needed" ]; then
  echo "quads.sh: $needed GPUs are needed and this machine has $gpus" >&2
  exit 3
fi
served=${SERVED_PLUGINS:-/tmp/plugins}   # where the campaign has its servers look
rm -rf "$served" && cp -r "$PLUGINS" "$served" || exit 3
exec bash "$here/benchmarks/h200/arm.sh" "$campaign" "$run" "$limit" "${launches[@]}"
