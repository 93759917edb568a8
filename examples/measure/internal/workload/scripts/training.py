"""How a task becomes a step: what a workload is, precision, optimizer."""

import contextlib
import dataclasses
import itertools
from typing import Callable, Optional

import torch


@dataclasses.dataclass(frozen=True)
class Task:
    """What is known of a workload before it runs.

    Precision and optimizer have the names of package profile: fp32, tf32, mixed
    (autocast to bfloat16, or to float16 where the GPU is too old for that),
    bf16, fp16; sgd, momentum, adam, none (inference).
    """

    model: str
    family: str
    batch: int
    build: Callable[[], "Job"]
    precision: str = "fp32"
    optimizer: str = "adam"


@dataclasses.dataclass
class Job:
    """A built workload, on the CPU.

    batches are tuples of tensors, batch first. loss(module, batch) is the
    training loss, or the output where the task is inference. make_step, if
    given, replaces the ordinary step.
    """

    module: torch.nn.Module
    batches: list
    loss: Callable
    make_step: Optional[Callable] = None


HALF = {"bf16": torch.bfloat16, "fp16": torch.float16}


def set_precision(task):
    """TF32 only where the task says so: PyTorch's own defaults differ between
    convolutions, products and releases."""
    allow = task.precision == "tf32"
    torch.backends.cuda.matmul.allow_tf32 = allow
    torch.backends.cudnn.allow_tf32 = allow


def autocast(task, device):
    if task.precision == "mixed":
        # is_bf16_supported() is true of emulation, too
        old = device.type == "cuda" and torch.cuda.get_device_capability() < (8, 0)
        return torch.autocast(device.type, dtype=torch.float16 if old else torch.bfloat16)
    return contextlib.nullcontext()


def make_optimizer(task, parameters):
    if task.optimizer == "adam":
        return torch.optim.AdamW(parameters, lr=1e-4)
    momentum = 0.9 if task.optimizer == "momentum" else 0.0
    return torch.optim.SGD(parameters, lr=1e-3, momentum=momentum)


def mover(task, device):
    """Returns a function that puts a batch on the device in the task's format."""
    half = HALF.get(task.precision)

    def move(batch):
        on_device = (t.to(device, non_blocking=True) for t in batch)
        return tuple(t.to(half) if half and t.is_floating_point() else t for t in on_device)

    return move


def make_step(task, job, device):
    """Returns a function that does one step: a batch comes from host memory, as
    it would from a data loader, and the weights change."""
    module = job.module.to(device, HALF.get(task.precision))
    if job.make_step:
        return job.make_step(task, job, device)
    pinned = [tuple(t.pin_memory() if device.type == "cuda" else t for t in b) for b in job.batches]
    batches, move = itertools.cycle(pinned), mover(task, device)
    if task.optimizer == "none":
        return inference_step(task, job, device, batches, move)
    module.train()
    optimizer = make_optimizer(task, module.parameters())

    def step():
        batch = move(next(batches))
        optimizer.zero_grad(set_to_none=True)
        with autocast(task, device):
            loss = job.loss(module, batch)
        loss.backward()
        optimizer.step()

    return step


def inference_step(task, job, device, batches, move):
    """One request: the answer goes back to the host before the next one."""
    module = job.module.eval()

    @torch.inference_mode()
    def step():
        with autocast(task, device):
            job.loss(module, move(next(batches))).float().cpu()

    return step
