"""Describes a workload in the words of package profile: a Spec as JSON."""

import torch
from torch import nn

import training
from layers import Attention


def kind(module):
    for kinds, name in (
        ((nn.Linear,), "linear"),
        ((nn.modules.conv._ConvNd,), "conv"),
        ((nn.modules.batchnorm._NormBase, nn.LayerNorm, nn.GroupNorm), "norm"),
        ((nn.ReLU, nn.ReLU6, nn.GELU, nn.Tanh, nn.Hardswish, nn.Sigmoid), "activation"),
        ((nn.Dropout,), "dropout"),
        ((nn.MaxPool2d, nn.AvgPool2d, nn.AdaptiveAvgPool2d), "pool"),
        ((nn.Embedding, nn.EmbeddingBag), "embedding"),
        ((Attention,), "attention"),
        ((nn.RNNBase,), "recurrent"),
    ):
        if isinstance(module, kinds):
            return name
    return "other"


def neurons(module):
    for name in ("out_features", "out_channels", "embedding_dim", "hidden_size", "num_features"):
        if hasattr(module, name):
            return getattr(module, name)
    return 0


def macs(module, inputs, output, batch):
    """Multiply-adds of the forward pass for one sample, or None."""
    if isinstance(module, nn.Linear):
        return output.numel() * module.in_features // batch
    if isinstance(module, nn.modules.conv._ConvTransposeNd):
        return inputs[0].numel() * module.weight[0].numel() // batch
    if isinstance(module, nn.modules.conv._ConvNd):
        return output.numel() * module.weight[0].numel() // batch
    if isinstance(module, Attention):
        return 2 * output.numel() * inputs[1].shape[-2] // batch
    return None


def layers(module, run, batch):
    """Runs the model once and returns its leaves in the order they compute."""
    found, counted = [], set()

    def hook(name):
        def add(leaf, inputs, output):
            output = output[0] if isinstance(output, tuple) else output
            own = [p for p in leaf.parameters() if id(p) not in counted]
            counted.update(id(p) for p in own)
            layer = {
                "name": name,
                "kind": kind(leaf),
                "neurons": neurons(leaf),
                "params": sum(p.numel() for p in own),
                "activations": output.numel() // batch,
                "in_place": getattr(leaf, "inplace", False) or isinstance(leaf, (nn.Identity, nn.Flatten)),
            }
            products = macs(leaf, inputs, output, batch)
            found.append(layer if products is None else {**layer, "macs": products})

        return add

    leaves = [(n, m) for n, m in module.named_modules() if not list(m.children())]
    handles = [m.register_forward_hook(hook(n)) for n, m in leaves]
    try:
        with torch.no_grad():
            run()
    finally:
        for handle in handles:
            handle.remove()
    return found


def spec(task, job, device):
    batch = training.mover(task, device)(job.batches[0])
    module = job.module.to(device, training.HALF.get(task.precision))

    def run():
        with training.autocast(task, device):
            job.loss(module, batch)

    return {
        "model": {"name": task.model, "family": task.family, "layers": layers(module, run, task.batch)},
        "dataset": {"name": "synthetic", "sample_elements": sum(t[0].numel() for t in job.batches[0][:-1])},
        "training": {"batch_size": task.batch, "precision": task.precision, "optimizer": task.optimizer},
    }
