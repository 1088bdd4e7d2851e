"""Says how an option is called now that had another name before the first release."""

from __future__ import annotations

__all__ = ["RENAMED", "now_called"]

# The old option and the one in its place, by command.
TRAIN = {
    **{
        f"--{name.replace('_', '-')}": f"--set {name}={value}"
        for name, value in {
            "async_tensor": "true",
            "bucket": "SIZE",
            "capacity_factor": "FACTOR",
            "checkpoint_every": "TIME",
            "checkpoint_time": "TIME",
            "context": "NAME",
            "failures_every": "TIME",
            "fp8_activations": "true",
            "fp8_weights": "true",
            "framework": "NAME",
            "gpu_bandwidth": "SPEED",
            "gpu_clock": "CLOCK",
            "gpu_memory": "SIZE",
            "gpu_power": "WATTS",
            "host_copies": "true",
            "imbalance": "zipf:S",
            "kernels": "NAME",
            "lora": "RANK",
            "lora_target": "NAME",
            "measured_batch": "N",
            "measured_layout": "PART=N,...",
            "measured_micro_batch": "N",
            "measured_step": "SECONDS",
            "order": "NAME",
            "overlap": "true",
            "prefetch": "N",
            "restart_time": "TIME",
            "scaling": "true",
            "sequence_parallel": "true",
            "shared_bandwidth": "GB/S",
            "shared_memory": "NAME",
            "size": "POINTS",
            "terms": "FILE",
        }.items()
    },
    "--flags": "--as",
    "--no-host-copies": "--set host_copies=false",
    "--no-overlap": "--set overlap=false",
    "--no-scaling": "--set scaling=false",
    "--shape": "--kernel KIND:SHAPE",
}
GPU = {
    "--distribution": "--set distribution=NAME",
    "--dram": "--set dram=NAME",
    "--limit": "--set limit=SECONDS",
    "--preset": "--gpu",
    "--read-lease": "--set read_lease=N",
    "--shared-bandwidth": "--set shared_bandwidth=GB/S",
    "--timestamp-bits": "--set timestamp_bits=N",
    "--write-lease": "--set write_lease=N",
}
CODE = {"--no-code": "--set code=false"}
NCCL = {
    "--link-bandwidth": "--set link_bandwidth=GB/S",
    "--network-bandwidth": "--set network_bandwidth=GB/S",
    "--no-gpudirect": "--env NCCL_NET_GDR_LEVEL=LOC",
    "--no-p2p": "--env NCCL_P2P_DISABLE=1",
    "--no-pxn": "--env NCCL_PXN_DISABLE=1",
    "--protocol": "--env NCCL_PROTO=NAME",
}
OF_NETWORKS = {
    "--arbitration": "--set arbitration=NAME",
    "--buffer-packets": "--set buffer_packets=N",
    "--nic": "--set nic=NAME",
    "--packet-size": "--set packet_size=SIZE",
    "--routing-table": "--set routing_table=FILE",
}
TRACES = {
    "--trace-from": "--trace-only from=TIME",
    "--trace-limit": "--trace-only limit=N",
    "--trace-link": "--trace-only link=LINK",
    "--trace-until": "--trace-only until=TIME",
    "--trace-window": "--trace-only window=TIME",
}
# Of these `gpu run` had its own.
OF_ACCESSES = ("--trace-from", "--trace-limit", "--trace-until")
RENAMED: dict[str, dict[str, str]] = {
    "allocate": {
        "--edges": "--pattern FILE",
        "--insensitive": "--sensitivity no",
        "--sensitive": "--sensitivity yes",
    },
    "collective all-to-allv": NCCL,
    "collective expect": {
        **NCCL,
        "--algorithm": "--env NCCL_ALGO=NAME",
        "--cross-nic": "--env NCCL_CROSS_NIC=N",
        "--log": "--measured",
        "--no-nvls": "--env NCCL_NVLS_ENABLE=0",
        "--operation": "--reduction",
    },
    "collective plan": {"--export": "--as"},
    "collective run": {"--dtype": "--type"},
    "compare": {"--dask": "--workers ADDRESS"},
    "fit": {"--log": "--measured"},
    "gpu compare": {**GPU, **CODE, "--full": "--size full"},
    "gpu litmus": {**GPU, "--first-seed": "--seed", "--test": "the argument TEST"},
    "gpu run": {
        **GPU,
        **CODE,
        **{name: now for name, now in TRACES.items() if name in OF_ACCESSES},
        "--remote": "--set remote=BUFFERS",
        "--timing-only": "--set data=false",
    },
    "jobs generate": {
        "--max-gpus": "--set max_gpus=N",
        "--mean-interarrival": "--set mean_interarrival=SECONDS",
    },
    "machine import": {
        "--nvlink": "--set nvlink=KIND",
        "--pcie": "--set pcie=KIND",
        "--xgmi-links": "--set xgmi_links=N",
    },
    "machine list": {"--gpus": "--gpu-models"},
    "machine show": {"--most": "--limit"},
    "replay": {
        **OF_NETWORKS,
        **TRACES,
        "--bandwidth": "--set bandwidth=BANDWIDTH, or --set bandwidth_scale=FACTOR",
        "--computation-scale": "--set computation_scale=FACTOR",
        "--gpus-per-node": "--set gpus_per_node=N",
        "--nics-per-node": "--set nics_per_node=N",
        "--parameter": "--set parameters.KEY=VALUE",
    },
    "run": TRACES,
    "size": {"--reference": "--baseline"},
    "study mapa": {"--reading": "--set reading=published-fit"},
    "study memory": {"--dask": "--workers ADDRESS"},
    "study network": {"--dask": "--workers ADDRESS"},
    "study pcie": {"--batch": "--set batch=IMAGES", "--window": "--set window=MILLISECONDS"},
    "thermal": {
        "--ambient": "--set ambient=CELSIUS",
        "--cells": "--set cells=N",
        "--layer": "--set layer=NAME",
        "--limit": "--set limit=CELSIUS",
        "--sink": "--set sink=K/W",
        "--target": "--set target=CELSIUS",
    },
    "traffic": {
        **OF_NETWORKS,
        "--hot": "--set hot=SHARE",
        "--message": "--size",
        "--parquet": "--output",
        "--warm-up": "--set warm_up=N",
        "--window": "--set window=N",
    },
    "train": TRAIN,
}


def now_called(command: str, option: str) -> str | None:
    """How a command's option is called now; None where it never had another name."""
    return RENAMED.get(command, {}).get(option)
