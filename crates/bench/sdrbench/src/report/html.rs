//! draft
use super::Report;
impl Report {
    /// The page.
    #[must_use]
    pub fn html(&self) -> String { String::new() }
}
