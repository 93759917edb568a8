#!/bin/bash
#SBATCH --job-name=own
#SBATCH --nodes=1
#SBATCH --ntasks-per-node=1
#SBATCH --cpus-per-task=6
#SBATCH --mem=300M
#SBATCH --gres=gpu:3
#SBATCH --time=00:05:00
#SBATCH --output=logs/colloc-%j.out
#SBATCH --comment=colloc:SWEEP:run-0,run-1,run-2
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

task_0() { # run-0
  export OMP_NUM_THREADS=2 MKL_NUM_THREADS=2 OPENBLAS_NUM_THREADS=2 NUMEXPR_NUM_THREADS=2
  exec -- bash -c 'echo "$SLURM_PROCID $CUDA_VISIBLE_DEVICES cpus=$SLURM_CPUS_PER_TASK omp=$OMP_NUM_THREADS node=$NODE_RANK/$NNODES rank=$RANK/$WORLD_SIZE at=${MASTER_ADDR:+set} from=$FROM_SETUP group=$WANDB_RUN_GROUP grow=$TF_FORCE_GPU_ALLOW_GROWTH mib=$COLLOC_GPU_MEMORY_MIB own=${COLLOC_SCRATCH:+$([ -d "$TMPDIR" ] && echo yes)}"'
}

task_1() { # run-1
  export OMP_NUM_THREADS=2 MKL_NUM_THREADS=2 OPENBLAS_NUM_THREADS=2 NUMEXPR_NUM_THREADS=2
  exec -- bash -c 'echo "$SLURM_PROCID $CUDA_VISIBLE_DEVICES cpus=$SLURM_CPUS_PER_TASK omp=$OMP_NUM_THREADS node=$NODE_RANK/$NNODES rank=$RANK/$WORLD_SIZE at=${MASTER_ADDR:+set} from=$FROM_SETUP group=$WANDB_RUN_GROUP grow=$TF_FORCE_GPU_ALLOW_GROWTH mib=$COLLOC_GPU_MEMORY_MIB own=${COLLOC_SCRATCH:+$([ -d "$TMPDIR" ] && echo yes)}"'
}

task_2() { # run-2
  export OMP_NUM_THREADS=2 MKL_NUM_THREADS=2 OPENBLAS_NUM_THREADS=2 NUMEXPR_NUM_THREADS=2
  exec -- bash -c 'echo "$SLURM_PROCID $CUDA_VISIBLE_DEVICES cpus=$SLURM_CPUS_PER_TASK omp=$OMP_NUM_THREADS node=$NODE_RANK/$NNODES rank=$RANK/$WORLD_SIZE at=${MASTER_ADDR:+set} from=$FROM_SETUP group=$WANDB_RUN_GROUP grow=$TF_FORCE_GPU_ALLOW_GROWTH mib=$COLLOC_GPU_MEMORY_MIB own=${COLLOC_SCRATCH:+$([ -d "$TMPDIR" ] && echo yes)}"'
}

start ./logs/run-0.log run-0 step task_0 '' --exact --nodes=1 --ntasks=1 --cpus-per-task=2 --mem=100M --gres=gpu:1
start ./logs/run-1.log run-1 step task_1 '' --exact --nodes=1 --ntasks=1 --cpus-per-task=2 --mem=100M --gres=gpu:1
start ./logs/run-2.log run-2 step task_2 '' --exact --nodes=1 --ntasks=1 --cpus-per-task=2 --mem=100M --gres=gpu:1

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
