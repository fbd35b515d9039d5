//! Procedures that a node suspends until a controller answers or a deadline passes.

use std::collections::HashMap;

use ferric::e2::Time;

/// A bounded table of pending procedures, each with a number and a deadline.
///
/// Numbers start at 1 and are reused only after all others: a late answer matches no entry.
#[derive(Debug)]
pub(crate) struct Pending<T> {
    entries: HashMap<u32, Entry<T>>,
    max_entries: usize,
    last_number: u32,
}

#[derive(Debug)]
struct Entry<T> {
    deadline: Time,
    value: T,
}

impl<T> Pending<T> {
    /// Creates an empty table.
    pub fn new(max_entries: usize) -> Self {
        Pending { entries: HashMap::new(), max_entries, last_number: 0 }
    }

    /// The number of entries.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Adds an entry and returns its number.
    ///
    /// # Errors
    /// `value`, if the table is full.
    pub fn insert(&mut self, deadline: Time, value: T) -> Result<u32, T> {
        if self.entries.len() >= self.max_entries {
            return Err(value);
        }
        // terminates: there are fewer entries than numbers
        loop {
            self.last_number = self.last_number.checked_add(1).unwrap_or(1);
            if !self.entries.contains_key(&self.last_number) {
                break;
            }
        }
        self.entries.insert(self.last_number, Entry { deadline, value });
        Ok(self.last_number)
    }

    /// The entry with this number.
    pub fn get(&self, number: u32) -> Option<&T> {
        self.entries.get(&number).map(|entry| &entry.value)
    }

    /// Removes and returns the entry with this number.
    pub fn remove(&mut self, number: u32) -> Option<T> {
        self.entries.remove(&number).map(|entry| entry.value)
    }

    /// Removes and returns the entries that match a predicate, in the order of their numbers.
    pub fn remove_matching(&mut self, mut matches: impl FnMut(&T) -> bool) -> Vec<T> {
        self.remove_entries(|entry| matches(&entry.value))
    }

    /// Removes and returns the entries whose deadline has passed at `now`, in the order of their numbers.
    pub fn remove_expired(&mut self, now: Time) -> Vec<T> {
        self.remove_entries(|entry| entry.deadline <= now)
    }

    fn remove_entries(&mut self, mut matches: impl FnMut(&Entry<T>) -> bool) -> Vec<T> {
        let matching = self.entries.iter().filter(|(_, entry)| matches(entry));
        let mut numbers: Vec<u32> = matching.map(|(number, _)| *number).collect();
        numbers.sort_unstable();
        numbers.iter().filter_map(|number| self.remove(*number)).collect()
    }

    /// The earliest deadline.
    pub fn next_deadline(&self) -> Option<Time> {
        self.entries.values().map(|entry| entry.deadline).min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn at(nanos: u64) -> Time {
        Time::from_nanos(nanos)
    }

    #[test]
    fn entry_stays_until_answer_or_deadline() {
        let mut pending = Pending::new(3);
        assert_eq!((pending.next_deadline(), pending.len()), (None, 0));
        let (a, b) = (pending.insert(at(30), 'a').unwrap(), pending.insert(at(10), 'b').unwrap());
        assert_eq!((a, b, pending.next_deadline()), (1, 2, Some(at(10))));
        assert_eq!(pending.remove_expired(at(9)), []);
        assert_eq!(pending.remove_expired(at(10)), ['b']);
        assert_eq!((pending.remove(b), pending.get(a)), (None, Some(&'a')), "the answer for b is late");
        assert_eq!((pending.remove(a), pending.remove(a)), (Some('a'), None), "removed once");
    }

    #[test]
    fn full_table_rejects_entries() {
        let mut pending = Pending::new(2);
        pending.insert(at(1), 'a').unwrap();
        pending.insert(at(1), 'b').unwrap();
        assert_eq!(pending.insert(at(1), 'c'), Err('c'));
        assert_eq!(pending.remove_matching(|value| *value == 'a'), ['a']);
        assert_eq!(pending.insert(at(1), 'c'), Ok(3), "a freed number is not reused at once");
        assert_eq!(pending.len(), 2);
        assert_eq!(pending.remove_expired(at(1)), ['b', 'c']);
    }

    #[test]
    fn numbers_wrap_around_and_skip_those_in_use() {
        let mut pending = Pending::new(3);
        let first = pending.insert(at(1), ()).unwrap();
        pending.last_number = u32::MAX - 1;
        assert_eq!(pending.insert(at(1), ()), Ok(u32::MAX));
        assert_eq!(pending.insert(at(1), ()), Ok(first + 1));
    }
}
