#!/bin/bash
#SBATCH --job-name=sweep
#SBATCH --account=vision
#SBATCH --partition=gpu
#SBATCH --nodes=1
#SBATCH --ntasks-per-node=1
#SBATCH --cpus-per-task=12
#SBATCH --mem=73728M
#SBATCH --gres=gpu:3
#SBATCH --time=01:30:00
#SBATCH --signal=B:USR1@60
# Job steps with CPUs, memory and GPUs of their own: 3.
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

task_0() { # resnet50
  export OMP_NUM_THREADS=6 MKL_NUM_THREADS=6 OPENBLAS_NUM_THREADS=6 NUMEXPR_NUM_THREADS=6
  export COLLOC_GPU_MEMORY_MIB=18432
  export DATA='/data/image net'
  exec -- python train.py --lr 0.1
}

task_1() { # bert
  export OMP_NUM_THREADS=2 MKL_NUM_THREADS=2 OPENBLAS_NUM_THREADS=2 NUMEXPR_NUM_THREADS=2
  export COLLOC_GPU_MEMORY_MIB=12288
  cd -- ./bert || exit 1
  exec -- python -m bert.train
}

task_2() { # "gpt2 \"small\""
  export OMP_NUM_THREADS=4 MKL_NUM_THREADS=4 OPENBLAS_NUM_THREADS=4 NUMEXPR_NUM_THREADS=4
  export COLLOC_GPU_MEMORY_MIB=20480
  exec -- ./run.sh 'it'\''s $HOME'
}

logs=./${SLURM_JOB_ID:-0}
start "$logs"-0-resnet50.log resnet50 step task_0 '' --exact --nodes=1 --ntasks=1 --cpus-per-task=6 --mem=24576M --gres=gpu:1
start "$logs"-1-bert.log bert step task_1 '' --exact --nodes=1 --ntasks=1 --cpus-per-task=2 --mem=16384M --gres=gpu:1
start './gpt2 small.log' 'gpt2 "small"' step task_2 '' --exact --nodes=1 --ntasks=1 --cpus-per-task=4 --mem=32768M --gres=gpu:1

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
