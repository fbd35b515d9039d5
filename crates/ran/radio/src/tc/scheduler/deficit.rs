//! Deficit round robin (Shreedhar and Varghese, 1995), with negative credit as in RFC 8290 4.2: a queue sends while its credit
//! is positive, and its last packet may make it negative. So the length of a packet is not needed before its discipline has
//! judged it.

use super::{Candidates, Scheduler};

/// Deficit round robin.
pub(in crate::tc) struct DeficitRoundRobin {
    queues: Vec<Account>,
    current: usize,
}

struct Account {
    quantum_octets: i64,
    credit_octets: i64,
}

impl DeficitRoundRobin {
    /// Creates the scheduler with a quantum in octets for each queue, all above 0.
    pub(super) fn new(quanta: &[u32]) -> Self {
        let account = |quantum: &u32| Account { quantum_octets: i64::from(*quantum), credit_octets: 0 };
        DeficitRoundRobin { queues: quanta.iter().map(account).collect(), current: 0 }
    }

    /// Continues from the state of `before`, whose queues have the positions that `position` returns, if they still exist.
    pub(super) fn after(mut self, before: &DeficitRoundRobin, position: impl Fn(usize) -> Option<usize>) -> Self {
        for (at, old) in before.queues.iter().enumerate() {
            if let Some(account) = position(at).and_then(|index| self.queues.get_mut(index)) {
                account.credit_octets = old.credit_octets.min(account.quantum_octets);
            }
        }
        // when the current queue was removed, the next one continues
        let gone = (before.current + self.queues.len() - 1) % self.queues.len();
        self.current = position(before.current).unwrap_or(gone);
        self
    }

    /// Adds its quantum to each ready queue, in turn from the one after the current, until one has positive credit.
    fn next_with_credit(&mut self, candidates: &Candidates<'_>) -> Option<usize> {
        let queues = self.queues.len();
        (1..=queues).map(|step| (self.current + step) % queues).find(|index| {
            let account = &mut self.queues[*index];
            if !candidates.is_ready(*index) {
                // an idle queue does not accumulate credit
                account.credit_octets = account.credit_octets.min(0);
                return false;
            }
            account.credit_octets += account.quantum_octets;
            account.credit_octets > 0
        })
    }
}

impl Scheduler for DeficitRoundRobin {
    fn choose(&mut self, candidates: &Candidates<'_>) -> Option<usize> {
        if candidates.is_ready(self.current) && self.queues[self.current].credit_octets > 0 {
            return Some(self.current);
        }
        let index = self.next_with_credit(candidates).or_else(|| {
            // all credits are negative: skip the rounds that cannot make one positive
            let mut ready = self.queues.iter().enumerate().filter(|(index, _)| candidates.is_ready(*index));
            let rounds = |account: &Account| -account.credit_octets / account.quantum_octets;
            let (_, first) = ready.next()?;
            let least = ready.fold(rounds(first), |least, (_, account)| least.min(rounds(account)));
            for (index, account) in self.queues.iter_mut().enumerate() {
                if candidates.is_ready(index) {
                    account.credit_octets += least * account.quantum_octets;
                }
            }
            self.next_with_credit(candidates)
        })?;
        self.current = index;
        Some(index)
    }

    fn served(&mut self, index: usize, octets: u32) {
        self.queues[index].credit_octets -= i64::from(octets);
    }
}
