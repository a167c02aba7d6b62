"""Alpha compositing of splats, as a PyTorch operator: checked, then trained. `python splats.py`"""

from pathlib import Path

import torch
from cotangent_cuda.torch import operator

composite = operator(
    Path(__file__).with_name("splats.cu"), "composite<scalar_t>", "examples::composite",
    sizes={"centers": "S, 2", "scales": "S", "opacities": "S", "colours": "S, 3", "image": "height, width, 3"},
    values={"splats": "S"}, grid="(width + 7) / 8, (height + 7) / 8", block="8, 8",
)
torch.manual_seed(0)
shapes = {"centers": (3, 2), "scales": (3,), "opacities": (3,), "colours": (3, 3)}
inputs = [torch.rand(shape, dtype=torch.double, requires_grad=True) for shape in shapes.values()]
assert torch.autograd.gradcheck(composite, (*inputs, 4, 5)) and torch.autograd.gradgradcheck(composite, (*inputs, 4, 5))
torch.library.opcheck(composite, (*inputs, 4, 5))
centers, scales, opacities = torch.rand(12, 2) * 16, torch.full((12,), 0.1), torch.full((12,), 0.6)
target, colours = composite(centers, scales, opacities, torch.rand(12, 3), 16, 16), torch.zeros(12, 3, requires_grad=True)
loss = torch.compile(lambda c: ((composite(centers, scales, opacities, c, 16, 16) - target) ** 2).mean(), fullgraph=True)
adam, first = torch.optim.Adam([colours], 0.05), loss(colours).item()
for _ in range(60):
    adam.zero_grad(), loss(colours).backward(), adam.step()
print("examples::composite: loss", first, "then", loss(colours).item())
