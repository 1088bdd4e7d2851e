"""Plays 300 jobs under each policy and reads the columns with pyarrow."""

import pyarrow
import pyarrow.compute as pc

from linkwright import System
from linkwright.allocation import policy_names
from linkwright.scenario import generate_jobs, play_jobs

machine = System("dgx1-v100")
jobs = generate_jobs(seed=7, count=300, max_gpus=5)

print("sensitive jobs of two or more GPUs")
print(f"{'policy':15} {'makespan h':>10} {'median s':>9} {'slowest s':>9} {'on PCIe':>8}")
for policy in policy_names():
    result = play_jobs(machine, jobs, policy)
    table = pyarrow.table(result.jobs())
    felt = table.filter((pc.field("sensitive")) & (pc.field("gpu_count") > 1))
    median = pc.quantile(felt["run_time"], q=0.5)[0].as_py()
    slowest = pc.max(felt["run_time"]).as_py()
    on_pcie = felt.filter(pc.field("pcie_links") > 0).num_rows
    print(
        f"{policy:15} {result.makespan / 3600:10.2f} {median:9.0f} {slowest:9.0f} "
        f"{on_pcie:3} of {felt.num_rows}"
    )
