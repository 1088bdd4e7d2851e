"""Plans an all-reduce on four GPUs of a DGX-1V, proves, runs, times and exports it."""

from pathlib import Path

import numpy

from linkwright import System, plan
from linkwright.collectives import Schedule
from linkwright.collective_plot import packed_trees
from linkwright.plot import save_chart

machine = System("dgx1-v100")
schedule = plan(machine, [1, 4, 5, 6], "all-reduce", algorithm="packing")
print(schedule)
print(f"it reaches {schedule.rate:.1f} of at most {schedule.optimum:.1f} GB/s")
for tree in schedule.trees:
    print(tree, tree.edges)

print(schedule.check())

gradients = [numpy.full(1000, rank, dtype=numpy.float32) for rank in range(4)]
for output in schedule.execute(gradients):
    print(output.dtype, output.min(), output.max())

timing = schedule.time(64 << 20)
print(f"64 MiB: {timing.time * 1e6:.0f} us, busbw {timing.bus_bandwidth:.1f} GB/s")
for chunk, bandwidth in timing.chunk_trials:
    print(f"  tried chunks of {chunk:6} bytes: {bandwidth:.2f} GB/s")

exported = schedule.to_msccl_xml()
print(exported.text.splitlines()[0])
for note in exported.notes:
    print(note)
again = Schedule.from_msccl_xml(exported.text, gpus=schedule.gpus)
print("read back, it is the same:", again == schedule)

whole = plan(machine, range(8), "all-reduce", algorithm="packing")
picture = Path("all-reduce-trees.svg")
save_chart(packed_trees(whole, machine), picture)
print("wrote", picture)
