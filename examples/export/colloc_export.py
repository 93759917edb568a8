"""Describes a PyTorch training task for colloc, with nothing but torch.

    import colloc_export

    colloc_export.describe(model, batch, optimizer, "mixed", path="task.json")

describe runs one forward and one backward pass of the model as it stands, on the
device where it stands, and writes a specification (profile.Spec of package
profile) as JSON: the leaves in the order they compute, with parameters (shared
ones once, frozen ones told), outputs and multiply-adds of one sample; attention
and other products that no module shows; and what is alive after the forward pass
and at most in the backward pass, as autograd's hooks for saved tensors and the
dispatcher tell. On device "meta" it needs neither memory nor a GPU:

    with torch.device("meta"):
        model, batch = Net(), torch.zeros(32, 3, 224, 224)

The model's training or evaluation mode stays as it is; gradients are left as
they were. Tested with torch 1.13 on the CPU; what a version lacks is left out and
told among the warnings.
"""

import contextlib
import json

import torch
from torch import nn
from torch.nn import functional
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

ELEMENT = {"fp32": torch.float32, "tf32": torch.float32, "mixed": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}
MOMENTA = {"adam": "adam", "adamw": "adam", "nadam": "adam", "radam": "adam", "adamax": "adam", "adafactor": "adafactor"}
KINDS = (
    ((nn.Linear, nn.Bilinear), "linear"),
    ((nn.modules.conv._ConvNd,), "conv"),
    ((nn.modules.batchnorm._NormBase, nn.LayerNorm, nn.GroupNorm), "norm"),
    ((nn.modules.dropout._DropoutNd,), "dropout"),
    ((nn.modules.pooling._MaxPoolNd, nn.modules.pooling._AvgPoolNd, nn.modules.pooling._AdaptiveAvgPoolNd, nn.modules.pooling._AdaptiveMaxPoolNd), "pool"),
    ((nn.Embedding, nn.EmbeddingBag), "embedding"),
    ((nn.MultiheadAttention,), "attention"),
    ((nn.RNNBase, nn.modules.rnn.RNNCellBase), "recurrent"),
)
FUNCTIONS = {"relu": "activation", "gelu": "activation", "silu": "activation", "softmax": "activation", "sigmoid": "activation", "tanh": "activation",
             "leaky_relu": "activation", "dropout": "dropout", "layer_norm": "norm", "batch_norm": "norm", "group_norm": "norm",
             "max_pool2d": "pool", "avg_pool2d": "pool", "adaptive_avg_pool2d": "pool", "linear": "linear", "conv1d": "conv", "conv2d": "conv",
             "conv3d": "conv", "embedding": "embedding"}
PRODUCTS = ("matmul", "__matmul__", "__rmatmul__", "bmm", "baddbmm", "einsum")


def describe(model, batch, optimizer=None, precision="fp32", path=None, loss=None):
    """Returns the specification as a dictionary, and writes it to path if one is given.

    batch is a tensor, a tuple or list of positional arguments, or a dictionary of
    named ones; its first dimension is the number of samples. optimizer is a
    torch.optim optimiser, its class or name, or None for inference. precision is
    fp32, tf32, mixed, bf16 or fp16. loss makes a scalar of the output; without one
    it is the output's own loss, or the mean of its elements.
    """
    if precision not in ELEMENT:
        raise ValueError(f"precision {precision!r}: want one of {', '.join(ELEMENT)}")
    args, kwargs = ((), batch) if isinstance(batch, dict) else (tuple(batch) if isinstance(batch, (tuple, list)) else (batch,), {})
    given = list(_tensors((args, kwargs)))
    if not given or not given[0].dim():
        raise ValueError("the batch holds no tensor with a first dimension")
    wrong = {p.dtype for p in model.parameters() if p.is_floating_point()} - {ELEMENT[precision]}
    if wrong:
        raise ValueError(f"precision {precision} wants parameters of {ELEMENT[precision]}, the model has {sorted(map(str, wrong))}")
    trace = _Trace(model, given[0].shape[0])
    traced = trace.run(args, kwargs, loss, precision, training=optimizer is not None)
    spec = {
        "model": {"name": type(model).__name__, "architecture": type(model).__name__, "layers": trace.layers + trace.unseen()},
        "dataset": {"sample_elements": sum(t.numel() for t in given) // trace.batch},
        "training": {"batch_size": trace.batch, "precision": precision, "optimizer": _rule(optimizer)},
        "traced": traced,
    }
    if trace.warnings:
        spec["warnings"] = trace.warnings
    if path is not None:
        text = json.dumps(spec, indent=1) + "\n"
        with open(path, "w", encoding="utf-8") as out:
            out.write(text)
    return spec


def _rule(optimizer):
    if optimizer is None:
        return "none"
    name = optimizer if isinstance(optimizer, str) else getattr(optimizer, "__name__", type(optimizer).__name__)
    name = name.lower()
    if name == "sgd" and any(group.get("momentum") for group in getattr(optimizer, "param_groups", [])):
        return "momentum"
    return MOMENTA.get(name, name if name in ("sgd", "momentum") else "unknown")


def _tensors(value):
    """The tensors inside what a module takes or returns."""
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, dict):
        for inner in value.values():
            yield from _tensors(inner)
    elif isinstance(value, (tuple, list)):
        for inner in value:
            yield from _tensors(inner)


def _storage(tensor):
    """The memory behind a tensor: what tells it apart from others, and bytes."""
    storage = tensor.untyped_storage() if hasattr(tensor, "untyped_storage") else tensor.storage()._storage
    return storage, storage._cdata, storage.nbytes()


class _Trace:
    def __init__(self, model, batch):
        self.model, self.batch = model, batch
        self.layers, self.warnings = [], []
        self.counted = set()  # parameters, by id
        self.inside = []  # leaves that run at the moment
        self.path = []  # containers that run at the moment
        self.names = {id(p): n for n, p in model.named_parameters()}

    def run(self, args, kwargs, loss, precision, training):
        fixed = {}
        for tensor in [*self.model.parameters(), *self.model.buffers(), *_tensors((args, kwargs))]:
            _, key, size = _storage(tensor)
            fixed[key] = size
        saved = {}

        def pack(tensor):
            _, key, size = _storage(tensor)
            if key not in fixed:
                saved[key] = size
            return tensor

        before = [p.grad for p in self.model.parameters()]
        handles = self.hooks()
        try:
            with torch.set_grad_enabled(training), torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t), _Functions(self), self.cast(precision):
                output = self.model(*args, **kwargs)
        finally:
            for handle in handles:
                handle.remove()
        kept = sum(fixed.values()) + sum(saved.values())
        for tensor in _tensors(getattr(output, "__dict__", output) if not isinstance(output, (torch.Tensor, tuple, list, dict)) else output):
            _, key, size = _storage(tensor)
            if key not in fixed and key not in saved:
                kept += size
        if not training:
            return {"after_forward": kept}
        del output
        try:
            return {"after_forward": kept, "after_backward": kept + self.growth(args, kwargs, loss, precision)}
        except RuntimeError as fault:
            self.warnings.append(f"the backward pass did not run: {fault}")
            return {"after_forward": kept}
        finally:
            for p, grad in zip(self.model.parameters(), before):
                p.grad = grad

    def growth(self, args, kwargs, loss, precision):
        """How much more is alive at the fullest moment of the backward pass than before it."""
        for p in self.model.parameters():
            p.grad = None
        with _Live() as live:
            with self.cast(precision):
                output = self.model(*args, **kwargs)
            if loss is not None:
                scalar = loss(output)
            elif getattr(output, "loss", None) is not None:
                scalar = output.loss
            else:
                scalar = sum(t.float().mean() for t in _tensors(output) if t.is_floating_point() and t.requires_grad)
            if not isinstance(scalar, torch.Tensor):
                raise RuntimeError("no output depends on a parameter that is trained")
            begun = live.begin()
            scalar.backward()
        return max(0, live.peak - begun)

    def cast(self, precision):
        if precision != "mixed":
            return contextlib.nullcontext()
        device = next((p.device.type for p in self.model.parameters()), "cpu")
        return torch.autocast("cpu" if device == "meta" else device, dtype=torch.bfloat16)

    def hooks(self):
        handles = []
        for name, module in self.model.named_modules():
            if isinstance(module, (nn.ModuleList, nn.ModuleDict)):
                continue
            if self.leaf(module):
                handles.append(module.register_forward_pre_hook(lambda m, i: self.inside.append(m)))
                handles.append(module.register_forward_hook(lambda m, i, o, name=name: self.add_module(name, m, i, o)))
            elif not self.within(name):
                handles.append(module.register_forward_pre_hook(lambda m, i, name=name: self.path.append(name)))
                handles.append(module.register_forward_hook(self.left))
        return handles

    def left(self, module, inputs, output):
        self.path.pop()

    @staticmethod
    def leaf(module):
        return isinstance(module, nn.MultiheadAttention) or not any(True for _ in module.children())

    def within(self, name):
        """Whether a module belongs to a leaf that has children, as attention has."""
        parts = name.split(".")
        return any(isinstance(self.model.get_submodule(".".join(parts[:i])), nn.MultiheadAttention) for i in range(1, len(parts)))

    def take(self, parameters):
        """Counts parameters that were not counted before: all, and frozen ones."""
        own = [p for p in parameters if id(p) not in self.counted]
        self.counted.update(id(p) for p in own)
        return sum(p.numel() for p in own), sum(p.numel() for p in own if not p.requires_grad)

    def add(self, name, kind, output, params=(), macs=None, neurons=0, in_place=False, elements=None):
        total, frozen = self.take(params)
        layer = {"name": name, "kind": kind, "neurons": neurons, "params": total, "frozen_params": frozen,
                 "activations": (sum(t.numel() for t in _tensors(output)) if elements is None else elements) // self.batch,
                 "macs": None if macs is None else macs // self.batch, "in_place": in_place}
        self.layers.append({k: v for k, v in layer.items() if k in ("name", "kind") or v not in (None, 0, False) or k == "macs" and v == 0})

    def add_module(self, name, module, inputs, output):
        self.inside.pop()
        if self.inside:
            return
        name = name or type(module).__name__
        first = next(_tensors(output), None)
        if first is None:
            return
        if isinstance(module, nn.MultiheadAttention):
            self.add_attention(name, module, inputs, first)
            return
        kind = next((k for types, k in KINDS if isinstance(module, types)), None)
        if kind is None:
            kind = "activation" if type(module).__module__ == "torch.nn.modules.activation" else "other"
        neurons = next((getattr(module, n) for n in ("out_features", "out_channels", "embedding_dim", "hidden_size") if hasattr(module, n)), 0)
        self.add(name, kind, output, module.parameters(), self.work(module, kind, inputs, first), neurons,
                 bool(getattr(module, "inplace", False)) or isinstance(module, (nn.Identity, nn.Flatten, nn.Unflatten)))

    def work(self, module, kind, inputs, output):
        """Multiply-adds for the whole batch; a bias is one for each element."""
        if kind == "embedding":
            return 0
        if kind == "norm":
            return output.numel()
        if kind == "linear" and isinstance(module, nn.Linear):
            return output.numel() * (module.in_features + (module.bias is not None))
        if isinstance(module, nn.modules.conv._ConvTransposeNd):
            return next(_tensors(inputs)).numel() * module.weight[0].numel() + (output.numel() if module.bias is not None else 0)
        if kind == "conv":
            return output.numel() * (module.weight[0].numel() + (module.bias is not None))
        if kind == "recurrent":
            given = next(_tensors(inputs))
            return given.numel() // given.shape[-1] * sum(p.numel() for p in module.parameters())
        return None

    def add_attention(self, name, module, inputs, output):
        query, key = [t for t in _tensors(inputs)][:2] if len(list(_tensors(inputs))) > 1 else (output, output)
        width, positions = module.embed_dim, output.numel() // module.embed_dim
        keys = key.shape[1] if module.batch_first and key.dim() == 3 else key.shape[0]
        weights = sum(p.numel() for p in module.parameters())
        self.add(name + ".projections", "linear", output, module.parameters(), positions * weights, width, elements=4 * output.numel())
        self.add(name + ".scores", "attention", output, macs=2 * positions * keys * width, elements=module.num_heads * positions * keys)

    def add_function(self, function, args, kwargs, output):
        """What a function of torch computes outside of a leaf."""
        if self.inside or not isinstance(output, torch.Tensor):
            return
        name = getattr(function, "__name__", "")
        where = ".".join(n for n in (self.path[-1:] or [""]) + [name] if n)
        given = list(_tensors((args, kwargs)))
        if name == "scaled_dot_product_attention":
            query, key = given[0], given[1]
            scores = query.numel() // query.shape[-1] * key.shape[-2]
            self.add(where, "attention", output, macs=2 * scores * query.shape[-1], elements=scores)
        elif name in PRODUCTS and len(given) > 1:
            inner = given[1].shape[-2] if given[1].dim() > 1 and name != "einsum" else None
            weights = [p for p in given if id(p) in self.names]
            self.add(where, "linear" if weights else "attention", output, weights, None if inner is None else output.numel() * inner,
                     output.shape[-1] if weights else 0)
        elif name in FUNCTIONS and given:
            weights = [p for p in given if id(p) in self.names]
            kind, macs = FUNCTIONS[name], None
            if kind in ("linear", "conv") and len(given) > 1:
                macs = output.numel() * given[1][0].numel() + (output.numel() if len(given) > 2 else 0)
            elif kind in ("embedding", "norm"):
                macs = 0 if kind == "embedding" else output.numel()
            self.add(where, kind, output, weights, macs, in_place=bool(kwargs.get("inplace")))

    def unseen(self):
        """The parameters that no leaf showed: those a module uses by itself, or not at all."""
        found = []
        for name, p in self.model.named_parameters():
            if id(p) not in self.counted:
                total, frozen = self.take([p])
                found.append({"name": name, "kind": "other", "params": total, **({"frozen_params": frozen} if frozen else {}), "macs": 0})
        if found:
            self.warnings.append(f"{len(found)} parameters belong to no module that ran: their own work is not counted")
        return found


class _Functions(TorchFunctionMode):
    def __init__(self, trace):
        super().__init__()
        self.trace, self.depth = trace, 0

    def __torch_function__(self, function, types, args=(), kwargs=None):
        self.depth += 1
        try:
            output = function(*args, **(kwargs or {}))
        finally:
            self.depth -= 1
        if not self.depth:
            self.trace.add_function(function, args, kwargs or {}, output)
        return output


class _Live(TorchDispatchMode):
    """Follows the memory of what is made while it is on."""

    def __init__(self):
        super().__init__()
        self.made, self.peak = {}, 0

    def begin(self):
        """What is alive now; the peak counts from here."""
        self.peak = self.now()
        return self.peak

    def now(self):
        gone = [key for key, (kind, weak, _) in self.made.items() if kind._expired(weak)]
        for key in gone:
            del self.made[key]
        return sum(size for _, _, size in self.made.values())

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        output = function(*args, **(kwargs or {}))
        old = {_storage(t)[1] for t in _tensors((args, kwargs or {}))}
        for tensor in _tensors(output):
            storage, key, size = _storage(tensor)
            if key not in old and key not in self.made:
                self.made[key] = (type(storage), storage._weak_ref(), size)
        self.peak = max(self.peak, self.now())
        return output
