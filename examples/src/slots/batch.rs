//! Slots of several reports, and of several cells, for one answer.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ferric::e2::NodeId;
use ferric::xapp::Xapp;
use ferric::{Error, StopHandle};

use super::{DueSlots, SlotConfig, SlotCounts, SlotPolicy, SlotSession, SlotShare, SlotUe};

/// The most slots that wait for a batch; beyond them the oldest are left to their cells.
const MAX_WAITING: usize = 4096;

/// A slot of a batch.
#[derive(Clone, Debug, PartialEq)]
pub struct BatchSlot {
    id: NodeId,
    /// The node of the cell, as the RIC logs it.
    pub node: Arc<str>,
    /// The slot.
    pub slot: u64,
    /// The places of the cell's UEs in the lists of the batch.
    pub ues: Range<usize>,
}

/// Slots that are to be decided, in the order of their reports. Each has the UEs as the last report of the cell shows them: later slots
/// of a cell do not contain what is decided about earlier ones of the batch.
#[derive(Clone, Debug, Default)]
pub struct SlotBatch {
    number: u64,
    /// The slots.
    pub slots: Vec<BatchSlot>,
    /// The UEs of all slots.
    pub ues: Vec<SlotUe>,
    /// Their names.
    pub names: Vec<Arc<str>>,
    /// The resource blocks of a slot.
    pub blocks: u16,
}

/// Why an answer to a batch is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BatchMisuse {
    /// The batch is not the last one, or has been answered.
    NotTheLast,
    /// There is no UE at this place.
    UnknownUe(usize),
    /// The UE at this place has blocks twice.
    UeTwice(usize),
    /// The shares of this slot have more blocks than the cell, or one has none.
    Blocks(u64),
}

impl SlotBatch {
    /// What a policy decides about the slots, one after the other: places in the lists of the batch. What it gives to a UE is not in
    /// the UE's buffers in later slots.
    pub fn decided_by(&self, policy: &mut impl SlotPolicy) -> Vec<SlotShare> {
        let mut shares = Vec::new();
        // octets that earlier slots of the batch carry
        let mut planned = BTreeMap::<(NodeId, u64), i64>::new();
        for slot in &self.slots {
            let mut ues = self.ues[slot.ues.clone()].to_vec();
            for ue in &mut ues {
                let octets = planned.get(&(slot.id, ue.number)).copied().unwrap_or(0);
                ue.backlog_octets = ue.backlog_octets.saturating_sub(octets);
            }
            for SlotShare { ue: at, blocks } in policy.decide(&ues, self.blocks) {
                let carried = (ues[at].octets_per_block * f64::from(blocks)) as i64;
                *planned.entry((slot.id, ues[at].number)).or_default() += carried.min(ues[at].backlog_octets);
                shares.push(SlotShare { ue: slot.ues.start + at, blocks });
            }
        }
        shares
    }

    /// The shares of each slot, by the number of the UE.
    ///
    /// # Errors
    /// The first share that is none.
    fn by_slot(&self, shares: &[SlotShare]) -> Result<Vec<Vec<(u64, u16)>>, BatchMisuse> {
        let mut of_slots = vec![Vec::new(); self.slots.len()];
        let mut is_used = vec![false; self.ues.len()];
        for share in shares {
            let used = is_used.get_mut(share.ue).ok_or(BatchMisuse::UnknownUe(share.ue))?;
            if std::mem::replace(used, true) {
                return Err(BatchMisuse::UeTwice(share.ue));
            }
            // slots without UEs begin at the same place as those that follow
            let at = self.slots.partition_point(|slot| slot.ues.end <= share.ue);
            of_slots[at].push((self.ues[share.ue].number, share.blocks));
        }
        for (slot, shares) in self.slots.iter().zip(&of_slots) {
            let total: u64 = shares.iter().map(|(_, blocks)| u64::from(*blocks)).sum();
            if total > self.blocks.into() || shares.iter().any(|(_, blocks)| *blocks == 0) {
                return Err(BatchMisuse::Blocks(slot.slot));
            }
        }
        Ok(of_slots)
    }
}

/// An xApp that schedules the cells of all nodes that offer E2SM-LLC, batch by batch: [`SlotBatches::wait`] returns the slots of all
/// reports that have arrived, [`SlotBatches::decide`] answers them together, with a control for each cell.
///
/// A slot that is not decided before the next batch is scheduled by its cell. So is one that has begun, by the reports of the cell,
/// when the batch is taken: a caller that is too slow loses the oldest slots.
pub struct SlotBatches {
    session: SlotSession,
    waiting: VecDeque<DueSlots>,
    /// The last batch: its number, and the reports that it is about; none once it is answered.
    last: u64,
    unanswered_reports: u64,
}

impl SlotBatches {
    /// Uses a session that nothing else has been asked of. [`SlotConfig::session`] has no effect.
    #[must_use]
    pub fn new(xapp: Xapp, config: SlotConfig) -> Self {
        let session = SlotSession::new(xapp, config);
        SlotBatches { session, waiting: VecDeque::new(), last: 0, unanswered_reports: 0 }
    }

    /// The counters.
    #[must_use]
    pub fn counts(&self) -> SlotCounts {
        self.session.state.counts
    }

    /// The number of subscriptions that cells have accepted: two of each cell.
    #[must_use]
    pub fn subscribed(&self) -> usize {
        self.session.state.subscribed
    }

    /// The number of slot reports that need no answer any more, of this xApp or of their cell; `None` while answers are outstanding.
    #[must_use]
    pub fn settled(&self) -> Option<u64> {
        self.session.settled()
    }

    /// A handle that makes [`SlotBatches::wait`] return early.
    #[must_use]
    pub fn stop_handle(&self) -> StopHandle {
        self.session.xapp.stop_handle()
    }

    /// Sends decisions, and waits for reports and answers once, at most for `timeout`.
    ///
    /// # Errors
    /// As [`Xapp::poll`](ferric::xapp::Xapp::poll).
    pub fn poll(&mut self, timeout: Option<Duration>) -> Result<(), Error> {
        let SlotBatches { session, waiting, .. } = self;
        session.poll(timeout, |state, due, _| {
            if waiting.len() == MAX_WAITING
                && let Some(oldest) = waiting.pop_front()
            {
                state.counts.late += oldest.slots.end - oldest.slots.start;
                state.handled += 1;
            }
            waiting.push_back(due);
        })
    }

    /// Waits until slots are to be decided, at most for `timeout`, and returns them all: none if the time is over.
    ///
    /// # Errors
    /// As [`SlotBatches::poll`].
    pub fn wait(&mut self, timeout: Duration) -> Result<SlotBatch, Error> {
        let begun = Instant::now();
        loop {
            let left = timeout.saturating_sub(begun.elapsed());
            // what has arrived meanwhile belongs to the batch
            self.poll(Some(if self.waiting.is_empty() { left } else { Duration::ZERO }))?;
            let batch = self.take();
            if !batch.slots.is_empty() || begun.elapsed() >= timeout {
                return Ok(batch);
            }
        }
    }

    /// The waiting slots that have not begun.
    fn take(&mut self) -> SlotBatch {
        let SlotBatches { session, waiting, last, unanswered_reports } = self;
        let state = &mut session.state;
        state.handled += std::mem::take(unanswered_reports);
        *last += 1;
        let mut batch = SlotBatch { number: *last, blocks: state.config.blocks, ..SlotBatch::default() };
        for DueSlots { node: id, slots } in waiting.drain(..) {
            *unanswered_reports += 1;
            // a node that has left has no slots
            let Some(cell) = state.cells.get_mut(&id) else { continue };
            for slot in slots {
                if slot < cell.slot() {
                    state.counts.late += 1;
                    continue;
                }
                let start = batch.ues.len();
                batch.ues.extend(cell.ues(slot));
                batch.names.extend(cell.names());
                let node = Arc::clone(&cell.node);
                batch.slots.push(BatchSlot { id, node, slot, ues: start..batch.ues.len() });
            }
        }
        if batch.slots.is_empty() {
            state.handled += std::mem::take(unanswered_reports);
        }
        batch
    }

    /// Answers the last batch. `shares` has places in its lists; the blocks of a slot are allocated in their order. A slot without shares
    /// is scheduled by its cell. The next call of [`SlotBatches::wait`] or [`SlotBatches::poll`] sends the controls.
    ///
    /// # Errors
    /// The first share that is none. Nothing is sent, and the batch may be answered again.
    pub fn decide(&mut self, batch: &SlotBatch, shares: &[SlotShare]) -> Result<(), BatchMisuse> {
        if batch.number != self.last || self.unanswered_reports == 0 {
            return Err(BatchMisuse::NotTheLast);
        }
        let mut of_slots: BTreeMap<_, _> = BTreeMap::new();
        for (BatchSlot { id, slot, .. }, shares) in batch.slots.iter().zip(batch.by_slot(shares)?) {
            of_slots.entry(*id).or_insert_with(BTreeMap::new).insert(*slot, shares);
        }
        let SlotBatches { session: SlotSession { xapp, state }, unanswered_reports, .. } = self;
        for (node, shares) in of_slots {
            let slots: Vec<u64> = shares.keys().copied().collect();
            state.decide(node, &slots, &mut xapp.commands(), |slot, ues| {
                let place = |(number, blocks): &(u64, u16)| {
                    let ue = ues.iter().position(|ue| ue.number == *number)?;
                    Some(SlotShare { ue, blocks: *blocks })
                };
                shares.get(&slot).into_iter().flatten().filter_map(place).collect()
            });
        }
        state.handled += std::mem::take(unanswered_reports);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn batch() -> SlotBatch {
        let ue = |number| SlotUe { number, backlog_octets: 100, octets_per_block: 30.0, average_octets: 1.0 };
        let slot = |slot, ues| BatchSlot { id: NodeId(1), node: "gnb".into(), slot, ues };
        SlotBatch {
            number: 1,
            slots: vec![slot(7, 0..2), slot(8, 2..2), slot(9, 2..4)],
            ues: vec![ue(1), ue(2), ue(1), ue(2)],
            names: vec!["amf:1".into(), "amf:2".into(), "amf:1".into(), "amf:2".into()],
            blocks: 6,
        }
    }

    fn share(ue: usize, blocks: u16) -> SlotShare {
        SlotShare { ue, blocks }
    }

    #[test]
    fn shares_belong_to_their_slots_in_their_order() {
        let of_slots = batch().by_slot(&[share(3, 1), share(1, 2), share(2, 5), share(0, 4)]).unwrap();
        assert_eq!(of_slots, [vec![(2, 2), (1, 4)], vec![], vec![(2, 1), (1, 5)]]);
    }

    #[test]
    fn impossible_shares_are_named() {
        let misuse = |shares: &[SlotShare]| batch().by_slot(shares).unwrap_err();
        assert_eq!(misuse(&[share(4, 1)]), BatchMisuse::UnknownUe(4));
        assert_eq!(misuse(&[share(1, 1), share(1, 1)]), BatchMisuse::UeTwice(1));
        assert_eq!(misuse(&[share(0, 3), share(2, 3), share(3, 4)]), BatchMisuse::Blocks(9));
        assert_eq!(misuse(&[share(0, 0)]), BatchMisuse::Blocks(7));
        assert_eq!(misuse(&[share(0, u16::MAX), share(1, u16::MAX)]), BatchMisuse::Blocks(7));
    }

    /// Gives the first UE with data what its buffer needs.
    struct First;

    impl SlotPolicy for First {
        fn decide(&mut self, ues: &[SlotUe], _: u16) -> Vec<SlotShare> {
            ues.iter().position(|ue| ue.backlog_octets > 0).map(|ue| share(ue, 4)).into_iter().collect()
        }
    }

    #[test]
    fn later_slots_lack_what_earlier_ones_carry() {
        // 4 blocks carry the 100 octets of a UE
        assert_eq!(batch().decided_by(&mut First), [share(0, 4), share(3, 4)]);
    }
}
