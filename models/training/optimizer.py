"""Muon for the matrices inside the blocks, Adam for the embedding and the norms.

`torch.optim.Muon` exists, but treats one matrix at a time with one polynomial for all iterations.
Here matrices of equal shape are batched, and the Polar Express polynomials need fewer iterations.
"""

from collections import defaultdict

import torch
from torch import Tensor, nn

from models.training.sizes import Recipe

# Optimal polynomials x -> a x + b x^3 + c x^5 that bring singular values to one, applied in this
# order: Amsel et al. 2025, "The Polar Express", arXiv:2505.16932.
POLAR_EXPRESS = (
    (8.28721201814563, -23.595886519098837, 17.300387312530933),
    (4.107059111542203, -2.9478499167379106, 0.5448431082926601),
    (3.9486908534822946, -2.908902115962949, 0.5518191394370137),
    (3.3184196573706015, -2.488488024314874, 0.51004894012372),
)

MOMENTUM_START, MOMENTUM_STEPS = 0.85, 200


def orthogonalise(matrices: Tensor) -> Tensor:
    """Approximate the nearest (semi-)orthogonal matrices.

    Four iterations leave the singular values between about 0.4 and 1.7. A fifth was not worth its
    cost.

    Args:
        matrices: (count, rows, columns) with rows <= columns.

    Returns:
        The same shape in bfloat16, which is precise enough: the result is a direction to step in.
    """
    scale = matrices.norm(dim=(1, 2), keepdim=True) * 1.01 + 1e-7  # spectral norm below one
    x = (matrices / scale).bfloat16()
    for a, b, c in POLAR_EXPRESS:
        square = x @ x.mT
        polynomial = torch.baddbmm(square, square, square, beta=b, alpha=c)
        x = torch.baddbmm(x, polynomial, x, beta=a)
    return x


class Muon(torch.optim.Optimizer):
    """Momentum, orthogonalised (Jordan et al. 2024, "Muon"), with Nesterov and decoupled decay.

    Steps are scaled by sqrt(max(1, rows / columns)), so that a step changes outputs equally for all
    shapes. The momentum rises from 0.85 over the first 200 steps.

    Args:
        params: matrices.
        lr: peak rate.
        momentum: final momentum.
        weight_decay: weights shrink by lr x weight_decay per step.
    """

    def __init__(self, params, lr: float, momentum: float = 0.95, weight_decay: float = 0.0):
        defaults = {"lr": lr, "momentum": momentum, "weight_decay": weight_decay, "steps": 0}
        super().__init__(params, defaults)

    @torch.no_grad()
    def step(self) -> None:
        for group in self.param_groups:
            group["steps"] += 1
            warm = min(1.0, group["steps"] / MOMENTUM_STEPS)
            momentum = MOMENTUM_START + (group["momentum"] - MOMENTUM_START) * warm
            by_shape = defaultdict(list)
            for parameter in group["params"]:
                if parameter.grad is not None:
                    by_shape[tuple(sorted(parameter.shape))].append(parameter)
            for parameters in by_shape.values():
                self._step_equal_shapes(parameters, momentum, group["lr"], group["weight_decay"])

    def _step_equal_shapes(
        self, parameters: list[nn.Parameter], momentum: float, lr: float, weight_decay: float
    ) -> None:
        directions = []
        for parameter in parameters:
            state = self.state[parameter]
            if not state:
                state["average"] = torch.zeros_like(parameter)
            state["average"].lerp_(parameter.grad, 1 - momentum)
            direction = parameter.grad.lerp(state["average"], momentum)  # Nesterov's look-ahead
            directions.append(direction.mT if _is_tall(parameter) else direction)
        for parameter, update in zip(
            parameters, orthogonalise(torch.stack(directions)), strict=True
        ):
            rows, columns = parameter.shape
            parameter.mul_(1 - lr * weight_decay)
            parameter.add_(
                update.mT if _is_tall(parameter) else update,
                alpha=-lr * max(1, rows / columns) ** 0.5,
            )


def _is_tall(matrix: Tensor) -> bool:
    return matrix.shape[0] > matrix.shape[1]


def build_optimizers(network: nn.Module, recipe: Recipe) -> tuple[Muon, torch.optim.Adam]:
    """Create both optimizers over all parameters; each group keeps its peak rate in "peak_lr"."""
    matrices, others = [], []
    for name, parameter in network.named_parameters():
        inside = parameter.ndim == 2 and "embed_tokens" not in name
        (matrices if inside else others).append(parameter)
    optimizers = (
        Muon(matrices, lr=recipe.muon_rate, weight_decay=recipe.muon_decay),
        torch.optim.Adam(others, lr=recipe.adam_rate, betas=(0.9, 0.95), fused=True),
    )
    for optimizer in optimizers:
        for group in optimizer.param_groups:
            group["peak_lr"] = group["lr"]
    return optimizers
