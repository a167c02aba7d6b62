"""Layer norm with shared memory, as a PyTorch operator: checked, then trained. `python layer_norm.py`"""

from pathlib import Path

import torch
from cotangent_cuda.torch import operator

layer_norm = operator(
    Path(__file__).with_name("layer_norm.cu"), "layer_norm<scalar_t>", "examples::layer_norm",
    sizes={"x": "R, C", "weight": "C", "bias": "C", "y": "R, C"}, values={"columns": "C"}, grid="R", block="128",
)
torch.manual_seed(0)
inputs = [torch.rand(size, dtype=torch.double, requires_grad=True) for size in ((3, 5), 5, 5)]
assert torch.autograd.gradcheck(layer_norm, (*inputs, 1e-5)) and torch.autograd.gradgradcheck(layer_norm, (*inputs, 1e-5))
torch.library.opcheck(layer_norm, (*inputs, 1e-5))
x, weight, bias = torch.randn(32, 20), torch.ones(20, requires_grad=True), torch.zeros(20, requires_grad=True)
target = torch.nn.functional.layer_norm(x, (20,), torch.rand(20), torch.rand(20))
loss = torch.compile(lambda w, b: ((layer_norm(x, w, b, 1e-5) - target) ** 2).mean(), fullgraph=True)
adam, first = torch.optim.Adam([weight, bias], 0.05), loss(weight, bias).item()
for _ in range(60):
    adam.zero_grad(), loss(weight, bias).backward(), adam.step()
print("examples::layer_norm: loss", first, "then", loss(weight, bias).item())
