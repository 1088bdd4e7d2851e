"""Builds a step of training and plays it: copies and messages beside computing, or one by one."""

import linkwright as lw

RANKS, LAYERS, ITERATIONS = 4, 6, 10
BATCH, GRADIENTS, KERNEL = "38 MiB", "40 MiB", "2.5 ms"


def training_step(*, overlapped: bool) -> lw.network.Program:
    """Every rank loads a batch, computes layer by layer, and sums each layer's gradients."""
    # One stream does one thing after another; three do all at once.
    computing, loading, summing = (0, 1, 2) if overlapped else (0, 0, 0)
    builder = lw.network.ProgramBuilder(ranks=RANKS, name="three streams" if overlapped else "one stream")
    with builder.main_loop():
        for rank in range(RANKS):
            builder.copy(rank, "host-to-device", BATCH, stream=loading)
        for _ in range(LAYERS):
            computed = [builder.compute(rank, KERNEL, stream=computing) for rank in range(RANKS)]
            builder.collective("all-reduce", GRADIENTS, stream=summing, after=computed)
    return builder.build()


server = lw.System("dgx1-v100")
for overlapped in (False, True):
    program = training_step(overlapped=overlapped)
    job = lw.network.ClusterJob(program, iterations=ITERATIONS)
    run = server.play([job], collectives={"all_reduce": "planned"}, timeline=1000)
    rank = next(iter(run.ranks()))
    copies = list(run.copies())
    print(f"{program.name}: {run.makespan * 1e3:.1f} ms")
    print(f"  computing {rank['computing'] * 1e3:.1f} ms", end=", ")
    print(f"waiting {rank['exposed_communication'] * 1e3:.1f} ms")
    slowest = max(copy["end"] - copy["start"] for copy in copies)
    print(f"  {len(copies)} copies, the slowest in {slowest * 1e3:.2f} ms")
