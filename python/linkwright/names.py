"""The names of every closed choice, as types: a type checker refuses any other.

What comes from a file or a person is a text until it was looked up in `linkwright.choice_names()`;
`typing.cast` tells a type checker that it was.

Written by scripts/write_stub.py from the core's own lists: run `make stub`.
"""

from typing import Literal, TypeAlias

__all__ = [
    "AlgorithmName",
    "ApplicationName",
    "ArbitrationName",
    "BandwidthModelName",
    "BandwidthProfileName",
    "BenchmarkName",
    "CollectiveName",
    "ContextExchangeName",
    "DisciplineName",
    "DistributionName",
    "DramName",
    "ExportFormatName",
    "FidelityName",
    "FlagsName",
    "FrameworkName",
    "GpuSpeedName",
    "ImportFormatName",
    "KernelName",
    "KernelPrecisionName",
    "KernelsName",
    "LinksName",
    "LitmusTestName",
    "LoraTargetName",
    "MappingName",
    "MemorySystemName",
    "ModelPrecisionName",
    "NcclAlgorithmName",
    "NcclOperationName",
    "NetworkName",
    "NumberTypeName",
    "OptimizerName",
    "OrderName",
    "PatternName",
    "PlannerName",
    "PolicyName",
    "PrecisionName",
    "ProcessesName",
    "ProtocolName",
    "ReductionName",
    "RoutingName",
    "RunTimeName",
    "ServerChoiceName",
    "TieName",
    "TrafficName",
    "TrainingWayName",
    "WorkloadName",
]

AlgorithmName: TypeAlias = Literal[
    "auto",
    "packing",
    "blink",
    "one-hop",
    "three-phase",
    "nccl-classic",
    "nccl-ring",
    "nccl-tree",
    "nvls",
    "nvls-tree",
    "nccl-pat",
    "mpi-binary-tree",
    "mpi-binomial-tree",
    "mpi-linear",
    "mpi-dissemination",
    "mpi-ring",
    "mpi-recursive-doubling",
    "mpi-recursive-halving",
    "mpi-pairwise",
    "mpi-blocked",
    "mpi-bruck",
]
ApplicationName: TypeAlias = Literal[
    "stencil4d", "subcomm3d", "kripke", "laghos", "amg", "sw4lite", "copy-execute", "synthetic"
]
ArbitrationName: TypeAlias = Literal["round-robin", "age", "priority"]
BandwidthModelName: TypeAlias = Literal["sound", "published"]
BandwidthProfileName: TypeAlias = Literal["mapa", "data-sheet"]
BenchmarkName: TypeAlias = Literal[
    "aes",
    "atax",
    "bfs",
    "bicg",
    "conv",
    "fir",
    "mm",
    "mt",
    "relu",
    "k-means",
    "max-pooling",
    "xtreme1",
    "xtreme2",
    "xtreme3",
    "chase",
    "stream",
    "message",
]
CollectiveName: TypeAlias = Literal[
    "broadcast",
    "reduce",
    "gather",
    "scatter",
    "all-reduce",
    "all-gather",
    "reduce-scatter",
    "all-to-all",
    "barrier",
    "scan",
]
ContextExchangeName: TypeAlias = Literal["ring", "all-gather", "all-to-all"]
DisciplineName: TypeAlias = Literal["fifo", "backfill"]
DistributionName: TypeAlias = Literal["unified", "discrete", "first"]
DramName: TypeAlias = Literal["ideal", "hbm2"]
ExportFormatName: TypeAlias = Literal["nvidia-smi", "rocm-smi", "nccl-xml"]
FidelityName: TypeAlias = Literal["packet", "flow", "fluid"]
FlagsName: TypeAlias = Literal["megatron", "torchtitan"]
FrameworkName: TypeAlias = Literal["mxnet-0-11", "mxnet-18-04", "pytorch"]
GpuSpeedName: TypeAlias = Literal["reference", "own"]
ImportFormatName: TypeAlias = Literal["nvidia-smi", "rocm-smi", "amd-smi", "nccl-xml", "toml"]
KernelName: TypeAlias = Literal["gemm", "attention", "decode", "experts"]
KernelPrecisionName: TypeAlias = Literal[
    "bf16", "fp16", "tf32", "fp8", "fp8-block", "mxfp8", "nvfp4"
]
KernelsName: TypeAlias = Literal["fused", "eager", "compiled"]
LinksName: TypeAlias = Literal["auto", "nvlink", "xgmi", "pcie", "hybrid"]
LitmusTestName: TypeAlias = Literal[
    "message-passing",
    "message-passing-leased",
    "message-passing-spinning",
    "store-buffering",
    "load-buffering",
    "write-to-read-causality",
    "iriw",
    "coherence-order",
    "own-writes",
    "atomics",
    "spinning",
    "launch-barrier",
]
LoraTargetName: TypeAlias = Literal[
    "attention",
    "all",
    "q_proj",
    "k_proj",
    "v_proj",
    "o_proj",
    "gate_proj",
    "up_proj",
    "down_proj",
    "linear_qkv",
    "linear_proj",
    "linear_fc1",
    "linear_fc2",
]
MappingName: TypeAlias = Literal[
    "linear", "contiguous", "random-switches", "random-nodes", "random"
]
MemorySystemName: TypeAlias = Literal[
    "rdma",
    "tsm-wb-nc-rc",
    "tsm-wt-nc-rc",
    "tsm-wt-c-rc",
    "tsm-wt-c-sc",
    "tsm-wt-c-rc-printed",
    "tsm-wt-c-sc-printed",
    "hmg",
    "mesi",
    "g-tsc",
    "zero-copy",
    "unified",
]
ModelPrecisionName: TypeAlias = Literal["fp32", "tf32", "fp16", "bf16", "fp8", "mxfp8", "nvfp4"]
NcclAlgorithmName: TypeAlias = Literal["ring", "tree", "nvls", "nvls-tree", "pat"]
NcclOperationName: TypeAlias = Literal["sum", "prod", "max", "min", "avg", "mulsum"]
NetworkName: TypeAlias = Literal["fat-tree", "dragonfly", "torus", "quartz", "single-switch"]
NumberTypeName: TypeAlias = Literal[
    "int8",
    "uint8",
    "int32",
    "uint32",
    "int64",
    "uint64",
    "half",
    "float",
    "double",
    "bfloat16",
    "f8e4m3",
    "f8e5m2",
]
OptimizerName: TypeAlias = Literal["sgd", "momentum", "adam"]
OrderName: TypeAlias = Literal["megatron", "torchtitan", "megatron-tp-pp-dp"]
PatternName: TypeAlias = Literal["ring", "chain", "tree", "star", "all-to-all", "ring+tree"]
PlannerName: TypeAlias = Literal[
    "packing",
    "blink",
    "one-hop",
    "three-phase",
    "nccl-classic",
    "nccl-ring",
    "nccl-tree",
    "nvls",
    "nvls-tree",
    "nccl-pat",
    "mpi-binary-tree",
    "mpi-binomial-tree",
    "mpi-linear",
    "mpi-dissemination",
    "mpi-ring",
    "mpi-recursive-doubling",
    "mpi-recursive-halving",
    "mpi-pairwise",
    "mpi-blocked",
    "mpi-bruck",
    "nccl",
    "auto",
    "mpi",
]
PolicyName: TypeAlias = Literal["baseline", "topology-aware", "greedy", "preserve"]
PrecisionName: TypeAlias = Literal["fp32", "tf32", "fp16", "bf16"]
ProcessesName: TypeAlias = Literal["each", "one", "group"]
ProtocolName: TypeAlias = Literal["LL", "LL128", "Simple"]
ReductionName: TypeAlias = Literal["sum", "product", "min", "max"]
RoutingName: TypeAlias = Literal[
    "static",
    "adaptive",
    "minimal",
    "valiant",
    "ugal",
    "progressive",
    "dimension-order",
    "shortest-path",
    "ecmp",
]
RunTimeName: TypeAlias = Literal["formula", "regression", "played"]
ServerChoiceName: TypeAlias = Literal["first-fit", "pack", "spread", "whole"]
TieName: TypeAlias = Literal["nearest", "published"]
TrafficName: TypeAlias = Literal[
    "uniform", "permutation", "tornado", "neighbour", "adversarial", "hot-spot"
]
TrainingWayName: TypeAlias = Literal[
    "all-reduce",
    "all-reduce-broadcast",
    "reduce-broadcast",
    "p2p",
    "p2p-relay",
    "p2p-direct",
    "zero-copy",
    "unified-memory",
    "shared-memory",
    "tsm",
    "fsdp",
    "tensor",
    "pipeline",
]
WorkloadName: TypeAlias = Literal[
    "alexnet",
    "vgg-16",
    "resnet-50",
    "inception-v3",
    "caffenet",
    "googlenet",
    "cusimann",
    "gmm",
    "jacobi",
]
