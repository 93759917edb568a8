#!/bin/bash
#SBATCH --job-name=sweep
#SBATCH --account=vision
#SBATCH --partition=gpu
#SBATCH --constraint=a100_80gb&ib
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=1
#SBATCH --cpus-per-task=32
#SBATCH --mem=409600M
#SBATCH --gres=gpu:a100:4
#SBATCH --time=01:30:00
#SBATCH --signal=B:USR1@60
# One task on 2 x 4 GPUs.
# Written by colloc. Exit code: 143 after TERM, else that of the first task that failed.
# shellcheck disable=SC2016,SC2317 # arguments are meant as they are; start calls the functions

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
  scancel --signal="$1" "$SLURM_JOB_ID" 2>/dev/null # the steps alone; fails if Slurm told them already
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
}

trap 'pass USR1 0' USR1
trap 'pass INT 130' INT
trap 'pass TERM 143' TERM
trap clean EXIT

# step FUNCTION GPU OPTION...: runs the function in a job step.
step() {
  export -f "${1?}"
  exec srun --export=ALL "${@:3}" bash -c '"$@"' bash "$1" "$2"
}

MASTER_ADDR=$(scontrol show hostnames "$SLURM_JOB_NODELIST") || exit 1
export MASTER_ADDR=${MASTER_ADDR%%$'\n'*}
export MASTER_PORT=$((10000 + SLURM_JOB_ID % 20000))

task_0() { # llm
  export OMP_NUM_THREADS=32 MKL_NUM_THREADS=32 OPENBLAS_NUM_THREADS=32 NUMEXPR_NUM_THREADS=32
  export NODE_RANK=$SLURM_NODEID NNODES=2
  exec -- train.py --zero 3
}

logs=./${SLURM_JOB_ID:-0}
start "$logs"-0-llm.log llm step task_0 '' --nodes=2 --ntasks=2 --ntasks-per-node=1 --cpus-per-task=32 --kill-on-bad-exit=1 --gres=gpu:a100:4

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
