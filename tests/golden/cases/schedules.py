"""Thirty steps of every schedule."""
import torch

from .golden_file import write


def schedule(name, yaml, kind, steps=30, losses=None, **arguments):
    """Ours with epochs of 5 steps; PyTorch's counts steps. losses: of an evaluation after each step."""
    optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=0.5, momentum=0.9)
    scheduler = kind(optimizer, **arguments)
    rates, momentums = [], []
    for step in range(steps):
        rates.append(optimizer.param_groups[0]['lr'])
        momentums.append(optimizer.param_groups[0]['momentum'])
        optimizer.step()
        scheduler.step() if losses is None else scheduler.step(losses[step])
    tensors = {'rates': rates, 'momentums': momentums} | ({} if losses is None else {'losses': losses})
    write(name, {key: torch.tensor(values, dtype=torch.float64) for key, values in tensors.items()}, kind='schedule',
          yaml=yaml)


def all_schedules():
    kinds = torch.optim.lr_scheduler
    schedule('schedule_constant', 'constant', kinds.LambdaLR, lr_lambda=lambda step: 1)
    schedule('schedule_step', 'step: {at: {epochs: [1, 4]}, factor: 0.3}', kinds.MultiStepLR, milestones=[5, 20],
             gamma=0.3)
    schedule('schedule_exponential', 'exponential: {factor: 0.9, every: {steps: 1}}', kinds.ExponentialLR, gamma=0.9)
    schedule('schedule_staircase', 'exponential: {factor: 0.3, staircase: true}', kinds.StepLR, step_size=5, gamma=0.3)
    schedule('schedule_cosine', 'cosine: {final: 0.01}', kinds.CosineAnnealingLR, T_max=30, eta_min=0.01)
    schedule('schedule_restarts', 'cosine: {final: 0.01, period: {steps: 4}, growth: 2}',
             kinds.CosineAnnealingWarmRestarts, T_0=4, T_mult=2, eta_min=0.01)
    schedule('schedule_polynomial', 'polynomial: {power: 2, over: {epochs: 4}}', kinds.LambdaLR,
             lr_lambda=lambda step: (1 - min(step, 20) / 20) ** 2)  # PolynomialLR came with 2.0
    schedule('schedule_one_cycle', 'one_cycle: {start_divisor: 10, final_divisor: 100}', kinds.OneCycleLR, steps=29,
             max_lr=0.5, total_steps=30, div_factor=10, final_div_factor=100, cycle_momentum=False)
    schedule('schedule_one_cycle_momentum', 'one_cycle: {rise: 0.4, momentum: {high: 0.9, low: 0.6}}', kinds.OneCycleLR,
             steps=29, max_lr=0.5, total_steps=30, pct_start=0.4, base_momentum=0.6, max_momentum=0.9)
    losses = [3, 2, 2.5, 1.999, 1.9999, 2, 1.99, 1.5, 1.6, 1.7, 1.8, 1.9, 1.6, 1.6, 1.6, 1.4, 1.5, 1.5, 1.5, 1.5, 1.5, 1.5,
              1.5, 1.5, 1.5, 1.5, 1.2, 1.3, 1.3, 1.3]
    schedule('schedule_plateau', 'plateau: {factor: 0.5, patience: 2, threshold: 0.01}', kinds.ReduceLROnPlateau,
             losses=losses, factor=0.5, patience=2, threshold=0.01)
    schedule('schedule_plateau_pause', 'plateau: {factor: 0.2, patience: 1, pause: 3, least: 0.03}',
             kinds.ReduceLROnPlateau, losses=losses, factor=0.2, patience=1, cooldown=3, min_lr=0.03)
