#!/bin/bash
#SBATCH --job-name=set
#SBATCH --constraint=A100-40GB
#SBATCH --nodes=1
#SBATCH --ntasks-per-node=1
#SBATCH --cpus-per-task=3
#SBATCH --mem=300M
#SBATCH --gres=gpu:1
#SBATCH --time=LONGER
#SBATCH --output=logs/colloc-%j.out
#SBATCH --comment=colloc:SWEEP:x%3D1,x%3D2,x%3D3
# GPUs of one node: 1, tasks: 3.
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
  rm -rf -- "${scratch?}"
}

trap 'pass USR1 0' USR1
trap 'pass INT 130' INT
trap 'pass TERM 143' TERM
trap clean EXIT

scratch=$(mktemp -d /tmp/colloc.XXXXXX) || exit 1
export scratch

task_0() { # "x=1"
  export CUDA_VISIBLE_DEVICES=$1
  export OMP_NUM_THREADS=1 MKL_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 NUMEXPR_NUM_THREADS=1
  export COLLOC_GPU_MEMORY_MIB=N
  export TF_FORCE_GPU_ALLOW_GROWTH=true XLA_PYTHON_CLIENT_PREALLOCATE=false
  export COLLOC_TASK='x=1' COLLOC_GROUP='it'\''s' WANDB_RUN_GROUP='it'\''s'
  export COLLOC_SCRATCH=$scratch/0 TMPDIR=$scratch/0
  mkdir -p -- "$TMPDIR" || exit 1
  exec -- bash -c 'echo "$SLURM_PROCID $CUDA_VISIBLE_DEVICES cpus=$SLURM_CPUS_PER_TASK omp=$OMP_NUM_THREADS node=$NODE_RANK/$NNODES rank=$RANK/$WORLD_SIZE at=${MASTER_ADDR:+set} from=$FROM_SETUP group=$WANDB_RUN_GROUP grow=$TF_FORCE_GPU_ALLOW_GROWTH mib=$COLLOC_GPU_MEMORY_MIB own=${COLLOC_SCRATCH:+$([ -d "$TMPDIR" ] && echo yes)}"' 1
}

task_1() { # "x=2"
  export CUDA_VISIBLE_DEVICES=$1
  export OMP_NUM_THREADS=1 MKL_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 NUMEXPR_NUM_THREADS=1
  export COLLOC_GPU_MEMORY_MIB=N
  export TF_FORCE_GPU_ALLOW_GROWTH=true XLA_PYTHON_CLIENT_PREALLOCATE=false
  export COLLOC_TASK='x=2' COLLOC_GROUP='it'\''s' WANDB_RUN_GROUP='it'\''s'
  export COLLOC_SCRATCH=$scratch/1 TMPDIR=$scratch/1
  mkdir -p -- "$TMPDIR" || exit 1
  exec -- bash -c 'echo "$SLURM_PROCID $CUDA_VISIBLE_DEVICES cpus=$SLURM_CPUS_PER_TASK omp=$OMP_NUM_THREADS node=$NODE_RANK/$NNODES rank=$RANK/$WORLD_SIZE at=${MASTER_ADDR:+set} from=$FROM_SETUP group=$WANDB_RUN_GROUP grow=$TF_FORCE_GPU_ALLOW_GROWTH mib=$COLLOC_GPU_MEMORY_MIB own=${COLLOC_SCRATCH:+$([ -d "$TMPDIR" ] && echo yes)}"' 2
}

task_2() { # "x=3"
  export CUDA_VISIBLE_DEVICES=$1
  export OMP_NUM_THREADS=1 MKL_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 NUMEXPR_NUM_THREADS=1
  export COLLOC_GPU_MEMORY_MIB=N
  export TF_FORCE_GPU_ALLOW_GROWTH=true XLA_PYTHON_CLIENT_PREALLOCATE=false
  export COLLOC_TASK='x=3' COLLOC_GROUP='it'\''s' WANDB_RUN_GROUP='it'\''s'
  export COLLOC_SCRATCH=$scratch/2 TMPDIR=$scratch/2
  mkdir -p -- "$TMPDIR" || exit 1
  exec -- bash -c 'echo "$SLURM_PROCID $CUDA_VISIBLE_DEVICES cpus=$SLURM_CPUS_PER_TASK omp=$OMP_NUM_THREADS node=$NODE_RANK/$NNODES rank=$RANK/$WORLD_SIZE at=${MASTER_ADDR:+set} from=$FROM_SETUP group=$WANDB_RUN_GROUP grow=$TF_FORCE_GPU_ALLOW_GROWTH mib=$COLLOC_GPU_MEMORY_MIB own=${COLLOC_SCRATCH:+$([ -d "$TMPDIR" ] && echo yes)}"' 3
}

IFS=, read -r -a gpus <<<"${CUDA_VISIBLE_DEVICES-}"
if [ "${#gpus[@]}" -lt 1 ] || [ "${gpus[0]}" = NoDevFiles ]; then
  echo "colloc: GPUs needed: 1, CUDA_VISIBLE_DEVICES is '${CUDA_VISIBLE_DEVICES-}'" >&2
  exit 1
fi
export CUDA_DEVICE_ORDER=PCI_BUS_ID # count them as Slurm does
# GPU 0: time-slicing
start ./logs/x%3D1.log 'x=1' task_0 "${gpus[0]}"
start ./logs/x%3D2.log 'x=2' task_1 "${gpus[0]}"
start ./logs/x%3D3.log 'x=3' task_2 "${gpus[0]}"

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
