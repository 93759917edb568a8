"""Reinforcement learning with an environment on the CPU: the GPU waits for it
most of the time.

A step is one round of advantage actor-critic: 16 moves in 64 copies of the
cart-pole (Barto et al. 1983, doi:10.1109/TSMC.1983.6313077), each chosen on the
GPU and played on the CPU, then one update.
"""

import torch
import torch.nn.functional as F
from torch import nn

import training
from training import Job, Task

COPIES, MOVES = 64, 16


class CartPole:
    """Copies of a pole on a cart that is pushed left or right; a copy whose
    pole falls begins anew."""

    def __init__(self, copies):
        self.state = torch.empty(copies, 4).uniform_(-0.05, 0.05)

    def step(self, action):
        x, speed, angle, turn = self.state.unbind(1)
        force = 20.0 * action.float() - 10.0
        sin, cos = torch.sin(angle), torch.cos(angle)
        push = (force + 0.05 * turn.square() * sin) / 1.1
        bend = (9.8 * sin - cos * push) / (0.5 * (4 / 3 - 0.1 * cos.square() / 1.1))
        pull = push - 0.05 * bend * cos / 1.1
        change = torch.stack((speed, pull, turn, bend), 1)
        self.state = self.state + 0.02 * change
        fallen = (self.state[:, 0].abs() > 2.4) | (self.state[:, 2].abs() > 0.21)
        fresh = torch.empty_like(self.state).uniform_(-0.05, 0.05)
        self.state = torch.where(fallen[:, None], fresh, self.state)
        return self.state, 1.0 - fallen.float()


class ActorCritic(nn.Module):
    def __init__(self, width=256):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(4, width), nn.Tanh(), nn.Linear(width, width), nn.Tanh())
        self.actor, self.critic = nn.Linear(width, 2), nn.Linear(width, 1)

    def forward(self, state):
        x = self.body(state)
        return self.actor(x), self.critic(x).squeeze(-1)


def loss(module, batch):
    """Of states, moves and the returns that followed."""
    scores, value = module(batch[0])
    gain = batch[2] - value.detach()
    return (F.cross_entropy(scores, batch[1], reduction="none") * gain).mean() + F.mse_loss(value, batch[2])


def make_step(task, job, device):
    module, world = job.module, CartPole(COPIES)
    optimizer = training.make_optimizer(task, module.parameters())

    def step():
        states, moves, rewards = [], [], []
        for _ in range(MOVES):
            state = world.state.to(device)
            with torch.no_grad():
                scores, _ = module(state)
                move = torch.multinomial(scores.softmax(-1), 1).squeeze(1)
            _, reward = world.step(move.cpu())
            states.append(state)
            moves.append(move)
            rewards.append(reward)
        returns, total = [], torch.zeros(COPIES)
        for reward in reversed(rewards):
            total = reward + 0.99 * reward * total  # a fall ends the sum
            returns.append(total)
        returns = torch.stack(returns[::-1]).flatten().to(device)
        optimizer.zero_grad(set_to_none=True)
        loss(module, (torch.cat(states), torch.cat(moves), returns)).backward()
        optimizer.step()

    return step


def build():
    samples = COPIES * MOVES
    batch = (torch.randn(samples, 4), torch.randint(2, (samples,)), torch.randn(samples))
    return Job(ActorCritic(), [batch], loss, make_step)


TASKS = {"rl-cartpole": Task("A2C cart-pole", "mlp", COPIES * MOVES, build)}
