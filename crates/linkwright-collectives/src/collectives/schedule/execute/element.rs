//! Says which numbers are reduced, and how.

/// Says how two values become one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Reduction {
    /// The sum; integers wrap around, as they do on a GPU.
    Sum,
    /// Takes the product; integers wrap around.
    Product,
    /// Takes the smaller; of a number and a NaN, the number.
    Min,
    /// Takes the larger; of a number and a NaN, the number.
    Max,
}

linkwright_ground::named_by_all!(Reduction, "reduction");

impl Reduction {
    /// Lists all of them.
    pub const ALL: [Self; 4] = [Self::Sum, Self::Product, Self::Min, Self::Max];

    /// Returns its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sum => "sum",
            Self::Product => "product",
            Self::Min => "min",
            Self::Max => "max",
        }
    }

    /// Reduces each value of `into` with the one of `other` at its place.
    pub(super) fn apply<T: Element>(self, into: &mut [T], other: &[T]) {
        // The choice is made once a run, so that each loop compiles to vector instructions.
        match self {
            Self::Sum => each(into, other, T::sum),
            Self::Product => each(into, other, T::product),
            Self::Min => each(into, other, T::smaller),
            Self::Max => each(into, other, T::larger),
        }
    }
}

fn each<T: Element>(into: &mut [T], other: &[T], reduce: impl Fn(T, T) -> T) {
    for (value, other) in into.iter_mut().zip(other) {
        *value = reduce(*value, *other);
    }
}

/// Stands for a type of number that collectives move: `f32`, `f64`, `i32` and `i64`.
pub trait Element: Copy + Default + Send + Sync + 'static {
    /// See [`Reduction::Sum`].
    #[must_use]
    fn sum(self, other: Self) -> Self;
    /// See [`Reduction::Product`].
    #[must_use]
    fn product(self, other: Self) -> Self;
    /// See [`Reduction::Min`].
    #[must_use]
    fn smaller(self, other: Self) -> Self;
    /// See [`Reduction::Max`].
    #[must_use]
    fn larger(self, other: Self) -> Self;
}

macro_rules! element {
    ($type:ty, $sum:expr, $product:expr) => {
        impl Element for $type {
            fn sum(self, other: Self) -> Self {
                $sum(self, other)
            }
            fn product(self, other: Self) -> Self {
                $product(self, other)
            }
            fn smaller(self, other: Self) -> Self {
                self.min(other)
            }
            fn larger(self, other: Self) -> Self {
                self.max(other)
            }
        }
    };
}

element!(f32, std::ops::Add::add, std::ops::Mul::mul);
element!(f64, std::ops::Add::add, std::ops::Mul::mul);
element!(i32, Self::wrapping_add, Self::wrapping_mul);
element!(i64, Self::wrapping_add, Self::wrapping_mul);
