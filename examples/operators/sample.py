"""Bilinear sampling with learned offsets, as a PyTorch operator: checked, then trained. `python sample.py`"""

from pathlib import Path

import torch
from cotangent_cuda.torch import operator

sample = operator(
    Path(__file__).with_name("sample.cu"), "sample<scalar_t>", "examples::sample",
    sizes={"image": "B, C, H, W", "offset": "B, 2, H, W", "out": "B, C, H, W"},
    values={"batch": "B", "channels": "C", "height": "H", "width": "W"},
    grid="(B * C * H * W + 127) / 128", block="128",
)
torch.manual_seed(0)
image, offset = (torch.rand(2, n, 3, 4, dtype=torch.double, requires_grad=True) for n in (3, 2))
assert torch.autograd.gradcheck(sample, (image, offset)) and torch.autograd.gradgradcheck(sample, (image, offset))
torch.library.opcheck(sample, (image, offset))
source, shift = torch.rand(1, 1, 16, 16), torch.zeros(1, 2, 16, 16, requires_grad=True)
target = sample(source, torch.full((1, 2, 16, 16), 0.3))
loss = torch.compile(lambda shift: ((sample(source, shift) - target) ** 2).mean(), fullgraph=True)
adam, first = torch.optim.Adam([shift], 0.02), loss(shift).item()
for _ in range(60):
    adam.zero_grad(), loss(shift).backward(), adam.step()
print("examples::sample: loss", first, "then", loss(shift).item())
