//! Results as columns.
//!
//! A [`Table`] is named columns of equal length, each with its unit. It owns plain vectors, so
//! that whoever hands it on (to Arrow, to a file, to a test) can take them without a copy.

/// Holds the values of one column.
#[derive(Debug, Clone, PartialEq)]
pub enum Column {
    /// Holds real numbers.
    Float64(Vec<f64>),
    /// Holds real numbers. Some may not exist.
    OptionalFloat64(Vec<Option<f64>>),
    /// Counts, and quantities in their base unit.
    UInt64(Vec<u64>),
    /// Holds counts. Some may not exist.
    OptionalUInt64(Vec<Option<u64>>),
    /// Lists of indices, such as the GPUs of a job.
    UInt32List(Vec<Vec<u32>>),
    /// Holds text.
    Utf8(Vec<String>),
    /// Holds yes or no.
    Boolean(Vec<bool>),
}

impl Column {
    /// How many rows it has.
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            Self::Float64(values) => values.len(),
            Self::OptionalFloat64(values) => values.len(),
            Self::UInt64(values) => values.len(),
            Self::OptionalUInt64(values) => values.len(),
            Self::UInt32List(values) => values.len(),
            Self::Utf8(values) => values.len(),
            Self::Boolean(values) => values.len(),
        }
    }

    /// Whether it has no row.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

macro_rules! from_vector {
    ($values:ty, $variant:ident) => {
        impl From<Vec<$values>> for Column {
            fn from(values: Vec<$values>) -> Self {
                Self::$variant(values)
            }
        }
    };
}

from_vector!(f64, Float64);
from_vector!(Option<f64>, OptionalFloat64);
from_vector!(u64, UInt64);
from_vector!(Option<u64>, OptionalUInt64);
from_vector!(Vec<u32>, UInt32List);
from_vector!(String, Utf8);
from_vector!(bool, Boolean);

/// Holds one column of a [`Table`].
#[derive(Debug, Clone, PartialEq)]
pub struct NamedColumn {
    /// Gives the field's word, without a unit. It is unique within the table.
    pub name: &'static str,
    /// The unit as people write it (`ps`, `B/s`); empty where the values have none.
    pub unit: &'static str,
    /// Holds the values.
    pub values: Column,
}

/// Holds named columns of equal length.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Table {
    columns: Vec<NamedColumn>,
}

impl Table {
    /// Makes a table without columns.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the table with one more column on the right.
    ///
    /// ```
    /// use linkwright_ground::table::Table;
    ///
    /// let table = Table::new()
    ///     .with("job", "", vec!["a".to_owned(), "b".to_owned()])
    ///     .with("duration", "ps", vec![30_u64, 40]);
    /// assert_eq!(table.row_count(), 2);
    /// ```
    ///
    /// # Panics
    /// If the name is taken or the length is not that of the other columns. Names and lengths
    /// come from the code that builds a table, never from a user.
    #[must_use]
    pub fn with(
        mut self,
        name: &'static str,
        unit: &'static str,
        values: impl Into<Column>,
    ) -> Self {
        let values = values.into();
        assert!(self.column(name).is_none(), "column `{name}` is given twice");
        if let Some(first) = self.columns.first() {
            assert_eq!(values.len(), first.values.len(), "rows of `{name}` and `{}`", first.name);
        }
        self.columns.push(NamedColumn { name, unit, values });
        self
    }

    /// Removes all rows.
    #[must_use]
    pub fn emptied(mut self) -> Self {
        for column in &mut self.columns {
            match &mut column.values {
                Column::Float64(values) => values.clear(),
                Column::OptionalFloat64(values) => values.clear(),
                Column::UInt64(values) => values.clear(),
                Column::OptionalUInt64(values) => values.clear(),
                Column::UInt32List(values) => values.clear(),
                Column::Utf8(values) => values.clear(),
                Column::Boolean(values) => values.clear(),
            }
        }
        self
    }

    /// Returns every column, from the left.
    #[must_use]
    pub fn columns(&self) -> &[NamedColumn] {
        &self.columns
    }

    /// The columns themselves, for whoever takes the values without a copy.
    #[must_use]
    pub fn into_columns(self) -> Vec<NamedColumn> {
        self.columns
    }

    /// Returns the column of that name.
    #[must_use]
    pub fn column(&self, name: &str) -> Option<&NamedColumn> {
        self.columns.iter().find(|column| column.name == name)
    }

    /// How many rows every column has; zero without columns.
    #[must_use]
    pub fn row_count(&self) -> usize {
        self.columns.first().map_or(0, |column| column.values.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_keep_their_order_names_and_units() {
        let table = Table::new().with("b", "ps", vec![1_u64, 2]).with("a", "", vec![true, false]);
        let names: Vec<_> = table.columns().iter().map(|column| column.name).collect();
        assert_eq!(names, ["b", "a"]);
        assert_eq!(table.column("b").unwrap().unit, "ps");
        assert_eq!(table.row_count(), 2);
        assert_eq!(Table::new().row_count(), 0);
    }

    #[test]
    #[should_panic(expected = "rows of `b` and `a`")]
    fn columns_of_unequal_length_are_a_bug() {
        let _ = Table::new().with("a", "", vec![1_u64]).with("b", "", vec![1.0, 2.0]);
    }

    #[test]
    #[should_panic(expected = "given twice")]
    fn one_name_for_two_columns_is_a_bug() {
        let _ = Table::new().with("a", "", vec![1_u64]).with("a", "", vec![1.0]);
    }
}
