//! The table of subscriptions: who owns which, how many one may have, and when they expire.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::criteria::{Criteria, Topic};
use crate::matcher::Key;
use crate::model::TimeStamp;

/// A version of the interface. Each has subscriptions of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Version {
    /// MEC 012 v1.1.1.
    V1,
    /// MEC 012 v2.2.1.
    V2,
}

/// A subscription.
#[derive(Clone, Debug)]
pub struct Subscription {
    /// The application, or the tenant, that it belongs to.
    pub owner: Arc<str>,
    /// Whose queue it has at a broker with one for each subscriber: the application instance of its criteria, else its owner.
    /// It grants no access.
    pub subscriber: Arc<str>,
    /// The interface that it belongs to.
    pub version: Version,
    /// Its URI.
    pub href: Arc<str>,
    /// Which events it is for.
    pub criteria: Criteria,
    /// When it ends; without it, when it is deleted.
    pub deadline: Option<TimeStamp>,
    /// Its representation: a line of JSON.
    pub document: Arc<str>,
}

/// Bounds of subscriptions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SubscriptionLimits {
    /// Subscriptions of one owner. Default: 10,000.
    pub max_per_owner: usize,
    /// Subscriptions in total. Default: 100,000.
    pub max_total: usize,
    /// The longest time until a deadline; a later one is shortened to it. Default: seven days.
    pub max_lifetime: Duration,
    /// How long before its end a subscription is notified of it, and at most half of its lifetime. Default: 60 s.
    pub expiry_notice: Duration,
}

impl Default for SubscriptionLimits {
    fn default() -> Self {
        SubscriptionLimits {
            max_per_owner: 10_000,
            max_total: 100_000,
            max_lifetime: Duration::from_secs(7 * 24 * 3600),
            expiry_notice: Duration::from_secs(60),
        }
    }
}

/// The bound that a new subscription exceeds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Full {
    /// Of its owner.
    Owner(usize),
    /// Of all.
    Total(usize),
}

/// What happens to a subscription with a deadline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Due {
    /// It is about to expire.
    Notice(Key, TimeStamp),
    /// It has expired, and is removed.
    Expired(Key),
}

#[derive(Debug)]
struct Entry {
    subscription: Arc<Subscription>,
    timer: Option<Timer>,
}

/// The timer of a subscription. It is monotonic: a clock that jumps changes no subscription that exists.
#[derive(Clone, Copy, Debug)]
struct Timer {
    /// The next event: the notice, then the end.
    next: Instant,
    end: Instant,
}

/// The subscriptions.
#[derive(Debug, Default)]
pub struct Table {
    entries: BTreeMap<Key, Entry>,
    per_owner: HashMap<Arc<str>, usize>,
    timers: BTreeSet<(Instant, Key)>,
    counts: HashMap<(Version, Topic), usize>,
}

impl Table {
    /// Whether an owner may have one more.
    pub fn check(&self, owner: &str, limits: &SubscriptionLimits) -> Result<(), Full> {
        if self.entries.len() >= limits.max_total {
            return Err(Full::Total(limits.max_total));
        }
        if self.per_owner.get(owner).is_some_and(|count| *count >= limits.max_per_owner) {
            return Err(Full::Owner(limits.max_per_owner));
        }
        Ok(())
    }

    /// Leaves out the notice of a subscription's end: another process has sent it.
    pub fn skip_notice(&mut self, key: Key) {
        if let Some(Entry { timer: Some(timer), .. }) = self.entries.get_mut(&key) {
            self.timers.remove(&(timer.next, key));
            timer.next = timer.end;
            self.timers.insert((timer.end, key));
        }
    }

    /// The subscriptions of a version, by type.
    pub fn counts(&self, version: Version) -> [usize; Topic::ALL.len()] {
        Topic::ALL.map(|topic| self.counts.get(&(version, topic)).copied().unwrap_or(0))
    }

    fn count(&mut self, subscription: &Subscription) -> &mut usize {
        self.counts.entry((subscription.version, subscription.criteria.topic)).or_default()
    }

    /// Adds a subscription.
    pub fn insert(
        &mut self,
        key: Key,
        subscription: Subscription,
        limits: &SubscriptionLimits,
        now: Instant,
    ) -> Result<(), Full> {
        self.check(&subscription.owner, limits)?;
        let owner = Arc::clone(&subscription.owner);
        *self.per_owner.entry(owner).or_default() += 1;
        *self.count(&subscription) += 1;
        let timer = self.start(key, &subscription, limits, now);
        self.entries.insert(key, Entry { subscription: Arc::new(subscription), timer });
        Ok(())
    }

    /// Replaces a subscription by one of the same owner. Returns whether there was one.
    pub fn replace(&mut self, key: Key, subscription: Subscription, limits: &SubscriptionLimits, now: Instant) -> bool {
        let Some(entry) = self.entries.get(&key) else { return false };
        if let Some(timer) = entry.timer {
            self.timers.remove(&(timer.next, key));
        }
        let timer = self.start(key, &subscription, limits, now);
        *self.count(&subscription) += 1;
        if let Some(old) = self.entries.insert(key, Entry { subscription: Arc::new(subscription), timer }) {
            *self.count(&old.subscription) -= 1;
        }
        true
    }

    fn start(
        &mut self,
        key: Key,
        subscription: &Subscription,
        limits: &SubscriptionLimits,
        now: Instant,
    ) -> Option<Timer> {
        // a deadline that has passed since it was checked ends the subscription at once
        let lifetime = subscription.deadline?.remaining().unwrap_or_default().min(limits.max_lifetime);
        let notice = limits.expiry_notice.min(lifetime / 2);
        let timer = Timer { next: now + (lifetime - notice), end: now + lifetime };
        self.timers.insert((timer.next, key));
        Some(timer)
    }

    /// Returns a subscription that has not expired.
    pub fn get(&self, key: Key, now: Instant) -> Option<&Arc<Subscription>> {
        let entry = self.entries.get(&key)?;
        entry.timer.is_none_or(|timer| now < timer.end).then_some(&entry.subscription)
    }

    /// Removes a subscription.
    pub fn remove(&mut self, key: Key) -> Option<Arc<Subscription>> {
        let Entry { subscription, timer } = self.entries.remove(&key)?;
        *self.count(&subscription) -= 1;
        if let Some(timer) = timer {
            self.timers.remove(&(timer.next, key));
        }
        if let Some(count) = self.per_owner.get_mut(&subscription.owner) {
            *count -= 1;
            if *count == 0 {
                self.per_owner.remove(&subscription.owner);
            }
        }
        Some(subscription)
    }

    /// Returns the subscriptions that have not expired, in the order of their numbers.
    pub fn iter(&self, now: Instant) -> impl Iterator<Item = (Key, &Arc<Subscription>)> {
        let entries = self.entries.iter().filter(move |(_, entry)| entry.timer.is_none_or(|timer| now < timer.end));
        entries.map(|(key, entry)| (*key, &entry.subscription))
    }

    /// Returns what is due, and removes what has expired.
    pub fn due(&mut self, now: Instant) -> Vec<Due> {
        let mut due = Vec::new();
        while let Some(&(at, key)) = self.timers.first()
            && at <= now
        {
            self.timers.remove(&(at, key));
            let Some(entry) = self.entries.get_mut(&key) else { continue };
            match (&mut entry.timer, entry.subscription.deadline) {
                (Some(timer), Some(deadline)) if timer.next < timer.end && now < timer.end => {
                    timer.next = timer.end;
                    self.timers.insert((timer.end, key));
                    due.push(Due::Notice(key, deadline));
                }
                _ => {
                    self.remove(key);
                    due.push(Due::Expired(key));
                }
            }
        }
        due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn subscription(owner: &str, lifetime: Option<Duration>) -> Subscription {
        Subscription {
            owner: owner.into(),
            subscriber: owner.into(),
            version: Version::V2,
            href: "".into(),
            criteria: Criteria::all(Topic::CellChange),
            deadline: lifetime.map(TimeStamp::after),
            document: "{}".into(),
        }
    }

    #[test]
    fn owner_and_total_are_bounded_and_a_removal_makes_room() {
        let limits = SubscriptionLimits { max_per_owner: 2, max_total: 3, ..SubscriptionLimits::default() };
        let (mut table, now) = (Table::default(), Instant::now());
        let insert = |table: &mut Table, key, owner| table.insert(Key(key), subscription(owner, None), &limits, now);
        assert_eq!((insert(&mut table, 1, "a"), insert(&mut table, 2, "a")), (Ok(()), Ok(())));
        assert_eq!(insert(&mut table, 3, "a"), Err(Full::Owner(2)));
        assert_eq!(insert(&mut table, 4, "b"), Ok(()));
        assert_eq!(insert(&mut table, 5, "c"), Err(Full::Total(3)));
        assert!(table.remove(Key(1)).is_some() && table.remove(Key(1)).is_none());
        assert_eq!(insert(&mut table, 6, "a"), Ok(()));
        assert_eq!((table.counts(Version::V1), table.counts(Version::V2)), ([0; 9], [3, 0, 0, 0, 0, 0, 0, 0, 0]));
        [2, 4, 6].into_iter().for_each(|key| assert!(table.remove(Key(key)).is_some()));
        assert!(table.entries.is_empty() && table.per_owner.is_empty());
        assert_eq!(table.counts(Version::V2), [0; 9]);
    }

    #[test]
    fn notice_precedes_the_end_and_renewal_postpones_both() {
        let limits = SubscriptionLimits::default();
        let (mut table, now) = (Table::default(), Instant::now());
        let lifetime = Duration::from_secs(600);
        table.insert(Key(1), subscription("a", Some(lifetime)), &limits, now).unwrap();
        table.insert(Key(2), subscription("a", None), &limits, now).unwrap();
        assert_eq!(table.due(now + Duration::from_secs(500)), []);
        let notice = table.due(now + Duration::from_secs(541));
        assert!(matches!(&*notice, [Due::Notice(Key(1), _)]), "{notice:?}");
        assert_eq!(table.due(now + Duration::from_secs(599)), []);
        let renewed = now + Duration::from_secs(599);
        assert!(table.replace(Key(1), subscription("a", Some(lifetime)), &limits, renewed));
        assert_eq!(table.due(now + Duration::from_secs(700)), []);
        assert!(table.get(Key(1), now + Duration::from_secs(700)).is_some());
        // a loop that was late removes it without a notice
        let late = now + Duration::from_secs(2000);
        assert!(table.get(Key(1), late).is_none() && table.get(Key(2), late).is_some());
        assert_eq!(table.iter(late).count(), 1);
        assert_eq!(table.due(late), [Due::Expired(Key(1))]);
        assert!(table.timers.is_empty());
        assert_eq!((table.remove(Key(1)).is_some(), table.entries.len()), (false, 1));
    }

    #[test]
    fn short_lifetime_has_its_notice_at_half() {
        let limits = SubscriptionLimits::default();
        let (mut table, now) = (Table::default(), Instant::now());
        table.insert(Key(1), subscription("a", Some(Duration::from_secs(10))), &limits, now).unwrap();
        assert_eq!(table.due(now + Duration::from_secs(4)), []);
        assert_eq!(table.due(now + Duration::from_secs(6)).len(), 1);
        assert_eq!(table.due(now + Duration::from_secs(11)), [Due::Expired(Key(1))]);
    }

    #[test]
    fn deadline_in_the_far_future_is_bounded() {
        let limits = SubscriptionLimits { max_lifetime: Duration::from_secs(100), ..SubscriptionLimits::default() };
        let (mut table, now) = (Table::default(), Instant::now());
        let last = TimeStamp { seconds: u32::MAX, nano_seconds: 999_999_999 };
        let endless = Subscription { deadline: Some(last), ..subscription("a", None) };
        table.insert(Key(1), endless, &limits, now).unwrap();
        assert!(table.get(Key(1), now + Duration::from_secs(99)).is_some());
        assert!(table.get(Key(1), now + Duration::from_secs(101)).is_none());
    }
}
