//! What waits for an answer: procedures that a node holds until a controller's word or a deadline.

use std::collections::HashMap;

use ferric::e2::Time;

/// Things that wait, each under a number of its own. At most so many at a time: what finds no room goes on unasked.
///
/// A number is used again only after all others have been: an answer that comes too late names nothing.
#[derive(Debug)]
pub struct Held<T> {
    waiting: HashMap<u32, Waiting<T>>,
    most: usize,
    last: u32,
}

#[derive(Debug)]
struct Waiting<T> {
    until: Time,
    what: T,
}

impl<T> Held<T> {
    /// An empty table of so many places.
    #[must_use]
    pub fn new(most: usize) -> Self {
        Held { waiting: HashMap::new(), most, last: 0 }
    }

    /// How many wait.
    #[must_use]
    pub fn len(&self) -> usize {
        self.waiting.len()
    }

    /// Whether nothing waits.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Has something wait, and gives its number, 1 or above.
    ///
    /// # Errors
    /// What was to wait, where there is no room.
    pub fn hold(&mut self, until: Time, what: T) -> Result<u32, T> {
        if self.waiting.len() >= self.most {
            return Err(what);
        }
        // ends: fewer wait than there are numbers
        loop {
            self.last = self.last.checked_add(1).unwrap_or(1);
            if !self.waiting.contains_key(&self.last) {
                break;
            }
        }
        self.waiting.insert(self.last, Waiting { until, what });
        Ok(self.last)
    }

    /// What waits under that number.
    #[must_use]
    pub fn get(&self, number: u32) -> Option<&T> {
        self.waiting.get(&number).map(|waiting| &waiting.what)
    }

    /// Its waiting is over.
    pub fn take(&mut self, number: u32) -> Option<T> {
        self.waiting.remove(&number).map(|waiting| waiting.what)
    }

    /// Takes what `is_meant`, in the order of its numbers.
    pub fn take_where(&mut self, mut is_meant: impl FnMut(&T) -> bool) -> Vec<T> {
        self.take_all(|waiting| is_meant(&waiting.what))
    }

    /// Takes what has waited until now, in the order of its numbers.
    pub fn expired(&mut self, now: Time) -> Vec<T> {
        self.take_all(|waiting| waiting.until <= now)
    }

    fn take_all(&mut self, mut is_meant: impl FnMut(&Waiting<T>) -> bool) -> Vec<T> {
        let mut numbers: Vec<u32> =
            self.waiting.iter().filter(|(_, waiting)| is_meant(waiting)).map(|(number, _)| *number).collect();
        numbers.sort_unstable();
        numbers.iter().filter_map(|number| self.take(*number)).collect()
    }

    /// When the first has waited long enough.
    #[must_use]
    pub fn next_deadline(&self) -> Option<Time> {
        self.waiting.values().map(|waiting| waiting.until).min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn at(nanos: u64) -> Time {
        Time::from_nanos(nanos)
    }

    #[test]
    fn waits_until_the_answer_or_the_deadline() {
        let mut held = Held::new(3);
        assert_eq!((held.next_deadline(), held.is_empty()), (None, true));
        let (a, b) = (held.hold(at(30), 'a').unwrap(), held.hold(at(10), 'b').unwrap());
        assert_eq!((a, b, held.next_deadline()), (1, 2, Some(at(10))));
        assert_eq!(held.expired(at(9)), []);
        assert_eq!(held.expired(at(10)), ['b']);
        assert_eq!((held.take(b), held.get(a)), (None, Some(&'a')), "too late");
        assert_eq!((held.take(a), held.take(a)), (Some('a'), None), "once");
    }

    #[test]
    fn there_is_room_for_so_many() {
        let mut held = Held::new(2);
        held.hold(at(1), 'a').unwrap();
        held.hold(at(1), 'b').unwrap();
        assert_eq!(held.hold(at(1), 'c'), Err('c'));
        assert_eq!(held.take_where(|what| *what == 'a'), ['a']);
        assert_eq!(held.hold(at(1), 'c'), Ok(3), "a number rests");
        assert_eq!(held.len(), 2);
        assert_eq!(held.expired(at(1)), ['b', 'c']);
    }

    #[test]
    fn numbers_begin_anew_and_pass_over_those_in_use() {
        let mut held = Held::new(3);
        let first = held.hold(at(1), ()).unwrap();
        held.last = u32::MAX - 1;
        assert_eq!(held.hold(at(1), ()), Ok(u32::MAX));
        assert_eq!(held.hold(at(1), ()), Ok(first + 1));
    }
}
