//! Who holds which parameter.

use std::collections::HashMap;
use std::sync::Arc;

use ferric::e2::content::Amount;
use ferric::e2::{NodeId, Time};

/// The most parameters that are held at a time. One xApp holds as many as stay free at most.
pub(crate) const MAX_HELD: usize = 16 * 1024;
/// Before the name of a KPI in a key.
pub(crate) const OF_KPI: &str = "kpi/";
/// The most xApps whose numbers are combined in one parameter.
const MAX_HOLDERS: usize = 8;

/// A parameter of a target, or a KPI.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Key {
    pub node: NodeId,
    pub parameter: Arc<str>,
    pub scope: Arc<str>,
}

/// An xApp that has set a parameter.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Holder {
    pub xapp: Arc<str>,
    /// Which of the parameters of a KPI it has set; 0 for a parameter.
    pub pattern: usize,
    pub since: Time,
    pub until: Time,
    /// What it has asked for.
    pub amount: Option<Amount>,
    /// The number of the control by which it got the parameter.
    pub control: u64,
}

/// The holders of all parameters.
#[derive(Debug, Default)]
pub(crate) struct Holders {
    of: HashMap<Key, Vec<Holder>>,
    counts: HashMap<Arc<str>, usize>,
}

impl Holders {
    /// The holders of a parameter whose time is not over.
    pub fn live(&self, key: &Key, now: Time) -> impl Iterator<Item = &Holder> + Clone {
        self.of.get(key).into_iter().flatten().filter(move |holder| holder.until > now)
    }

    /// Whether a parameter is held.
    pub fn is_held(&self, key: &Key, now: Time) -> bool {
        self.live(key, now).next().is_some()
    }

    /// Has those that hold a parameter under another name of its UE hold it under this one.
    pub fn join(&mut self, key: &Key, other: &Key) {
        let Some(others) = self.of.remove(other) else { return };
        let (all, counts) = (self.of.entry(key.clone()).or_default(), &mut self.counts);
        for holder in others {
            if all.len() >= MAX_HOLDERS || all.iter().any(|own| own.xapp == holder.xapp) {
                release(counts, &holder);
            } else {
                all.push(holder);
            }
        }
    }

    /// All holders whose time is not over, in the order of keys.
    pub fn all(&self, now: Time) -> Vec<(&Key, &Holder)> {
        let mut all: Vec<_> = self.of.iter().flat_map(|(key, all)| all.iter().map(move |one| (key, one))).collect();
        all.retain(|(_, holder)| holder.until > now);
        all.sort_by(|(a, x), (b, y)| a.cmp(b).then_with(|| x.xapp.cmp(&y.xapp)));
        all
    }

    /// Whether an xApp may hold `more` parameters that are free now. Forgets those whose time is over if that is needed.
    pub fn has_room(&mut self, xapp: &str, more: usize, now: Time) -> bool {
        if self.is_free(xapp, more) {
            return true;
        }
        let counts = &mut self.counts;
        self.of.retain(|_, all| {
            retain(all, counts, |holder| holder.until > now);
            !all.is_empty()
        });
        self.is_free(xapp, more)
    }

    fn is_free(&self, xapp: &str, more: usize) -> bool {
        let own = self.counts.get(xapp).copied().unwrap_or_default();
        MAX_HELD.checked_sub(self.of.len() + more).is_some_and(|free| own + more <= free)
    }

    /// Gives a parameter to an xApp: alone, or together with those that hold it. Returns whether it had it before.
    pub fn give(&mut self, key: Key, holder: Holder, is_shared: bool) -> bool {
        let all = self.of.entry(key).or_default();
        let counts = &mut self.counts;
        let had = all.iter().any(|other| other.xapp == holder.xapp && other.until > holder.since);
        let since = all.iter().find(|other| other.xapp == holder.xapp).map(|other| other.since).filter(|_| had);
        retain(all, counts, |other| is_shared && other.until > holder.since && other.xapp != holder.xapp);
        if all.len() >= MAX_HOLDERS {
            release(counts, &all.remove(0));
        }
        *counts.entry(Arc::clone(&holder.xapp)).or_default() += 1;
        all.push(Holder { since: since.unwrap_or(holder.since), ..holder });
        had
    }

    /// Takes back what an xApp got by a control that the node has not executed.
    pub fn take_back(&mut self, key: &Key, control: u64) {
        let Some(all) = self.of.get_mut(key) else { return };
        let counts = &mut self.counts;
        retain(all, counts, |holder| holder.control != control);
        if all.is_empty() {
            self.of.remove(key);
        }
    }

    /// Forgets a node.
    pub fn forget_node(&mut self, node: NodeId) {
        self.forget(|key| key.node == node);
    }

    /// Forgets who has set parameters that move KPIs.
    pub fn forget_kpis(&mut self) {
        self.forget(|key| key.parameter.starts_with(OF_KPI));
    }

    fn forget(&mut self, is_forgotten: impl Fn(&Key) -> bool) {
        let counts = &mut self.counts;
        self.of.retain(|key, all| {
            let is_forgotten = is_forgotten(key);
            if is_forgotten {
                all.iter().for_each(|holder| release(counts, holder));
            }
            !is_forgotten
        });
    }

    /// The number of holds whose time is not over.
    pub fn count(&self, now: Time) -> usize {
        self.of.values().flatten().filter(|holder| holder.until > now).count()
    }

    #[cfg(test)]
    pub fn len(&self) -> usize {
        self.of.len()
    }
}

/// Keeps some holders of a parameter, and counts the others as removed.
fn retain(all: &mut Vec<Holder>, counts: &mut HashMap<Arc<str>, usize>, is_kept: impl Fn(&Holder) -> bool) {
    all.extract_if(.., |holder| !is_kept(holder)).for_each(|holder| release(counts, &holder));
}

/// Counts a holder that is removed.
fn release(counts: &mut HashMap<Arc<str>, usize>, holder: &Holder) {
    if let Some(count) = counts.get_mut(&holder.xapp) {
        *count -= 1;
        if *count == 0 {
            counts.remove(&holder.xapp);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn at(ms: u64) -> Time {
        Time::default() + Duration::from_millis(ms)
    }

    fn key(number: usize) -> Key {
        Key { node: NodeId(number as u32 % 2), parameter: "slice/dl".into(), scope: format!("slice {number}").into() }
    }

    fn holder(xapp: &str, at_ms: u64) -> Holder {
        let (since, until) = (at(at_ms), at(at_ms + 1000));
        Holder { xapp: xapp.into(), pattern: 0, since, until, amount: None, control: at_ms }
    }

    #[test]
    fn greedy_xapp_leaves_room_for_others_and_time_frees_it() {
        let mut holders = Holders::default();
        let now = at(0);
        let mut number = 0;
        while holders.has_room("greedy", 1, now) {
            holders.give(key(number), holder("greedy", 0), false);
            number += 1;
        }
        assert_eq!(holders.len(), MAX_HELD / 2);
        assert!(holders.has_room("modest", MAX_HELD / 4, now) && !holders.has_room("modest", usize::MAX / 2, now));
        assert!(holders.has_room("greedy", 1, at(1000)));
        assert_eq!(holders.len(), 0);
        assert!(holders.counts.is_empty());
    }

    #[test]
    fn forgotten_node_and_control_taken_back_leave_nothing() {
        let mut holders = Holders::default();
        for number in 0..4 {
            holders.give(key(number), holder("a", 5), false);
        }
        holders.give(key(1), holder("b", 6), true);
        assert_eq!(holders.live(&key(1), at(7)).count(), 2);
        holders.forget_node(NodeId(0));
        assert_eq!(holders.len(), 2);
        holders.take_back(&key(1), 5);
        assert_eq!(holders.live(&key(1), at(7)).map(|one| &*one.xapp).collect::<Vec<_>>(), ["b"]);
        holders.take_back(&key(1), 6);
        holders.take_back(&key(3), 5);
        assert!(holders.of.is_empty() && holders.counts.is_empty());
    }
}
