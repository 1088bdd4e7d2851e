"""Asks which GPUs of an idle DGX-1V a job should get, and why."""

from linkwright import Allocator, Pattern, System
from linkwright.allocation import policy_names

machine = System("dgx1-v100")
job = Pattern("ring", 5)

explanation = Allocator(machine, "preserve").explain("train", job, limit=3)
assert explanation is not None
print(f"Rule: {explanation.rule}.")
print(f"Verdict: {explanation.verdict}.")
for match in explanation.ranking:
    double, single, pcie = match.links
    print(
        f"  GPUs {match.gpus}: {double} double, {single} single, {pcie} PCIe, "
        f"{match.aggregated_bandwidth:.0f} GB/s aggregated, "
        f"{match.effective_bandwidth:.2f} GB/s effective"
    )

print("What each policy gives:")
for policy in policy_names():
    chosen = Allocator(machine, policy).decide("train", job)
    assert chosen is not None
    print(f"  {policy:15} {sorted(chosen.gpus)} {chosen.effective_bandwidth:.2f} GB/s effective")
