//! Deficit round robin (Shreedhar and Varghese, 1995), with debts as in RFC 8290 4.2: a queue gives while it has credit, and
//! its last packet may put it into debt. So the length of a packet need not be known before a discipline lets it go.

use super::{Candidates, Scheduler};

/// From each in turn, as many octets as it may.
pub(in crate::tc) struct DeficitRoundRobin {
    queues: Vec<Account>,
    current: usize,
}

struct Account {
    quantum_octets: i64,
    credit_octets: i64,
}

impl DeficitRoundRobin {
    /// The octets that each queue gets a turn, all above 0.
    pub(super) fn new(quanta: &[u32]) -> Self {
        let account = |quantum: &u32| Account { quantum_octets: i64::from(*quantum), credit_octets: 0 };
        DeficitRoundRobin { queues: quanta.iter().map(account).collect(), current: 0 }
    }

    /// Goes on where another one was, whose queues have the places now that `place` tells, if they are still there.
    pub(super) fn after(mut self, before: &DeficitRoundRobin, place: impl Fn(usize) -> Option<usize>) -> Self {
        for (at, old) in before.queues.iter().enumerate() {
            if let Some(account) = place(at).and_then(|place| self.queues.get_mut(place)) {
                account.credit_octets = old.credit_octets.min(account.quantum_octets);
            }
        }
        // where the queue whose turn it was is gone, it is that of the next one
        let gone = (before.current + self.queues.len() - 1) % self.queues.len();
        self.current = place(before.current).unwrap_or(gone);
        self
    }

    /// Gives each ready queue its quantum, one after the other from the one behind the current one, up to the first that
    /// then has credit.
    fn go_round(&mut self, candidates: &Candidates<'_>) -> Option<usize> {
        let queues = self.queues.len();
        (1..=queues).map(|step| (self.current + step) % queues).find(|place| {
            let account = &mut self.queues[*place];
            if !candidates.is_ready(*place) {
                // credit does not gather while there is nothing to give
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
        let place = self.go_round(candidates).or_else(|| {
            // all are in debt: the rounds that none of them would end in credit are gone at once
            let mut ready = self.queues.iter().enumerate().filter(|(place, _)| candidates.is_ready(*place));
            let rounds = |account: &Account| -account.credit_octets / account.quantum_octets;
            let (_, first) = ready.next()?;
            let least = ready.fold(rounds(first), |least, (_, account)| least.min(rounds(account)));
            for (place, account) in self.queues.iter_mut().enumerate() {
                if candidates.is_ready(place) {
                    account.credit_octets += least * account.quantum_octets;
                }
            }
            self.go_round(candidates)
        })?;
        self.current = place;
        Some(place)
    }

    fn served(&mut self, place: usize, octets: u32) {
        self.queues[place].credit_octets -= i64::from(octets);
    }
}
