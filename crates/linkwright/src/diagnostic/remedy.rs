//! What would work, said apart from what is wrong.

use std::error::Error;

/// An error that can say what would work.
///
/// Its message is the problem and, where a remedy is known, the remedy behind a semicolon; whoever
/// shows the two apart (Python, the place in a file) asks for the remedy instead of cutting the
/// message, in which a name of the user's may have semicolons, too.
pub trait Remedy: Error {
    /// What would work; none where nothing is known.
    fn remedy(&self) -> Option<String>;

    /// The remedy for a message whose error always has one.
    #[doc(hidden)]
    fn advice(&self) -> String {
        self.remedy().unwrap_or_default()
    }
}
