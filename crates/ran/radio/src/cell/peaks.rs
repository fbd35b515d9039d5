//! The largest of values over time, since any moment.

use std::collections::VecDeque;

use crate::Time;

/// The values of the past that no later one exceeds, each with the end of its time. They decrease, so there are at most as many as
/// distinct values.
#[derive(Clone, Debug, Default)]
pub(super) struct Peaks(VecDeque<(Time, u32)>);

impl Peaks {
    /// Adds a value that lasted until `end`.
    pub fn record(&mut self, end: Time, value: u32) {
        self.drop_up_to(value);
        self.0.push_back((end, value));
    }

    /// Forgets the values that `value` reaches.
    pub fn drop_up_to(&mut self, value: u32) {
        while self.0.back().is_some_and(|(_, peak)| *peak <= value) {
            self.0.pop_back();
        }
    }

    /// The largest value that lasted beyond `since`.
    pub fn max(&self, since: Time) -> Option<u32> {
        self.0.iter().find(|(end, _)| *end > since).map(|(_, value)| *value)
    }

    #[cfg(test)]
    pub fn len(&self) -> usize {
        self.0.len()
    }
}
