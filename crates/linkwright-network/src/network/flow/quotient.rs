//! Quotients of wide numbers, exact and quick where they are small.

/// Above this a floating-point estimate may be off by more than one.
const ESTIMABLE: f64 = (1_u64 << 50) as f64;

/// The quotient rounded down, or the largest number where it does not fit. The divisor is
/// above zero.
///
/// An estimate in floating point, mended by one either way, takes a fraction of the time of a
/// division of 128 bits. Products check it, so that no rounding can reach a result.
pub(super) fn quotient(dividend: u128, divisor: u64) -> u64 {
    let (high, low) = ((dividend >> 64) as u64, dividend as u64);
    let estimate = (high as f64 * 2_f64.powi(64) + low as f64) / divisor as f64;
    if estimate < ESTIMABLE {
        let guess = estimate as u64;
        let product = u128::from(guess) * u128::from(divisor);
        if product > dividend {
            return guess - 1;
        }
        return guess + u64::from(dividend - product >= u128::from(divisor));
    }
    u64::try_from(dividend / u128::from(divisor)).unwrap_or(u64::MAX)
}

/// Divides as [`quotient`] does, but rounds up.
pub(super) fn quotient_up(dividend: u128, divisor: u64) -> u64 {
    let down = quotient(dividend, divisor);
    let exact = u128::from(down) * u128::from(divisor) >= dividend;
    if exact { down } else { down.saturating_add(1) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check(dividend: u128, divisor: u64) {
        let wide = u128::from(divisor);
        let fits = |value: u128| u64::try_from(value).unwrap_or(u64::MAX);
        assert_eq!(quotient(dividend, divisor), fits(dividend / wide));
        assert_eq!(quotient_up(dividend, divisor), fits(dividend.div_ceil(wide)));
    }

    proptest! {
        #[test]
        fn they_are_those_of_the_language(
            result in any::<u128>(), shift in 0_u32..128, divisor in 1_u64.., narrow in 0_u32..64,
        ) {
            let divisor = (divisor >> narrow).max(1);
            let dividend = (result >> shift).saturating_mul(u128::from(divisor));
            for near in [dividend.saturating_sub(1), dividend, dividend.saturating_add(1)] {
                check(near, divisor);
            }
            check(result >> shift, divisor);
        }
    }

    #[test]
    fn estimates_at_their_limit_are_mended() {
        for divisor in [1, 3, 1 << 33, u64::MAX - 1, u64::MAX] {
            for result in [0, 1, (1 << 50) - 1, 1 << 50, (1 << 50) + 1, u64::MAX] {
                let dividend = u128::from(result) * u128::from(divisor);
                check(dividend, divisor);
                check(dividend + 1, divisor);
                check(dividend.saturating_sub(1), divisor);
                check(dividend + u128::from(divisor) - 1, divisor);
            }
        }
    }
}
