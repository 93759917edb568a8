"""Convolutional networks: ResNet, MobileNetV2, U-Net.

He et al. 2016, doi:10.1109/CVPR.2016.90; Sandler et al. 2018,
doi:10.1109/CVPR.2018.00474; Ronneberger et al. 2015,
doi:10.1007/978-3-319-24574-4_28.
"""

import torch
import torch.nn.functional as F
from torch import nn

from layers import answer, classify
from training import Job, Task


def conv(inputs, outputs, size, stride=1, groups=1, act=None):
    parts = [
        nn.Conv2d(inputs, outputs, size, stride, size // 2, groups=groups, bias=False),
        nn.BatchNorm2d(outputs),
    ]
    return nn.Sequential(*parts, *([act(inplace=True)] if act else []))


class Residual(nn.Module):
    """A sum of a path and the input, which is adapted where shapes differ."""

    def __init__(self, path, inputs, outputs, stride, act=True):
        super().__init__()
        self.path = path
        same = inputs == outputs and stride == 1
        self.skip = nn.Identity() if same else conv(inputs, outputs, 1, stride)
        self.act = nn.ReLU(inplace=True) if act else nn.Identity()

    def forward(self, x):
        return self.act(self.path(x) + self.skip(x))


def basic(inputs, width, stride):
    path = nn.Sequential(conv(inputs, width, 3, stride, act=nn.ReLU), conv(width, width, 3))
    return Residual(path, inputs, width, stride), width


def bottleneck(inputs, width, stride):
    path = nn.Sequential(
        conv(inputs, width, 1, act=nn.ReLU),
        conv(width, width, 3, stride, act=nn.ReLU),
        conv(width, 4 * width, 1),
    )
    return Residual(path, inputs, 4 * width, stride), 4 * width


def resnet(block, depths, small, classes):
    """small is the stem for 32x32 images instead of 224x224."""
    if small:
        parts = [conv(3, 64, 3, act=nn.ReLU)]
    else:
        parts = [conv(3, 64, 7, 2, act=nn.ReLU), nn.MaxPool2d(3, 2, 1)]
    inputs = 64
    for stage, depth in enumerate(depths):
        for i in range(depth):
            stride = 2 if stage > 0 and i == 0 else 1
            part, inputs = block(inputs, 64 << stage, stride)
            parts.append(part)
    return nn.Sequential(*parts, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(inputs, classes))


def inverted(inputs, outputs, stride, expand):
    """MobileNetV2's block: a residual only where shapes agree."""
    hidden = inputs * expand
    widen = [conv(inputs, hidden, 1, act=nn.ReLU6)] if expand > 1 else []
    path = nn.Sequential(
        *widen, conv(hidden, hidden, 3, stride, groups=hidden, act=nn.ReLU6), conv(hidden, outputs, 1)
    )
    if inputs == outputs and stride == 1:
        return Residual(path, inputs, outputs, stride, act=False)
    return path


def mobilenet(classes):
    """MobileNetV2 for 32x32 images: the first two strides are 1."""
    parts, inputs = [conv(3, 32, 3, act=nn.ReLU6)], 32
    for expand, outputs, depth, stride in (
        (1, 16, 1, 1), (6, 24, 2, 1), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1),
    ):  # fmt: skip
        for i in range(depth):
            parts.append(inverted(inputs, outputs, stride if i == 0 else 1, expand))
            inputs = outputs
    head = [conv(inputs, 1280, 1, act=nn.ReLU6), nn.AdaptiveAvgPool2d(1), nn.Flatten()]
    return nn.Sequential(*parts, *head, nn.Linear(1280, classes))


def double(inputs, outputs):
    return nn.Sequential(conv(inputs, outputs, 3, act=nn.ReLU), conv(outputs, outputs, 3, act=nn.ReLU))


class UNet(nn.Module):
    def __init__(self, width, depth, classes):
        super().__init__()
        sizes = [width << i for i in range(depth)]
        self.down = nn.ModuleList(double(a, b) for a, b in zip([3] + sizes, sizes))
        self.pool = nn.MaxPool2d(2)
        pairs = list(zip(sizes[::-1], sizes[-2::-1]))
        self.up = nn.ModuleList(nn.ConvTranspose2d(a, b, 2, 2) for a, b in pairs)
        self.merge = nn.ModuleList(double(2 * b, b) for _, b in pairs)
        self.head = nn.Conv2d(width, classes, 1)

    def forward(self, x):
        kept = []
        for i, block in enumerate(self.down):
            x = block(self.pool(x) if i else x)
            kept.append(x)
        kept.pop()
        for up, merge in zip(self.up, self.merge):
            x = merge(torch.cat((up(x), kept.pop()), 1))
        return self.head(x)


def images(make, batch, size, classes, loss=classify, masks=False):
    def build():
        shape = (batch, size, size) if masks else (batch,)
        batches = [(torch.randn(batch, 3, size, size), torch.randint(classes, shape)) for _ in range(4)]
        return Job(make(), batches, loss)

    return build


def segment(module, batch):
    return F.cross_entropy(module(batch[0]).float(), batch[1])


def resnet18():
    return resnet(basic, (2, 2, 2, 2), small=True, classes=10)


def resnet50():
    return resnet(bottleneck, (3, 4, 6, 3), small=False, classes=1000)


TASKS = {
    "resnet18-cifar": Task(
        "ResNet-18", "cnn", 128, images(resnet18, 128, 32, 10), optimizer="momentum"
    ),
    "resnet50-mixed": Task(
        "ResNet-50", "cnn", 64, images(resnet50, 64, 224, 1000), precision="mixed", optimizer="momentum"
    ),
    "resnet50-tf32": Task(
        "ResNet-50", "cnn", 32, images(resnet50, 32, 224, 1000), precision="tf32", optimizer="momentum"
    ),
    "mobilenet-cifar": Task(
        "MobileNetV2", "cnn", 128, images(lambda: mobilenet(10), 128, 32, 10), optimizer="momentum"
    ),
    "unet": Task(
        "U-Net", "cnn", 8, images(lambda: UNet(32, 5, 2), 8, 256, 2, segment, masks=True), precision="mixed"
    ),
    "resnet50-serve": Task(
        "ResNet-50", "cnn", 8, images(resnet50, 8, 224, 1000, answer), precision="fp16", optimizer="none"
    ),
}
