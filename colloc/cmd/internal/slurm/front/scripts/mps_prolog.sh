#!/bin/bash
# Prolog of slurm.conf for gres/mps, written by colloc: starts the node's MPS daemon for the first job that has a share.
# Whatever fails here is no reason to drain the node: without a daemon tasks take turns. Ask journalctl -t colloc-mps.
[ -n "${CUDA_MPS_ACTIVE_THREAD_PERCENTAGE-}" ] || exit 0 # this job has no share
dir=${COLLOC_MPS_DIR:-/run/colloc-mps}
export CUDA_MPS_PIPE_DIRECTORY=${CUDA_MPS_PIPE_DIRECTORY:-/tmp/nvidia-mps} CUDA_MPS_LOG_DIRECTORY=$dir/log # where clients look
unset CUDA_VISIBLE_DEVICES CUDA_MPS_ACTIVE_THREAD_PERCENTAGE                   # the daemon serves all GPUs
mkdir -p -- "$dir/jobs" "$dir/log" "$CUDA_MPS_PIPE_DIRECTORY" || exit 0
exec 9>"$dir/lock" || exit 0
flock -w 20 9 || exit 0
: >"$dir/jobs/${SLURM_JOB_ID:?}"
if ! echo get_server_list | timeout 5 nvidia-cuda-mps-control >/dev/null 2>&1; then
  timeout 20 nvidia-cuda-mps-control -d 9>&- </dev/null >"$dir/log/start" 2>&1 || logger -t colloc-mps "the daemon does not start: see $dir/log"
fi
exit 0
