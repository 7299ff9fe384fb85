"""Files of torch to be read, broken and forged."""

from __future__ import annotations

import io
import json
import os
import zipfile

import numpy as np
import torch
from torch import nn
from torch.export import Dim


def make_model():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2))


def export_model(model=None, count=2):
    return torch.export.export(model or make_model(), (torch.zeros(count, 3),), dynamic_shapes=({0: Dim.AUTO},))


def assert_reads(network, model=None):
    points = np.random.default_rng(0).normal(size=(5, 3))
    with torch.no_grad():
        expected = (model or make_model()).double()(torch.tensor(points)).numpy()
    np.testing.assert_allclose(network(points), expected, atol=1e-9)


class Payload:
    """Makes a folder when it is unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.mkdir, (str(self.path),)


def torch_save(value):
    stream = io.BytesIO()
    torch.save(value, stream)
    return stream.getvalue()


def change(members, ending, edit):
    """The members with one of them changed: JSON by an edit in place, or replaced."""
    (name,) = [name for name in members if name.endswith(ending)]
    if callable(edit):
        data = json.loads(members[name])
        edit(data)
        edit = json.dumps(data).encode()
    return {**members, name: edit}


def first_weight(data):
    return next(iter(data["config"].values()))


def nodes(data):
    return data["graph_module"]["graph"]["nodes"]


def save_script(model, path):
    torch.jit.save(torch.jit.script(model), path)
    return path


def members_of(path):
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def write_members(folder, members, name="changed.pt2", **options):
    """A file with these members."""
    path = folder / name
    with zipfile.ZipFile(path, "w", **options) as archive:
        for member, content in members.items():
            archive.writestr(member, content)
    return path
