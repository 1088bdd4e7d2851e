//! Splits one line of comma-separated values into fields that know their columns.
//!
//! The `csv` crate tells where a record starts but not where its fields do, and an error must
//! point at the field. The form is RFC 4180's, with two restrictions that make
//! errors local: a quoted field ends on its line, and nothing follows its closing quote.
//! White space around a field, outside the quotes, is ignored.

use std::borrow::Cow;

use super::Position;

/// Holds a field of a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Field<'a> {
    /// Holds its value, without quotes.
    pub value: Cow<'a, str>,
    /// Where it starts in the line, in characters from one; a quoted field at its quote.
    pub column: usize,
}

/// A line that has no fields, because its quotes are wrong or its fields are too many.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SplitError<'a> {
    /// Says where it begins, in characters from one.
    pub column: usize,
    /// Describes the problem.
    pub problem: &'static str,
    /// Holds the text from there on.
    pub value: &'a str,
    /// It tells what to do about it.
    pub remedy: &'static str,
}

/// The most fields of a line: no log of a cluster has a hundred, and each takes room when it is split.
const MOST_FIELDS: usize = 16_384;
const QUOTE: &str = "quote the whole field, and write a quote within it twice";

/// Splits a line at its commas outside quotes.
pub fn split(line: &str) -> Result<Vec<Field<'_>>, SplitError<'_>> {
    let error = |offset, problem, remedy| SplitError {
        column: Position::of_offset(line, offset).column,
        problem,
        value: line.get(offset..).unwrap_or_default(),
        remedy,
    };
    let mut fields = Vec::new();
    let mut offset = 0;
    // Counted from field to field, since a line may have a great many.
    let (mut counted, mut column) = (0, 1);
    loop {
        let start = line.len() - line[offset..].trim_start().len();
        if fields.len() == MOST_FIELDS {
            return Err(error(start, "the line has more than 16,384 fields", "leave columns out"));
        }
        let (value, end) = if line[start..].starts_with('"') {
            let (value, after) = unquote(line, start)
                .ok_or_else(|| error(start, "the quote is not closed on its line", QUOTE))?;
            let end = line.len() - line[after..].trim_start().len();
            if end < line.len() && !line[end..].starts_with(',') {
                return Err(error(end, "text follows a closing quote", QUOTE));
            }
            (Cow::Owned(value), end)
        } else {
            let end = line[start..].find(',').map_or(line.len(), |comma| start + comma);
            (Cow::Borrowed(line[start..end].trim_end()), end)
        };
        column += line[counted..start].chars().count();
        counted = start;
        fields.push(Field { value, column });
        if end == line.len() {
            return Ok(fields);
        }
        offset = end + 1;
    }
}

/// Returns the text of the quoted field at an offset, and the offset behind its closing quote.
fn unquote(line: &str, quote: usize) -> Option<(String, usize)> {
    let mut value = String::new();
    let mut at = quote + 1;
    loop {
        let next = at + line[at..].find('"')?;
        value.push_str(&line[at..next]);
        at = next + 1;
        if !line[at..].starts_with('"') {
            return Some((value, at));
        }
        value.push('"');
        at += 1;
    }
}

/// A value as a field that [`split`] gives back unchanged, on a line that is no comment.
/// The value must not hold a line break.
pub fn quote(value: &str) -> Cow<'_, str> {
    if value.contains([',', '"']) || value.starts_with('#') || value.trim() != value {
        Cow::Owned(format!("\"{}\"", value.replace('"', "\"\"")))
    } else {
        Cow::Borrowed(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn pairs(line: &str) -> Vec<(String, usize)> {
        let fields = split(line).unwrap();
        fields.into_iter().map(|field| (field.value.into_owned(), field.column)).collect()
    }

    #[test]
    fn fields_know_their_columns() {
        let expected = [("é,\"x\"", 1), ("b", 13), ("", 15), ("c d", 16)];
        let expected = expected.map(|(value, column)| (value.to_owned(), column));
        assert_eq!(pairs("\"é,\"\"x\"\"\" , b,,c d "), expected);
        assert_eq!(pairs(""), [(String::new(), 1)]);
        assert_eq!(pairs(","), [(String::new(), 1), (String::new(), 2)]);
    }

    #[test]
    fn wrong_quotes_are_placed() {
        assert_eq!(split("a,\"b").unwrap_err().column, 3);
        assert_eq!(split("a,\"b\" c,d").unwrap_err().column, 7);
        assert_eq!(split("\"a\"\"").unwrap_err().column, 1);
    }

    #[test]
    fn more_fields_than_any_log_has_are_not_split() {
        let most = ",".repeat(MOST_FIELDS - 1);
        assert_eq!(split(&most).unwrap().len(), MOST_FIELDS);
        let more = most + ",";
        let error = split(&more).unwrap_err();
        assert_eq!((error.column, error.problem.contains("16,384")), (MOST_FIELDS + 1, true));
    }

    /// Returns the fields that the csv crate reads of a line.
    fn read_by_csv(line: &str) -> Vec<String> {
        // It wants room for one byte more than there are.
        let (mut text, mut ends) = (vec![0; line.len() + 1], vec![0; line.len() + 2]);
        let mut reader = csv_core::Reader::new();
        let input = [line.as_bytes(), b"\n"].concat();
        let (_, _, _, count) = reader.read_record(&input, &mut text, &mut ends);
        // It skips a line that is empty.
        let ends = if line.is_empty() { &[0] } else { &ends[..count] };
        let starts = [0].into_iter().chain(ends.iter().copied());
        let field = |(start, end): (usize, &usize)| String::from_utf8(text[start..*end].to_vec());
        starts.zip(ends).map(|it| field(it).unwrap()).collect()
    }

    proptest! {
        #[test]
        fn what_is_quoted_splits_back(values in prop::collection::vec("[a\",# é]{0,4}", 1..5)) {
            let line: Vec<Cow<str>> = values.iter().map(|value| quote(value)).collect();
            let line = line.join(",");
            let read: Vec<String> = pairs(&line).into_iter().map(|(value, _)| value).collect();
            prop_assert_eq!(&read, &values);
            prop_assert_eq!(read_by_csv(&line), values);
        }

        #[test]
        fn any_line_splits_or_is_refused(line in "\\PC*") {
            let _ = split(&line);
        }
    }
}
