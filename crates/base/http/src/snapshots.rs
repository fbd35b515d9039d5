//! Answers to reads, which further reads share for a short time: what other threads answer costs them little, however often it is
//! asked.

use std::cell::RefCell;
use std::collections::HashMap;
use std::future::Future;
use std::rc::Rc;
use std::time::{Duration, Instant};

use tokio::sync::OnceCell;

use super::Problem;
use super::queue::SharedReads;
use super::request::Written;

/// The age up to which a snapshot stays for reads that accept an old answer.
pub(super) const MAX_ACCEPTED_AGE: Duration = Duration::from_secs(10);
/// The most snapshots.
const MAX_SNAPSHOTS: usize = 256;
/// The most octets of their bodies when another one is requested.
const MAX_OCTETS: usize = 16 * 1024 * 1024;

type Answer = Result<Written, Problem>;

/// Snapshots by the targets of requests.
#[derive(Default)]
pub(super) struct Snapshots(RefCell<HashMap<String, Rc<Snapshot>>>);

/// An answer, or the wait for it.
struct Snapshot {
    /// When it was requested: the state in the answer is not older.
    requested: Instant,
    answer: OnceCell<Answer>,
}

impl Snapshot {
    fn is_usable(&self, max_age: Duration) -> bool {
        // a refusal is for those who waited for it
        self.requested.elapsed() < max_age && !matches!(self.answer.get(), Some(Err(_)))
    }

    fn octets(&self) -> usize {
        self.answer.get().and_then(|answer| answer.as_ref().ok()).map_or(0, |written| written.octets.len())
    }
}

impl Snapshots {
    /// Returns the answer to a read. `request` requests it if there is none that is young enough, or this read may have its own; reads
    /// that come meanwhile wait for the same answer. A read with an `accepted` age takes any answer that is not older.
    pub async fn get<F: Future<Output = Answer>>(
        &self,
        target: &str,
        reads: &SharedReads,
        accepted: Option<Duration>,
        request: impl FnOnce() -> F,
    ) -> Answer {
        let shared = match accepted {
            Some(age) => self.usable(target, age.max(reads.max_age)),
            None => self.usable(target, reads.max_age).filter(|_| !reads.allows_own()),
        };
        let snapshot = shared.unwrap_or_else(|| self.begin(target, reads.max_age.max(MAX_ACCEPTED_AGE)));
        // if the read that requests it is cancelled, one that waits requests it again
        snapshot.answer.get_or_init(request).await.clone()
    }

    /// Forgets all of them: a write was answered, which reads from now on are to show.
    pub fn clear(&self) {
        self.0.borrow_mut().clear();
    }

    fn usable(&self, target: &str, max_age: Duration) -> Option<Rc<Snapshot>> {
        self.0.borrow().get(target).filter(|snapshot| snapshot.is_usable(max_age)).map(Rc::clone)
    }

    fn begin(&self, target: &str, longest: Duration) -> Rc<Snapshot> {
        let mut all = self.0.borrow_mut();
        all.retain(|_, snapshot| snapshot.is_usable(longest));
        let mut octets: usize = all.values().map(|snapshot| snapshot.octets()).sum();
        while all.len() >= MAX_SNAPSHOTS || octets > MAX_OCTETS {
            let oldest = all.iter().min_by_key(|(_, snapshot)| snapshot.requested).map(|(of, _)| of.clone());
            let Some(removed) = oldest.and_then(|oldest| all.remove(&oldest)) else { break };
            octets -= removed.octets();
        }
        let snapshot = Rc::new(Snapshot { requested: Instant::now(), answer: OnceCell::new() });
        all.insert(target.to_owned(), Rc::clone(&snapshot));
        snapshot
    }
}

#[cfg(test)]
mod tests {
    use hyper::StatusCode;
    use hyper::body::Bytes;
    use hyper::header::HeaderMap;

    use super::*;

    const AGE: Duration = Duration::from_secs(3600);
    const READS: SharedReads = SharedReads { max_age: AGE, own: None };

    /// Reads a target whose answer has this many octets.
    fn read(snapshots: &Snapshots, target: &str, octets: usize) {
        let answer = || async move {
            Ok(Written { status: StatusCode::OK, headers: HeaderMap::new(), octets: Bytes::from(vec![b'x'; octets]) })
        };
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        assert_eq!(runtime.block_on(snapshots.get(target, &READS, None, answer)).unwrap().octets.len(), octets);
    }

    #[test]
    fn number_of_snapshots_is_bounded_and_the_oldest_goes_first() {
        let snapshots = Snapshots::default();
        for number in 0..=MAX_SNAPSHOTS {
            read(&snapshots, &number.to_string(), 1);
        }
        assert_eq!(snapshots.0.borrow().len(), MAX_SNAPSHOTS);
        assert!(snapshots.usable("0", AGE).is_none() && snapshots.usable("1", AGE).is_some());
    }

    #[test]
    fn octets_of_snapshots_are_bounded() {
        let snapshots = Snapshots::default();
        for number in 0..10 {
            read(&snapshots, &number.to_string(), MAX_OCTETS / 4);
        }
        let octets: usize = snapshots.0.borrow().values().map(|snapshot| snapshot.octets()).sum();
        assert!(octets <= MAX_OCTETS + MAX_OCTETS / 4, "{octets}");
    }
}
