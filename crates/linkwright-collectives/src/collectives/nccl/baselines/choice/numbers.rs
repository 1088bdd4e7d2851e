//! Names the type of a collective's numbers, and the operation that reduces them.

use serde::{Deserialize, Serialize};

use crate::collectives::schedule::collective::Collective;

/// Names the type of a collective's numbers, as nccl-tests does (`-d`; its `src/common.cu`, `test_typenames`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[allow(missing_docs, reason = "the names are the types")]
pub enum ElementType {
    Int8,
    Uint8,
    Int32,
    Uint32,
    Int64,
    Uint64,
    Half,
    Float,
    Double,
    Bfloat16,
    Float8E4m3,
    Float8E5m2,
}

linkwright_ground::named_by_all!(ElementType, "type of numbers");

impl ElementType {
    /// Lists them in nccl-tests' order.
    pub const ALL: [Self; 12] = [
        Self::Int8,
        Self::Uint8,
        Self::Int32,
        Self::Uint32,
        Self::Int64,
        Self::Uint64,
        Self::Half,
        Self::Float,
        Self::Double,
        Self::Bfloat16,
        Self::Float8E4m3,
        Self::Float8E5m2,
    ];

    /// Gives its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Int8 => "int8",
            Self::Uint8 => "uint8",
            Self::Int32 => "int32",
            Self::Uint32 => "uint32",
            Self::Int64 => "int64",
            Self::Uint64 => "uint64",
            Self::Half => "half",
            Self::Float => "float",
            Self::Double => "double",
            Self::Bfloat16 => "bfloat16",
            Self::Float8E4m3 => "f8e4m3",
            Self::Float8E5m2 => "f8e5m2",
        }
    }

    /// Tells whether a number has eight bits.
    #[must_use]
    pub const fn is_eight_bits(self) -> bool {
        matches!(self, Self::Int8 | Self::Uint8 | Self::Float8E4m3 | Self::Float8E5m2)
    }
}

/// Names what is done with two numbers, as nccl-tests does (`-o`; its `src/common.cu`, `test_opnames`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum ReduceOperation {
    /// They are added.
    Sum,
    /// They are multiplied.
    Product,
    /// The greater is taken.
    Max,
    /// The lesser is taken.
    Min,
    /// They are added, and the sum is divided by the number of ranks.
    Average,
    /// Each is multiplied by a factor of its rank, and they are added.
    MultipliedSum,
}

linkwright_ground::named_by_all!(ReduceOperation, "operation");

impl ReduceOperation {
    /// Lists them in nccl-tests' order.
    pub const ALL: [Self; 6] =
        [Self::Sum, Self::Product, Self::Max, Self::Min, Self::Average, Self::MultipliedSum];

    /// Gives its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sum => "sum",
            Self::Product => "prod",
            Self::Max => "max",
            Self::Min => "min",
            Self::Average => "avg",
            Self::MultipliedSum => "mulsum",
        }
    }
}

/// Tells whether switches can do a collective of such numbers. They reduce some types by some operations, the same since 2.18
/// (NVIDIA/nccl v2.30.7-1, `src/include/device.h`, lines 587 to 602). Copies know no types.
#[must_use]
pub fn switches_can(
    collective: Collective,
    numbers: ElementType,
    operation: ReduceOperation,
) -> bool {
    use ElementType::{Bfloat16, Double, Float, Half, Int32, Int64, Uint32, Uint64};
    let is_reduced = matches!(
        collective,
        Collective::AllReduce | Collective::ReduceScatter | Collective::Reduce { .. }
    );
    if !is_reduced {
        return true;
    }
    match numbers {
        Int32 | Uint32 | Int64 | Uint64 | Half | Bfloat16 => {
            matches!(operation, ReduceOperation::Sum | ReduceOperation::Min | ReduceOperation::Max)
        }
        Float | Double => operation == ReduceOperation::Sum,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn switches_reduce_what_ncclnvlssupported_says() {
        let reduce = |numbers, operation| switches_can(Collective::AllReduce, numbers, operation);
        for numbers in ElementType::ALL {
            let sums = reduce(numbers, ReduceOperation::Sum);
            assert_eq!(sums, !numbers.is_eight_bits(), "{}", numbers.name());
            assert!(switches_can(Collective::AllGather, numbers, ReduceOperation::Sum));
            for operation in
                [ReduceOperation::Product, ReduceOperation::Average, ReduceOperation::MultipliedSum]
            {
                assert!(!reduce(numbers, operation), "{} {}", numbers.name(), operation.name());
            }
        }
        assert!(reduce(ElementType::Half, ReduceOperation::Max));
        assert!(!reduce(ElementType::Float, ReduceOperation::Max));
    }
}
