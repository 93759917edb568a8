#!/bin/bash
# Epilog of slurm.conf for gres/mps, written by colloc: stops the node's MPS daemon after the last job that had a share.
dir=${COLLOC_MPS_DIR:-/run/colloc-mps}
[ -e "$dir/jobs/${SLURM_JOB_ID:?}" ] || exit 0
exec 9>"$dir/lock" || exit 0
flock -w 20 9 || exit 0
rm -f -- "$dir/jobs/$SLURM_JOB_ID"
if [ -z "$(ls -A -- "$dir/jobs")" ]; then
  echo quit | CUDA_MPS_PIPE_DIRECTORY=${CUDA_MPS_PIPE_DIRECTORY:-/tmp/nvidia-mps} timeout 20 nvidia-cuda-mps-control >/dev/null 2>&1 9>&-
fi
exit 0
