"""Lists the parts that the models of jobs and of training leave out, in sentences for reports."""

__all__ = ["OF_FLOWS", "OF_HEAT", "OF_KERNELS", "OF_PROGRAMS", "OF_TRAINING", "left_out"]

OF_THE_FORMULA = (
    "Tenants do not disturb one another: jobs that share wires of the host, or NVLinks through "
    "another job's GPUs, run as if alone.",
    "Communication does not overlap with computation, and a collective call costs no start-up.",
    "A job runs within one server.",
    "Run times follow the sound model of effective bandwidth, whichever model the policies rank "
    "by; it holds for large messages.",
)
OF_PLAYED_JOBS = (
    "Communication overlaps with computation only where `bucket` is given, images are copied "
    "from "
    "the host only with `host_copies`, and reducing takes a GPU no time.",
    "Which servers are near one another in the fabric does not count where jobs get their GPUs.",
)
LEFT_OUT = (
    "No job is preempted, moved or stopped early, and a decision takes no simulated time.",
    "Workloads are iterations of equal length; batch sizes are calibrated to published run "
    "times, so that ratios between policies mean more than seconds.",
)
OF_HEAT = (
    "The share of the link's capacity in its busier direction that copies from hosts and "
    "all-reduces used until the last job ended."
)
OF_PROGRAMS = (
    "Computation takes what the trace or the application says, times the job's factor: it feels "
    "neither the network nor a neighbour.",
    "No packet is lost or damaged, and no link fails.",
    "A message costs in software a constant and a share of its size, the same on every rank.",
    "A replayed trace does what it did when it was recorded: it does not adapt to the new "
    "machine. Collectives without messages in the trace are laid out by size and ranks.",
)
OF_FLOWS = (
    "In the flow model large messages share links by max-min fairness: no buffer is ever full, "
    "and "
    "switches do not hold one another up."
)
OF_KERNELS = (
    "Collectives run as NCCL's kernels, on idle GPUs in the time that `collective expect` "
    "tells. Their traffic is divided over the network's shortest paths, whatever the routing. "
    "All messages get the share of a link that NCCL reaches."
)
OF_TRAINING = (
    "Layers take the time of their arithmetic and memory at the shares of the peak that kernels "
    "reach. No kernel is measured on the machine, unless you give its times.",
    "Kernels that fuse several layers, and algorithms of convolution that need fewer operations.",
    "Samples are ready in the host's memory: reading them from disks takes no time.",
    "Samples of the next step are copied when it begins, not while this one computes.",
    "Other jobs, and clocks that fall under load.",
)


def left_out(run_time: str) -> list[str]:
    """Lists the parts left out of jobs whose run times are `played` or follow a formula."""
    return [*(OF_PLAYED_JOBS if run_time == "played" else OF_THE_FORMULA), *LEFT_OUT]
