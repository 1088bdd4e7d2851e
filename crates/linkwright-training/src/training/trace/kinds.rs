//! Tells what a GPU's kernel does by its name, and by the operator that launched it.
//!
//! Libraries name kernels after what they do, each in its own way: `cutlass_80_tensorop_s1688gemm`, `nvjet_tst`, `Cijk_Ailk`
//! and `sm80_xmma_gemm` are all products. The first rule that holds tells. Operators come before names where a library computes
//! one thing by kernels of another, such as convolutions by products.

use serde::{Deserialize, Serialize};

use crate::diagnostic::Named;
use crate::training::family::LayerFamily;

/// Kernels that do the same kind of work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum KernelKind {
    /// It is a product of matrices.
    Product,
    /// It is attention, fused or in parts.
    Attention,
    /// It is a convolution, or a change of layout around one.
    Convolution,
    /// It is a step over tokens.
    Recurrent,
    /// It is a normalization over a batch.
    BatchNorm,
    /// It is a normalization of each token's vector.
    TokenNorm,
    /// It is the greatest or the mean of windows.
    Pooling,
    /// It is done number by number.
    Elementwise,
    /// It is a look-up of vectors.
    Embedding,
    /// It is shares that sum to one, or the loss.
    Softmax,
    /// It is a cast to numbers of eight bits and fewer, for products.
    Cast,
    /// It is what sends tokens to experts, and gathers them.
    Routing,
    /// It is an update of weights.
    Optimizer,
    /// It is a copy within the GPU, or a fill of memory.
    Copy,
    /// It is a copy from the host or to it.
    HostCopy,
    /// It is a move of data between GPUs.
    Collective,
    /// It is known by no rule.
    Other,
}

impl Named for KernelKind {
    const WHAT: &'static str = "kind of kernel";
    const NAMED: &'static [(&'static str, Self)] = &[
        ("product", Self::Product),
        ("attention", Self::Attention),
        ("convolution", Self::Convolution),
        ("recurrent", Self::Recurrent),
        ("batch-norm", Self::BatchNorm),
        ("token-norm", Self::TokenNorm),
        ("pooling", Self::Pooling),
        ("elementwise", Self::Elementwise),
        ("embedding", Self::Embedding),
        ("softmax", Self::Softmax),
        ("cast", Self::Cast),
        ("routing", Self::Routing),
        ("optimizer", Self::Optimizer),
        ("copy", Self::Copy),
        ("host-copy", Self::HostCopy),
        ("collective", Self::Collective),
        ("other", Self::Other),
    ];
}

/// The kinds that layers have, in the order of the enumeration.
const OF_LAYERS: [KernelKind; KernelKind::OF_LAYERS] = [
    KernelKind::Product,
    KernelKind::Attention,
    KernelKind::Convolution,
    KernelKind::Recurrent,
    KernelKind::BatchNorm,
    KernelKind::TokenNorm,
    KernelKind::Pooling,
    KernelKind::Elementwise,
    KernelKind::Embedding,
    KernelKind::Softmax,
];

impl KernelKind {
    /// Counts the kinds that layers have.
    pub const OF_LAYERS: usize = Self::Softmax as usize + 1;

    /// Gives the kinds that layers have.
    #[must_use]
    pub const fn of_layers() -> [Self; Self::OF_LAYERS] {
        OF_LAYERS
    }

    /// Gives the kind of a family's kernels.
    #[must_use]
    pub const fn of_family(family: LayerFamily) -> Self {
        match family {
            LayerFamily::Convolution => Self::Convolution,
            LayerFamily::FullyConnected => Self::Product,
            LayerFamily::Attention => Self::Attention,
            LayerFamily::Recurrent => Self::Recurrent,
            LayerFamily::BatchNorm => Self::BatchNorm,
            LayerFamily::TokenNorm => Self::TokenNorm,
            LayerFamily::Pooling => Self::Pooling,
            LayerFamily::LocalResponseNorm | LayerFamily::Elementwise | LayerFamily::Join => {
                Self::Elementwise
            }
            LayerFamily::Embedding => Self::Embedding,
            LayerFamily::Softmax => Self::Softmax,
        }
    }

    /// Gives the kind of layers whose time these kernels are a part of; none where no layer has them.
    #[must_use]
    pub const fn of_layer(self) -> Option<Self> {
        match self {
            Self::Cast => Some(Self::Product),
            Self::Routing => Some(Self::Elementwise),
            Self::Optimizer | Self::Copy | Self::HostCopy | Self::Collective | Self::Other => None,
            own => Some(own),
        }
    }

    /// Tells a kernel's kind by its name.
    pub(super) fn of_kernel(name: &str) -> Self {
        Self::of(name, RULES).unwrap_or(Self::Other)
    }

    /// Tells the kind of a copy or a fill by its name.
    pub(super) fn of_copy(name: &str) -> Self {
        let is_host =
            ["HtoD", "DtoH", "HostToDevice", "DeviceToHost"].iter().any(|it| name.contains(it));
        if is_host { Self::HostCopy } else { Self::Copy }
    }

    /// Tells the kind of an operator's kernels; none where the operator says too little.
    pub(super) fn of_operator(name: &str) -> Option<Self> {
        Self::of(name, OPERATORS)
    }

    fn of(name: &str, rules: &[(&[&str], Self)]) -> Option<Self> {
        let name = name.to_ascii_lowercase();
        let holds = |(words, _): &&(&[&str], Self)| words.iter().any(|word| name.contains(word));
        rules.iter().find(holds).map(|(_, kind)| *kind)
    }

    /// Gives the kind of a kernel from what its own name tells and what its operator does. An operator that a
    /// library computes by kernels of other names decides; another one does where the name alone says little.
    pub(super) const fn joined(own: Self, operator: Option<Self>) -> Self {
        match (own, operator) {
            (Self::Collective | Self::Copy | Self::HostCopy, _) | (_, None) => own,
            (
                _,
                Some(
                    decided @ (Self::Convolution
                    | Self::BatchNorm
                    | Self::Product
                    | Self::Optimizer),
                ),
            ) => decided,
            // Attention in parts is products of many small matrices.
            (Self::Product | Self::Softmax, Some(Self::Attention)) => Self::Attention,
            (Self::Other | Self::Elementwise, Some(told)) => told,
            _ => own,
        }
    }
}

/// Tells kinds by parts of kernels' names in small letters.
const RULES: &[(&[&str], KernelKind)] = &[
    (
        &[
            "nccl",
            "rccl",
            "all_reduce",
            "allreduce",
            "cross_device_reduce",
            "all_gather",
            "allgather",
            "reduce_scatter",
            "reducescatter",
            "all_to_all",
            "alltoall",
            "nvshmem",
            "deep_ep",
            "sendrecv",
        ],
        KernelKind::Collective,
    ),
    (
        &[
            "multi_tensor",
            "multitensor",
            "adam",
            "fused_sgd",
            "fusedsgd",
            "lamb_",
            "adafactor",
            "muon",
        ],
        KernelKind::Optimizer,
    ),
    (&["rotary", "rope_", "reshape_and_cache"], KernelKind::Elementwise),
    (
        &["flash", "fmha", "attention", "attn", "sdpa", "scaled_masked_softmax", "mla_"],
        KernelKind::Attention,
    ),
    (
        &[
            "log_softmax",
            "logsoftmax",
            "nll_loss",
            "cross_entropy",
            "crossentropy",
            "mse_",
            "softmax",
            "_loss",
        ],
        KernelKind::Softmax,
    ),
    (&["batch_norm", "batchnorm", "bn_fw", "bn_bw", "bnfwd", "bnbwd"], KernelKind::BatchNorm),
    (
        &[
            "layer_norm",
            "layernorm",
            "rms_norm",
            "rmsnorm",
            "ln_fwd",
            "ln_bwd",
            "gammabeta",
            "rowwisemoments",
            "group_norm",
            "groupnorm",
        ],
        KernelKind::TokenNorm,
    ),
    (&["pool"], KernelKind::Pooling),
    (
        &[
            "convolution",
            "conv1d",
            "conv2d",
            "conv3d",
            "conv_fwd",
            "conv_bwd",
            "_conv_",
            "wgrad",
            "dgrad",
            "fprop",
            "igemm_",
            "winograd",
            "nchw",
            "cnhw",
            "nhwc",
            "implicit_gemm",
            "batched_transpose",
            "subtensorop",
            "miopen",
            "im2col",
            "col2im",
            "im2d2col",
            "cudnn::cnn",
            "scudnn",
            "bwd_weight",
            "bwd_data",
        ],
        KernelKind::Convolution,
    ),
    (&["lstm", "gru_", "rnn"], KernelKind::Recurrent),
    (&["moe::dev", "routing", "topk_gating", "topkgating"], KernelKind::Routing),
    (
        &[
            "gemm",
            "nvjet",
            "cijk_",
            "cutlass::kernel",
            "cutlass::device_kernel",
            "cutlass_",
            "cublas",
            "bmm_",
            "_mm_",
            "matmul",
            "splitkreduce",
            "gemv",
            "fused_moe",
            "marlin",
            "s16816",
            "s1688",
            "s884",
            "xmma",
            "dot_kernel",
        ],
        KernelKind::Product,
    ),
    (&["quant", "cast_transpose", "amax", "mxfp", "nvfp4"], KernelKind::Cast),
    (&["moe", "expert", "unpermute", "permute_kernel"], KernelKind::Routing),
    (
        &["embedding", "krn_partial", "compute_grad_weight", "sum_and_scatter"],
        KernelKind::Embedding,
    ),
    (
        &[
            "elementwise",
            "triton_",
            "silu",
            "gelu",
            "swiglu",
            "act_and_mul",
            "dropout",
            "reduce",
            "functor",
            "catarray",
            "copy",
            "index",
            "gather",
            "scatter",
            "masked",
            "sort",
            "scan",
            "cumsum",
            "topk",
            "transpose",
            "permute",
            "distribution",
            "random",
            "arange",
            "cub::",
            "thrust",
            "rocprim",
            "hipcub",
            "relu",
            "bias",
            "fill",
            "unrolled",
        ],
        KernelKind::Elementwise,
    ),
];

/// Tells kinds by parts of operators' names in small letters.
const OPERATORS: &[(&[&str], KernelKind)] = &[
    (&["convolution"], KernelKind::Convolution),
    (&["batch_norm"], KernelKind::BatchNorm),
    (&["rotary"], KernelKind::Elementwise),
    (&["layer_norm", "rms_norm", "rmsnorm", "layernorm", "group_norm"], KernelKind::TokenNorm),
    (
        &["scaled_dot_product", "flash_attn", "attention", "fusedattn", "fused_attn"],
        KernelKind::Attention,
    ),
    (&["::bmm", "::baddbmm", "::_softmax"], KernelKind::Attention),
    (&["::mm", "::addmm", "_scaled_mm", "_grouped_mm", "::linear"], KernelKind::Product),
    (&["log_softmax", "nll_loss", "cross_entropy", "_loss"], KernelKind::Softmax),
    (&["embedding"], KernelKind::Embedding),
    (&["::_foreach", "_fused_adam", "_fused_sgd", "fused_adagrad"], KernelKind::Optimizer),
    (&["_pool"], KernelKind::Pooling),
    (&["lstm", "::gru", "_rnn"], KernelKind::Recurrent),
];
