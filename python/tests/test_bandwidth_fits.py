"""Asks fits of Eq. 2, and measures sensitivity."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import pytest
from commands import linkwright, parsed

from linkwright import Allocator, Pattern, System
from linkwright.allocation import BandwidthFit, profile_sensitivity, published_effective_bandwidth
from linkwright.errors import AllocationError, InputError
from linkwright.scenario import Job, jobs_from_text, play_jobs, write_jobs

MEASUREMENTS = Path(__file__).resolve().parents[2] / "examples" / "measurements"


def of_the_paper() -> BandwidthFit:
    mixes = list(product(range(4), range(4), range(4)))
    values = [(mix, published_effective_bandwidth(*mix)) for mix in mixes]
    return BandwidthFit([(mix, value) for mix, value in values if value >= 0])


def test_the_published_values_give_the_published_decisions() -> None:
    fit = of_the_paper()
    assert fit.terms == 14
    assert fit.coefficients[0] == pytest.approx(16.39670455)
    assert fit.coefficients[13] == pytest.approx(-46.97390071)
    assert fit.left_out_error == pytest.approx(0, abs=1e-6)
    machine = System("dgx1-v100")
    fitted = Allocator(machine, bandwidth_model="published", bandwidth_fit=fit)
    published = Allocator(machine, bandwidth_model="published")
    for size in range(2, 6):
        pattern = Pattern("ring", size)
        found, expected = fitted.decide("a", pattern), published.decide("a", pattern)
        assert found is not None
        assert expected is not None
        assert found.gpus == expected.gpus
        assert found.effective_bandwidth == pytest.approx(expected.effective_bandwidth)
    assert BandwidthFit.from_text(fit.to_toml()) == fit


def test_a_fit_of_a_machine_is_a_bandwidth_model(tmp_path: Path) -> None:
    file = tmp_path / "fit.toml"
    told = parsed("fit", "-m", "dgx1-v100", "-o", file)
    assert told["mean_absolute_error"] <= told["root_mean_square_error"]
    assert told["samples"] > 14
    given = parsed("allocate", "-m", "dgx1-v100", "-k", 3, "--bandwidth-model", file)
    fit = BandwidthFit.from_text(file.read_text(encoding="utf-8"))
    links = Allocator(System("dgx1-v100")).score(Pattern("ring", 3), given["gpus"]).links
    assert given["effective_bandwidth"] == pytest.approx(fit.effective_bandwidth(*links))
    log = f"0,3={MEASUREMENTS / 'dgx1-v100-gpus-0-3.nccl-tests.txt'}"
    told = parsed("fit", "-m", "dgx1-v100", "--log", log)
    assert (told["samples"], told["terms"], told["left_out_error"]) == (1, 1, None)


def test_bad_fits_are_refused() -> None:
    for samples in ([], [((1, 0, 0), -1.0)], [((1, 0, 0), float("nan"))]):
        with pytest.raises(AllocationError, match=r"GB/s|sample"):
            BandwidthFit(samples)
    with pytest.raises(AllocationError, match="published"):
        Allocator(System("dgx1-v100"), bandwidth_fit=of_the_paper())
    with pytest.raises(InputError, match=r"f\.toml:1:"):
        BandwidthFit.from_text("coefficients = [1]\n", "f.toml")


def test_measured_jobs_are_labelled_by_their_times() -> None:
    machine = System("dgx1-v100")
    text = "job,workload,gpus,sensitive\na,vgg-16,4,measured\nb,gmm,4,measured\n"
    jobs = jobs_from_text(text)
    assert jobs_from_text(write_jobs(jobs)) == jobs
    rows = list(play_jobs(machine, jobs).jobs())
    assert [row["sensitive"] for row in rows] == [True, False]
    best, worst, sensitive = profile_sensitivity(machine, Job("a", "vgg-16", 4))
    assert sensitive
    assert worst > 1.03 * best
    result = linkwright("allocate", "-m", "dgx1-v100", "-k", 4, "--sensitivity", "measured")
    assert result.exit_code == 2
    assert "--program" in result.stderr
