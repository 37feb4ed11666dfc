"""A PyTorch module, trained by Adam, then refined in place.

    python3 examples/torch_module.py            # some minutes; uses Fashion-MNIST (Debian: dataset-fashion-mnist)

With LWSVM_EXAMPLE_QUICK=1 in the environment on synthetic images, in seconds.
"""

import os

import torch
from torch import nn

import lwsvm

QUICK = bool(os.environ.get("LWSVM_EXAMPLE_QUICK"))
data = lwsvm.Data("synthetic:n=600,test=200,classes=10,size=28x28" if QUICK else "fashion-mnist")
(x, y), (x_test, y_test) = data.arrays("train"), data.arrays("test")
x, x_test = torch.from_numpy(x).float() / 255, torch.from_numpy(x_test).float() / 255
y, y_test = torch.from_numpy(y).long(), torch.from_numpy(y_test).long()

torch.manual_seed(0)
net = nn.Sequential(
    nn.Conv2d(1, 12, 5), nn.BatchNorm2d(12), nn.ReLU(), nn.MaxPool2d(2),
    nn.Conv2d(12, 24, 5), nn.ReLU(), nn.MaxPool2d(2),
    nn.Flatten(), nn.Dropout(0.2), nn.Linear(24 * 16, 64), nn.ReLU(), nn.Linear(64, 10),
)
optimizer = torch.optim.Adam(net.parameters(), 1e-3)
loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x, y), batch_size=100, shuffle=True)
for epoch in range(2):
    for images, labels in loader:
        optimizer.zero_grad()
        nn.functional.cross_entropy(net(images), labels).backward()
        optimizer.step()


def accuracy():
    net.eval()
    with torch.no_grad():
        right = sum(int((net(part).argmax(1) == labels).sum()) for part, labels in zip(x_test.split(500), y_test.split(500)))
    net.train()
    return right / len(y_test)


print(f"Adam:    test {accuracy():.2%}")
result = lwsvm.refine_module(net, x, y, test=(x_test, y_test), time_limit=5 if QUICK else "2m")
print(f"refined: test {accuracy():.2%}; {result.start} -> {result.end}")
print(result.to_pandas()[["layer", "before", "after", "val_accuracy", "seconds"]] if result.updates else result.reason)
torch.save(net.state_dict(), "refined.pt")
