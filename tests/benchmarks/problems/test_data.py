"""Data: found, downloaded with a checksum, or missing with a message that says what to do."""

from __future__ import annotations

import numpy as np
import pytest
from rich.console import Console

from benchmarks.harness import sweep
from benchmarks.harness.job import Job
from benchmarks.problems import data
from benchmarks.problems.data import MissingDataError, convert_neur2sp, data_file
from benchmarks.problems.train_water import train

pooch = pytest.importorskip("pooch")


@pytest.fixture
def nowhere(monkeypatch, tmp_path):
    """No folder, an empty cache, no network."""

    def retrieve(*args, **kwargs):
        raise OSError("the network is unreachable")

    monkeypatch.delenv(data.VARIABLE, raising=False)
    monkeypatch.setattr(data, "BESIDE", tmp_path / "none")
    monkeypatch.setattr(data, "cache_folder", lambda: tmp_path / "cache")
    monkeypatch.setattr(pooch, "retrieve", retrieve)
    return tmp_path


@pytest.mark.parametrize(
    ("name", "advice"),
    [
        ("water_quality.csv", "github.com/Opt-Mucca/PySCIPOpt-ML"),
        ("neur2sp_pooling_nnp.npz", "github.com/khalil-research/Neur2SP"),
        ("water_classifier.npz", "python -m benchmarks.problems.train_water"),
    ],
)
@pytest.mark.usefixtures("nowhere")
def test_a_missing_file_names_itself_and_what_to_do(name, advice):
    with pytest.raises(MissingDataError, match=name) as caught:
        data_file(name)
    assert advice in str(caught.value)
    assert data.VARIABLE in str(caught.value)


def test_experiments_without_data_are_left_out_and_the_others_run(nowhere, monkeypatch):
    console = Console(record=True, width=300)
    jobs = [Job("water", "25", 0, "dcembed", 1.0), Job("qp", "64x3", 0, "dcembed", 1.0), Job("qp", "777x3", 0, "dcembed", 1.0)]
    assert sweep.drop_unavailable(jobs, console) == [jobs[1]]
    text = console.export_text()
    assert "water_quality.csv" in text
    assert "python -m benchmarks.problems.train_qp 777x3 --trials 0" in text


def test_a_download_is_put_into_the_cache_and_used_from_there(nowhere, monkeypatch):
    source = nowhere / "downloaded.csv"
    source.write_text("a,b\n1,2\n")
    asked = []

    def retrieve(url, known_hash, fname, path):
        asked.append((url, known_hash))
        (nowhere / "cache").mkdir(exist_ok=True)
        return str(source)

    monkeypatch.setattr(pooch, "retrieve", retrieve)
    assert data_file("water_quality.csv").read_text() == "a,b\n1,2\n"
    assert data_file("water_quality.csv").parent == nowhere / "cache"
    assert len(asked) == 1
    assert asked[0][0].startswith("https://raw.githubusercontent.com/Opt-Mucca/PySCIPOpt-ML/")
    assert len(asked[0][1]) == 64


def test_the_released_network_is_read_without_unpickling_and_compared(data_folder, tmp_path):
    torch = pytest.importorskip("torch")
    with np.load(data_folder / "neur2sp_pooling_nnp.npz") as archive:
        arrays = dict(archive)
    model = torch.nn.Sequential(torch.nn.Linear(19, 64), torch.nn.ReLU(), torch.nn.Linear(64, 1))
    for layer, weight, bias in ((model[0], "W1", "b1"), (model[2], "W2", "b2")):
        layer.weight.data, layer.bias.data = torch.from_numpy(arrays[weight]), torch.from_numpy(arrays[bias])
    for number, saved in enumerate((model, model.state_dict())):
        torch.save(saved, tmp_path / f"{number}.pt")
        convert_neur2sp(tmp_path / f"{number}.pt", tmp_path / f"{number}.npz")
        with np.load(tmp_path / f"{number}.npz") as converted:
            assert all(np.array_equal(converted[name], arrays[name]) for name in arrays)
    model[0].bias.data[3] += 1e-3
    torch.save(model, tmp_path / "other.pt")
    with pytest.raises(ValueError, match="checksum"):
        convert_neur2sp(tmp_path / "other.pt", tmp_path / "other.npz")


def test_the_water_classifier_can_be_trained_where_it_is_missing():
    pytest.importorskip("torch")
    rng = np.random.default_rng(0)
    features = rng.normal(5.0, 2.0, (300, 9))
    table = np.hstack([features, (features[:, :1] > 5.0).astype(float)])
    arrays = train(table, num_epochs=15)
    assert arrays["W1"].shape == (32, 9)
    assert arrays["W5"].shape == (1, 32)
    assert np.mean((arrays["score_untreated"] > 0) == (table[:, -1] == 1)) > 0.9
    assert np.all(table[arrays["pool_rows"], -1] == 0)
    assert np.all(arrays["score_untreated"][arrays["pool_rows"]] < 1e-4)
