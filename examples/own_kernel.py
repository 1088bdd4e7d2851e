"""Builds a kernel operation by operation, and runs it where caches agree and where they do not."""

import linkwright as lw
from linkwright.gpu import GpuKernel, GpuSystem

SENT = [1 + 2 * at for at in range(64)]

kernel = GpuKernel("message")
kernel.buffer("data", 256)
kernel.buffer("flag", 4)
kernel.launch("pass")
# The first work-group writes a message and then a flag; the second, on another GPU, has old copies,
# waits for the flag, and reads again.
kernel.compute(0, 500)
kernel.store(0, "data", values=SENT)
kernel.fence(0)
kernel.atomic(0, "exchange", "flag", values=1)
kernel.load(1, "data", record="before")
kernel.wait(1)
kernel.spin(1, "flag", value=1)
kernel.fence(1)
kernel.load(1, "data", record="after")
kernel.expect("data", SENT)

for memory in ("tsm-wt-c-rc", "hmg", "mesi", "rdma", "tsm-wt-nc-rc"):
    try:
        run = GpuSystem(gpus=2, memory=memory).play(kernel, limit=1e-3)
    except lw.errors.TimeLimitError as error:
        print(f"{memory}: {error.problem}")
        continue
    read = {row["load"]: row["value"] for row in run.loads() if row["lane"] == 63}
    print(f"{memory}: {run.time * 1e6:.3f} us; {read['before']}, then {read['after']}")

# The same as a file, for `linkwright gpu run`.
again = GpuKernel.from_text(kernel.to_text())
print(again == kernel, again.operations)
