package script

// The parts of a script that are the same for all tasks. They run on bash 4.3
// (2014) and later: the oldest that supported distributions have.

// Around the setup: a line that fails ends the job and is named.
const (
	setupHead = `trap 'code=$?; echo "colloc: setup: exit $code: $BASH_COMMAND" >&2; exit "$code"' ERR
`
	setupTail = `trap - ERR
`
)

// frameHead keeps account of the tasks and passes signals on to them. A task is
// a process group of its own, so that its children get them too; job control is
// on while it is started only, because with it wait would return for a task
// that is merely stopped.
const frameHead = `
pids=() names=() marks=() signals=0 last='' told=0 stopped=0 failed=0

# once LOG COMMAND...: what ended well before Slurm put the job back is not done again.
once() {
  local ended=$1.${SLURM_JOB_ID:-0}.ended code
  if [ "${SLURM_RESTART_COUNT:-0}" -eq 0 ]; then
    : >"$1" || return
    rm -f -- "$ended"
  fi
  [ ! -e "$ended" ] || return 0
  trap : %[3]s
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
%[1]s}

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
%[2]s}

%[4]strap 'pass INT 130' INT
trap 'pass TERM 143' TERM
trap clean EXIT
`

// What pass does: signal the process groups, or the job steps, with their
// number in Slurm. Not their srun: it takes TERM for an order to kill.
const (
	passGroups = `  for pid in "${pids[@]}"; do
    kill -s "$1" -- "-$pid" 2>/dev/null
  done
`
	passSteps = `  scancel --signal="$1" "$SLURM_JOB_ID" 2>/dev/null # the steps alone; fails if Slurm told them already
`
)

// framePeak watches the tasks' memory on GPUs until they end. Their processes are those of their groups.
const framePeak = `
# peak PID NAME: says how much memory of GPUs a process group holds, whenever it is more.
peak() {
  local most=0 used pid mib
  while kill -0 -- "-$1" 2>/dev/null; do
    used=0
    while IFS=', ' read -r pid mib _; do
      [[ $pid =~ ^[0-9]+$ && $mib =~ ^[0-9]+$ ]] || continue
      [ "$(ps -o pgid= -p "$pid" 2>/dev/null | tr -d ' ')" != "$1" ] || used=$((used + mib))
    done < <(nvidia-smi --query-compute-apps=pid,used_memory --format=csv,noheader,nounits 2>/dev/null)
    if [ "$used" -gt "$most" ]; then
      most=$used
      printf 'colloc: peak %d MiB: %q\n' "$most" "$2"
    fi
    read -r -t 5 <> <(:) # sleep, without a process that outlives this one
  done
}
watchers=()
for i in "${!pids[@]}"; do
  peak "${pids[i]}" "${names[i]}" &
  watchers+=("$!")
done
trap 'kill -- "${watchers[@]}" 2>/dev/null; clean' EXIT
`

// frameTail waits for every task. A signal interrupts wait: then it is asked
// again. What a task leaves running ends with it, but not at once: a wrapper
// dies of TERM while the program that it wraps still writes a checkpoint.
const frameTail = `
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
`

// noDevice begins what a script says when Slurm started it without its GPUs.
const noDevice = "colloc: GPUs needed: "

// frameGPUs reads which GPUs Slurm gave the job; %d is how many it needs.
const frameGPUs = `
IFS=, read -r -a gpus <<<"${CUDA_VISIBLE_DEVICES-}"
if [ "${#gpus[@]}" -lt %d ] || [ "${gpus[0]}" = NoDevFiles ]; then
  echo "` + noDevice + `%[1]d, CUDA_VISIBLE_DEVICES is '${CUDA_VISIBLE_DEVICES-}'" >&2
  exit 1
fi
export CUDA_DEVICE_ORDER=PCI_BUS_ID # count them as Slurm does
`

// frameRoom is for a GPU that jobs share: where slurmctld forgot them when it restarted,
// it gives away shares of a GPU that is full. What nvidia-smi does not say is not held
// against the job; %d is how many MiB it needs.
const frameRoom = `
free=$(nvidia-smi --id="${gpus[0]}" --query-gpu=memory.free --format=csv,noheader,nounits 2>/dev/null)
if [[ $free =~ ^[0-9]+$ && $free -lt %d ]]; then
  echo "` + noDevice + `%[1]d MiB of GPU ${gpus[0]}, which has $free" >&2
  exit 1
fi
`

// frameStep starts a task's function as a job step. It travels in the
// environment, so that srun never sees a hostile argument.
const frameStep = `
# step FUNCTION GPU OPTION...: runs the function in a job step.
step() {
  export -f "${1?}"
  exec srun --export=ALL "${@:3}" bash -c '"$@"' bash "$1" "$2"
}
`

// frameMPS starts one daemon per GPU: a fatal fault in one set then leaves the
// others alone. In its own process group it sees no signal but ours.
const frameMPS = `
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
`

// frameArrays are the script's arrays, which bash does not export.
//
//nolint:gochecknoglobals // read-only
var frameArrays = []string{"pids", "names", "marks", "daemons", "watchers", "gpus"}
