"""The loop around the attacks: what fails is written down, what crashes or hangs does not end it."""

from __future__ import annotations

import itertools
import json
import os
import time
from dataclasses import dataclass, field

from .__main__ import main
from .campaign import Attack, Campaign


@dataclass(frozen=True)
class Trial:
    name: str
    faults: dict[str, str] = field(default_factory=dict)


def names(seed: int):
    yield from ("good", "bad", "crash", "hang", "good")


def attempt(name: str) -> Trial:
    if name == "crash":
        os._exit(3)
    if name == "hang":
        time.sleep(60)
    return Trial(name, {"wrong": "as told"} if name == "bad" else {})


def summarize(trials):
    return [("tried", str(len(trials)))]


def test_a_campaign_outlives_crashes_and_hangs(tmp_path):
    campaign, shown, failures = Campaign(Attack("test", names, attempt, 4.0, summarize)), [], tmp_path / "failures.jsonl"
    campaign.run(120.0, 0, failures, shown.append)
    assert [trial.name for trial in campaign.trials] == ["good", "bad", "good"]
    assert dict(campaign.dead) == {"crash": "the process ended with 3", "hang": "no answer within 4 s"}
    assert [json.loads(line)["name"] for line in failures.read_text().splitlines()] == ["bad", "crash", "hang"]
    assert campaign.lines()[0] == ("tried", "3")
    assert len(shown) == len(list(itertools.islice(names(0), 5)))


def test_a_trial_is_replayed_by_its_name(capsys):
    assert main(["--replay", "special:1"]) == 0
    assert "UNBOUNDED" in capsys.readouterr().out
