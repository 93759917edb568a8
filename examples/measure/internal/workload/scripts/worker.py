"""Runs one workload of examples/measure: python3 worker.py TASK.

It obeys JSON lines on standard input and answers with JSON lines on standard
output; everything that libraries print goes to standard error.

    command                                         answer
    (start)                                         hello
    {"cmd":"prepare"}                               ready, oom or error
    {"cmd":"go","warmup":2,"measure":5}             done, oom or error
    {"cmd":"quit"}, or the end of standard input    (exit)

prepare builds model, optimizer and synthetic data and runs a few steps; go
repeats steps for warmup + measure seconds and then frees everything but the
CUDA context, so that the process can prepare again. Times are Unix seconds.
MEASURE_DEVICE=cpu runs without a GPU, to check these scripts.
"""

import gc
import json
import os
import platform
import resource
import sys
import time


def open_protocol():
    """Keeps standard output for answers and sends prints to standard error."""
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    return out


OUT = open_protocol()

import torch  # noqa: E402  after the outputs are in place

import describe  # noqa: E402
import tasks  # noqa: E402
import training  # noqa: E402

DEVICE = torch.device(os.environ.get("MEASURE_DEVICE", "cuda"))
CUDA = DEVICE.type == "cuda"


def say(event, **fields):
    """Writes one answer; None is what is not known."""
    known = {k: v for k, v in fields.items() if v is not None}
    OUT.write(json.dumps({"event": event, **known}) + "\n")
    OUT.flush()


def synchronize():
    if CUDA:
        torch.cuda.synchronize()


def free_and_total():
    return torch.cuda.mem_get_info() if CUDA else (None, None)


def hello():
    free, total = free_and_total()  # creates the context; there is no tensor yet
    say(
        "hello",
        python=platform.python_version(),
        torch=torch.__version__,
        torch_cuda=torch.version.cuda,
        cudnn=str(torch.backends.cudnn.version()) if CUDA else None,
        device=torch.cuda.get_device_name() if CUDA else "cpu",
        total_bytes=total,
        device_used_bytes=total - free if CUDA else None,
    )


def release():
    """Gives back all memory but the context."""
    gc.collect()
    if CUDA:
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()


def prepare(task, spec):
    """Returns the step and the task's description, made once per process."""
    torch.manual_seed(1)
    release()
    training.set_precision(task)
    job = task.build()
    if spec is None:
        spec = describe.spec(task, job, DEVICE)
        release()
    step = training.make_step(task, job, DEVICE)
    for _ in range(3):
        step()
    synchronize()
    return step, spec


def repeat(step, warmup, measure):
    """Repeats step and returns, for moments after a synchronisation, the time
    and how many steps were done.

    There is a moment about every 50 ms, or after each step that takes longer:
    often enough to find the steps of a window by interpolation, seldom enough
    not to disturb how the CPU runs ahead of the GPU.
    """
    begin, base = time.time(), time.perf_counter()
    times, counts, done, chunk = [begin], [0], 0, 1
    while times[-1] < begin + warmup + measure:
        for _ in range(chunk):
            step()
        synchronize()
        done += chunk
        times.append(begin + (time.perf_counter() - base))
        counts.append(done)
        took = times[-1] - times[-2]
        if took < 0.025:
            chunk *= 2
        elif took > 0.1:
            chunk = max(1, chunk // 2)
    return times, counts


def go(step, warmup, measure):
    before = resource.getrusage(resource.RUSAGE_SELF)
    times, counts = repeat(step, warmup, measure)
    after = resource.getrusage(resource.RUSAGE_SELF)
    say(
        "done",
        times=[round(t, 6) for t in times],
        counts=counts,
        peak_allocated_bytes=torch.cuda.max_memory_allocated() if CUDA else None,
        peak_reserved_bytes=torch.cuda.max_memory_reserved() if CUDA else None,
        cpu_seconds=after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime,
    )


def is_out_of_memory(error):
    """Tells a lack of device memory from other errors; libraries below PyTorch
    report it in words of their own."""
    if CUDA and isinstance(error, torch.cuda.OutOfMemoryError):
        return True
    text = str(error).lower()
    return "out of memory" in text or "alloc_failed" in text


def report(error, phase):
    """Says why a phase ended early."""
    message = " ".join(str(error).split())[:500]
    if not is_out_of_memory(error):
        say("error", phase=phase, message=f"{type(error).__name__}: {message}")
        return
    try:
        free, total = free_and_total()
        reserved = torch.cuda.memory_reserved() if CUDA else None
    except RuntimeError:  # not even a context
        free = total = reserved = None
    say("oom", phase=phase, message=message, free_bytes=free, total_bytes=total, reserved_bytes=reserved)


def serve(task):
    step = spec = None
    for line in sys.stdin:
        command = json.loads(line)
        name = command["cmd"]
        if name == "quit":
            return
        try:
            if name == "prepare":
                step, spec = prepare(task, spec)
                say("ready", spec=spec)
            elif name == "go":
                go(step, command["warmup"], command["measure"])
                step = None
                release()
            else:
                raise ValueError(f"unknown command {name!r}")
        except Exception as error:  # whatever a library raises
            report(error, name)
            return  # the state is not worth keeping


def main():
    if len(sys.argv) != 2 or sys.argv[1] not in tasks.TASKS:
        sys.exit(f"usage: worker.py TASK, one of: {', '.join(tasks.TASKS)}")
    try:
        hello()
    except Exception as error:
        report(error, "start")
        return
    serve(tasks.TASKS[sys.argv[1]])


if __name__ == "__main__":
    main()
