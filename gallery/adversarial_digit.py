"""
How little fools a network that reads digits
============================================

A small convolutional network reads handwritten digits. How little has to be changed in a picture so that it reads another one? A CVXPY problem
with the PyTorch network in it finds such a change, with all pixels in their range. The usual attack, projected gradients, is beside it. And
for all changes up to a certain size dcembed proves that none of them fools the network.
"""

import cvxpy as cp
import matplotlib.pyplot as plt
import numpy as np
import torch
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch import nn

import dcembed.cvxpy

# %%
# The network
# -----------
#
# The pictures of scikit-learn have 8 x 8 pixels, here between 0 (white) and 1 (black). Two convolutions, a pooling layer and a dense one, as they
# come.

torch.manual_seed(0)
torch.set_num_threads(1)
pictures, digits = load_digits(return_X_y=True)
pictures = torch.tensor(pictures / 16.0, dtype=torch.float32).reshape(-1, 1, 8, 8)
training, test, training_digits, test_digits = train_test_split(pictures, torch.tensor(digits), test_size=300, random_state=0)

cnn = nn.Sequential(
    nn.Conv2d(1, 4, kernel_size=3, padding=1),
    nn.ReLU(),
    nn.MaxPool2d(2),
    nn.Conv2d(4, 8, kernel_size=3),
    nn.ReLU(),
    nn.Flatten(),
    nn.Linear(32, 10),
)
optimizer = torch.optim.Adam(cnn.parameters(), lr=1e-2, weight_decay=1e-4)
for _ in range(20):
    for batch in torch.randperm(len(training)).split(50):
        optimizer.zero_grad()
        nn.functional.cross_entropy(cnn(training[batch]), training_digits[batch]).backward()
        optimizer.step()


def read_scores(picture):
    """What torch says about a picture of 64 numbers."""
    with torch.no_grad():
        return cnn(torch.as_tensor(picture, dtype=torch.float32).reshape(1, 1, 8, 8))[0].numpy()


with torch.no_grad():
    print(f"{torch.mean((cnn(test).argmax(dim=1) == test_digits).float()):.1%} of 300 pictures are read right that it has not seen")

clean = test[0].numpy().astype(float).reshape(-1)
scores = read_scores(clean)
digit, *others = (int(k) for k in np.argsort(-scores))
print(f"The first of them is a {test_digits[0]}; the network says {digit}, before {others[0]}, {others[1]} and {others[2]}.")

# %%
# The smallest change
# -------------------
#
# The change is as large as its largest pixel. The network reads another digit where the score of one is above that of the right one: a row with
# two predictions. A hundredth more than that keeps float32 from rounding it away. CVXPY writes the absolute values as rows, and the
# network becomes one call.

network = dcembed.load_network(cnn, input_shape=(1, 8, 8))
print(network)
x = cp.Variable(64)
score = dcembed.cvxpy.embed(network, x)


def smallest_change(rival, **options):
    """The least radius at which a picture is found that the network takes rather for the rival, and the picture."""
    radius = cp.Variable()
    rows = [cp.abs(x - clean) <= radius, x >= 0, x <= 1, radius <= 0.5, score[rival] >= score[digit] + 0.01]
    problem = cp.Problem(cp.Minimize(radius), rows)
    problem.solve(method="dcembed", time_limit=120, **options)
    return problem.value, x.value


nearest = others[0]
radius, fooled = smallest_change(nearest, max_starts=4, verbose=True)
print(f"Towards {nearest}: pixels change by at most {radius:.4f}, and torch says {read_scores(fooled).argmax()}")

# %%
# The digit with the second best score need not be the one that is the easiest to reach. Those that come next are farther away:

for rival in others[1:3]:
    other_radius, picture = smallest_change(rival, max_starts=1)
    print(f"Towards {rival}: pixels change by at most {other_radius:.4f}, and torch says {read_scores(picture).argmax()}")
    assert other_radius > radius

# %%
# What projected gradients find
# -----------------------------
#
# The usual attack goes up the gradient of the margin, by the signs of its entries, and back into the ball, from twenty random pictures of the ball
# at once. It needs a radius and says whether it has found something there. In the ball of dcembed's picture it gets this far:


def attack(radius, steps=100, restarts=20):
    """The largest lead of any other digit that projected gradients find in the ball, and the picture."""
    torch.manual_seed(0)
    centre = torch.tensor(clean, dtype=torch.float32)
    low, high = (centre - radius).clamp(min=0.0), (centre + radius).clamp(max=1.0)
    points = low + (high - low) * torch.rand(restarts, 64)
    best_lead, best_picture = -np.inf, clean
    for step in range(steps):
        points.requires_grad_()
        outputs = cnn(points.reshape(-1, 1, 8, 8))
        leads = outputs[:, others].max(dim=1).values - outputs[:, digit]
        (slopes,) = torch.autograd.grad(leads.sum(), points)
        leads, points = leads.detach(), points.detach()
        if leads.max() > best_lead:
            best_lead, best_picture = float(leads.max()), points[leads.argmax()].numpy().astype(float)
        points = (points + 0.25 * radius * (1.0 - step / steps) * slopes.sign()).clamp(low, high)
    return best_lead, best_picture


print(f"Projected gradients within {radius:.4f}: the best lead of another digit is {attack(radius)[0]:.3f}, below 0 is not fooled")

# %%
# Halving an interval gives the least radius at which it succeeds. What it finds there is a start for dcembed, which goes on from it.

low, high = 0.0, 0.2
for _ in range(11):
    middle = (low + high) / 2
    lead, picture = attack(middle)
    if lead >= 0.01:
        high, attacked = middle, picture
    else:
        low = middle
x.value = attacked
together, improved = smallest_change(nearest, max_starts=1, warm_start=True)
print(f"Projected gradients alone {high:.4f}, dcembed alone {radius:.4f}, dcembed from there {together:.4f}")

if together < radius:
    radius, fooled = together, improved
assert read_scores(fooled).argmax() != digit
assert np.abs(fooled - clean).max() <= radius + 1e-5

# %%
# What no attack can find
# -----------------------
#
# An attack that fails proves nothing. dcembed can: `prove=True` looks for a proof that no picture in the ball has the score of the rival above that
# of the right digit. Where this is so for all nine rivals, the network is right about all pictures in the ball, however they were made.

SAFE = 0.07
answers = []
for rival in others:
    problem = cp.Problem(cp.Minimize(0), [cp.abs(x - clean) <= SAFE, x >= 0, x <= 1, score[rival] >= score[digit]])
    problem.solve(method="dcembed", prove=True, max_starts=1, time_limit=120)
    answers.append(problem.status)
print(f"Within {SAFE}, by rival: {', '.join(f'{rival} {answer}' for rival, answer in zip(others, answers, strict=True))}")
assert set(answers) == {"infeasible"}
print(f"No change of at most {SAFE} fools the network, one of {radius:.4f} does. What is between is open.")

# %%
# The picture that fools it still looks like what it is. Most pixels have moved as far as they may; a white one cannot become whiter.

change = (fooled - clean).reshape(8, 8)
figure, axes = plt.subplots(1, 4, figsize=(13, 3.4), layout="constrained", width_ratios=[1, 1, 1, 1.4])
for ax, picture, who in ((axes[0], clean, "clean"), (axes[1], fooled, "changed")):
    ax.imshow(picture.reshape(8, 8), cmap="gray_r", vmin=0, vmax=1)
    ax.set_title(f"{who}: read as {read_scores(picture).argmax()}")
shown = axes[2].imshow(change, cmap="RdBu_r", vmin=-radius, vmax=radius)
axes[2].set_title("the change")
figure.colorbar(shown, ax=list(axes[:3]), shrink=0.8, label="change of a pixel")
for ax in axes[:3]:
    ax.set(xticks=[], yticks=[])
axes[3].bar(np.arange(10) - 0.2, read_scores(clean), width=0.4, label="clean", color="tab:blue")
axes[3].bar(np.arange(10) + 0.2, read_scores(fooled), width=0.4, label="changed", color="tab:orange")
axes[3].axhline(0.0, color="black", linewidth=0.8)
axes[3].set(xticks=np.arange(10), xlabel="digit", ylabel="score")
axes[3].legend()
plt.show()
