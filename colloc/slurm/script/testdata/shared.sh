#!/bin/bash
#SBATCH --job-name=sweep
#SBATCH --account=vision
#SBATCH --partition=gpu
#SBATCH --nodes=1
#SBATCH --ntasks-per-node=1
#SBATCH --cpus-per-task=12
#SBATCH --mem=73728M
#SBATCH --gres=gpu:2
#SBATCH --time=01:30:00
#SBATCH --signal=B:USR1@60
# GPUs of one node: 2, tasks: 3.
# Written by colloc. Exit code: 143 after TERM, else that of the first task that failed.
# shellcheck disable=SC2016,SC2317 # arguments are meant as they are; start calls the functions

trap 'code=$?; echo "colloc: setup: exit $code: $BASH_COMMAND" >&2; exit "$code"' ERR
module load cuda
trap - ERR

pids=() names=() marks=() signals=0 last='' told=0 stopped=0 failed=0

# once LOG COMMAND...: what ended well before Slurm put the job back is not done again.
once() {
  local ended=$1.${SLURM_JOB_ID:-0}.ended code
  if [ "${SLURM_RESTART_COUNT:-0}" -eq 0 ]; then
    : >"$1" || return
    rm -f -- "$ended"
  fi
  [ ! -e "$ended" ] || return 0
  trap : USR1 INT TERM
  ("${@:2}") >>"$1" 2>&1 </dev/null
  code=$?
  [ "$code" -ne 0 ] || [ ! -f "$1" ] || : >"$ended"
  return "$code"
}

# start LOG NAME COMMAND...: runs a task in the background.
start() {
  [ "$stopped" -eq 0 ] || return
  local before=$signals
  set -m
  once "$1" "${@:3}" &
  set +m
  pids+=("$!") names+=("$2") marks+=("$1.${SLURM_JOB_ID:-0}.ended")
  # a signal may have come before the task was on the list
  [ "$before" -eq "$signals" ] || [ "$told" -eq "${#pids[@]}" ] || kill -s "$last" -- "-$!"
}

# pass SIGNAL CODE: to every task; CODE is that of the script, 0 if it goes on.
pass() {
  signals=$((signals + 1)) last=$1 told=${#pids[@]}
  [ "$2" -eq 0 ] || stopped=$2
  for pid in "${pids[@]}"; do
    kill -s "$1" -- "-$pid" 2>/dev/null
  done
}

# gone PID: waits until its process group is empty, 30 s at most as Slurm does.
gone() {
  for ((n = 0; n < 300; n++)); do
    kill -0 -- "-$1" 2>/dev/null || return
    sleep 0.1
  done
  kill -s KILL -- "-$1" 2>/dev/null
}

# Whatever ends the script, nothing stays behind.
clean() {
  for pid in "${pids[@]}"; do
    kill -s KILL -- "-$pid" 2>/dev/null
  done
  quit
}

trap 'pass USR1 0' USR1
trap 'pass INT 130' INT
trap 'pass TERM 143' TERM
trap clean EXIT

work=$(mktemp -d "${SLURM_TMPDIR:-${TMPDIR:-/tmp}}/colloc.XXXXXX") || exit 1
daemons=()

# mps INDEX GPU: starts a daemon for one GPU and waits until it listens.
mps() {
  local dir=$work/$1
  mkdir -m 700 -- "$dir" "$dir/pipe" "$dir/log" || exit 1
  set -m
  CUDA_VISIBLE_DEVICES=$2 CUDA_MPS_PIPE_DIRECTORY=$dir/pipe CUDA_MPS_LOG_DIRECTORY=$dir/log \
    nvidia-cuda-mps-control -f >"$dir/log/output" 2>&1 </dev/null &
  set +m
  daemons[$1]=$!
  for ((i = 0; i < 300 && stopped == 0; i++)); do
    if [ -e "$dir/pipe/control" ]; then
      export CUDA_MPS_PIPE_DIRECTORY=$dir/pipe
      client=$2 # the daemon shows its clients one GPU, number 0
      [[ $client == *[!0-9]* ]] || client=0
      return
    fi
    kill -0 "$!" 2>/dev/null || break
    sleep 0.1
  done
  [ "$stopped" -eq 0 ] || exit "$stopped"
  echo "colloc: MPS does not start on GPU $2:" >&2
  cat -- "$dir"/log/* >&2
  exit 1
}

quit() {
  for i in "${!daemons[@]}"; do
    echo quit | CUDA_MPS_PIPE_DIRECTORY=$work/$i/pipe timeout 10 nvidia-cuda-mps-control >/dev/null 2>&1
    gone "${daemons[i]}"
  done
  rm -rf -- "$work"
}

task_0() { # resnet50
  export CUDA_VISIBLE_DEVICES=$1
  export OMP_NUM_THREADS=6 MKL_NUM_THREADS=6 OPENBLAS_NUM_THREADS=6 NUMEXPR_NUM_THREADS=6
  export COLLOC_GPU_MEMORY_MIB=18432
  export TF_FORCE_GPU_ALLOW_GROWTH=true XLA_PYTHON_CLIENT_PREALLOCATE=false
  export CUDA_MPS_PINNED_DEVICE_MEM_LIMIT=0=18432M
  export DATA='/data/image net'
  exec -- python train.py --lr 0.1
}

task_1() { # bert
  export CUDA_VISIBLE_DEVICES=$1
  export OMP_NUM_THREADS=2 MKL_NUM_THREADS=2 OPENBLAS_NUM_THREADS=2 NUMEXPR_NUM_THREADS=2
  export COLLOC_GPU_MEMORY_MIB=12288
  export TF_FORCE_GPU_ALLOW_GROWTH=true XLA_PYTHON_CLIENT_PREALLOCATE=false
  export CUDA_MPS_PINNED_DEVICE_MEM_LIMIT=0=12288M
  cd -- ./bert || exit 1
  exec -- python -m bert.train
}

task_2() { # "gpt2 \"small\""
  export CUDA_VISIBLE_DEVICES=$1
  export OMP_NUM_THREADS=4 MKL_NUM_THREADS=4 OPENBLAS_NUM_THREADS=4 NUMEXPR_NUM_THREADS=4
  export COLLOC_GPU_MEMORY_MIB=20480
  exec -- ./run.sh 'it'\''s $HOME'
}

IFS=, read -r -a gpus <<<"${CUDA_VISIBLE_DEVICES-}"
if [ "${#gpus[@]}" -lt 2 ] || [ "${gpus[0]}" = NoDevFiles ]; then
  echo "colloc: GPUs needed: 2, CUDA_VISIBLE_DEVICES is '${CUDA_VISIBLE_DEVICES-}'" >&2
  exit 1
fi
export CUDA_DEVICE_ORDER=PCI_BUS_ID # count them as Slurm does
logs=./${SLURM_JOB_ID:-0}
# GPU 0: mps
mps 0 "${gpus[0]}"
start "$logs"-0-resnet50.log resnet50 task_0 "$client"
start "$logs"-1-bert.log bert task_1 "$client"
unset CUDA_MPS_PIPE_DIRECTORY
# GPU 1: exclusive
start './gpt2 small.log' 'gpt2 "small"' task_2 "${gpus[1]}"

for i in "${!pids[@]}"; do
  before=-1
  while [ "$before" -ne "$signals" ]; do
    before=$signals
    wait "${pids[i]}"
    code=$?
  done
  [ ! -e "${marks[i]}" ] || code=0 # whatever a signal did to who wrote it
  [ "$stopped" -eq 143 ] || kill -s TERM -- "-${pids[i]}" 2>/dev/null
  gone "${pids[i]}"
  printf 'colloc: exit %d: %q\n' "$code" "${names[i]}"
  [ "$failed" -ne 0 ] || failed=$code
done
[ "$stopped" -eq 0 ] || failed=$stopped
[ "$failed" -ne 0 ] || rm -f -- "${marks[@]}" # else Slurm may begin it again
exit "$failed"
