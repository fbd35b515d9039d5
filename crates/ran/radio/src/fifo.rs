//! Queues that need little memory while they are short.

use std::collections::VecDeque;

/// Removes the first item of a queue.
///
/// A queue that becomes empty begins again at the start of its memory. Otherwise it would move through all of the memory that its
/// longest backlog has needed, and even a queue with one item at a time would miss the caches.
pub(crate) fn pop_front<T>(queue: &mut VecDeque<T>) -> Option<T> {
    let first = queue.pop_front();
    if queue.is_empty() {
        queue.clear();
    }
    first
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_queue_begins_again_at_the_start_of_its_memory() {
        let mut queue: VecDeque<u64> = (0..8).collect();
        let start = queue.as_slices().0.as_ptr();
        (0..8).for_each(|item| assert_eq!(pop_front(&mut queue), Some(item)));
        assert_eq!(pop_front(&mut queue), None);
        queue.push_back(8);
        assert_eq!(queue.as_slices().0.as_ptr(), start);
        queue.push_back(9);
        assert_eq!((pop_front(&mut queue), pop_front(&mut queue)), (Some(8), Some(9)));
    }
}
