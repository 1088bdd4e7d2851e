//! Takes words and numbers out of NCCL's messages.

/// No job has more ranks, channels or interfaces.
const MOST: u32 = 1 << 20;

/// The word behind a name that stands alone.
pub(super) fn after<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let mut words = text.split_whitespace();
    words.find(|word| *word == name)?;
    words.next()
}

/// Reads the number at the start of a text, and gives the rest.
pub(super) fn number(text: &str) -> Option<(u32, &str)> {
    let end = text.find(|it: char| !it.is_ascii_digit()).unwrap_or(text.len());
    let value: u32 = text[..end].parse().ok()?;
    (value <= MOST).then(|| (value, &text[end..]))
}

/// A number that may be of ranks or of channels.
pub(super) fn count(text: &str) -> Option<u32> {
    let (value, rest) = number(text)?;
    rest.is_empty().then_some(value)
}

/// Reads a positive, finite number.
pub(super) fn amount(text: &str) -> Option<f64> {
    text.parse().ok().filter(|it: &f64| it.is_finite() && *it >= 0.0)
}

/// Gives a text with `N` for each number, at most `most` bytes of it.
pub(super) fn without_numbers(text: &str, most: usize) -> String {
    let mut plain = String::new();
    let mut is_number = false;
    for one in text.chars() {
        let continues = is_number && (one.is_ascii_hexdigit() || matches!(one, 'x' | '.'));
        if one.is_ascii_digit() || continues {
            if !is_number {
                plain.push('N');
            }
            is_number = true;
            continue;
        }
        is_number = false;
        if plain.len() + one.len_utf8() > most {
            break;
        }
        plain.push(one);
    }
    plain
}
