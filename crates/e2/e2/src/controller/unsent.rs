//! What is queued for each association and not written yet, and how much of it each consumer may have.
//!
//! A peer that reads slowly lets requests pile up in the outbox of its link; when the outbox is full, the link is closed.
//! One consumer must not bring that about, nor take the room of the others. Therefore a request is accepted while what its
//! consumer has unsent is at most what stays free: one consumer alone gets half of the room, and something is left for the
//! next one however many there are. A quarter of the outbox is reserved for the procedures of the RIC itself. Requests that
//! the RIC repeats or sends in the place of consumers (restored subscriptions, deletions) wait until half of it is free.
//!
//! The machine does not see the links: its caller reports what is left of an association's octets
//! ([`Controller::handle_sent`]). Without [`ControllerConfig::outbox_octets`](super::ControllerConfig::outbox_octets) nothing
//! is counted or refused.

use std::collections::{BTreeSet, HashMap, VecDeque};

use e2ap::{Codec, Pdu, Version};

use super::records::{Request, SubscriptionState};
use super::{Consumer, Controller, Misuse, NodeId};
use crate::outbox::Outbox;
use crate::{AssocId, Time};

/// What a queued PDU counts beyond its own octets: its framing and its entry in the queue of a link.
const PDU_OVERHEAD_OCTETS: usize = 28;

/// What is queued for one association.
#[derive(Debug, Default)]
struct Queue {
    /// The PDUs, oldest first: who asked for each, and its octets.
    pdus: VecDeque<(Option<Consumer>, usize)>,
    octets: usize,
    /// The octets of each consumer with some.
    of_consumers: HashMap<Consumer, usize>,
    /// The slots of requests of the RIC that wait for room.
    waiting: BTreeSet<u32>,
    /// Whether it is listed in `TrackedOutbox::unsent`.
    is_listed: bool,
}

impl Queue {
    fn add(&mut self, consumer: Option<Consumer>, octets: usize) {
        let octets = octets + PDU_OVERHEAD_OCTETS;
        self.pdus.push_back((consumer, octets));
        self.octets += octets;
        if let Some(consumer) = consumer {
            *self.of_consumers.entry(consumer).or_default() += octets;
        }
    }

    /// Removes the oldest PDUs, so that at least `left` octets stay.
    fn keep(&mut self, left: usize) {
        while let Some((consumer, octets)) = self.pdus.front().copied()
            && self.octets - octets >= left
        {
            self.pdus.pop_front();
            self.octets -= octets;
            if let Some(consumer) = consumer
                && let Some(of_consumer) = self.of_consumers.get_mut(&consumer)
            {
                *of_consumer -= octets;
                if *of_consumer == 0 {
                    self.of_consumers.remove(&consumer);
                }
            }
        }
    }
}

/// The queue of PDUs to send, with an account of what was taken from it and is not written yet.
#[derive(Debug)]
pub(super) struct TrackedOutbox {
    outbox: Outbox,
    /// The size of the outbox of a link; `None`: nothing is counted.
    limit: Option<usize>,
    queues: HashMap<AssocId, Queue>,
    /// The associations with unsent octets, each once.
    unsent: Vec<AssocId>,
}

impl TrackedOutbox {
    pub fn new(limit: Option<usize>) -> Self {
        TrackedOutbox { outbox: Outbox::default(), limit, queues: HashMap::new(), unsent: Vec::new() }
    }

    pub fn open(&mut self, assoc: AssocId, codec: Codec) {
        self.outbox.open(assoc, codec);
        if self.limit.is_some() {
            self.queues.insert(assoc, Queue::default());
        }
    }

    pub fn close(&mut self, assoc: AssocId) {
        self.outbox.close(assoc);
        self.queues.remove(&assoc);
    }

    /// Queues a PDU of the RIC itself.
    pub fn push(&mut self, assoc: AssocId, version: Version, pdu: &Pdu<'_>) {
        self.push_of(None, assoc, version, pdu);
    }

    /// Queues a PDU that a consumer asked for.
    pub fn push_of(&mut self, consumer: Option<Consumer>, assoc: AssocId, version: Version, pdu: &Pdu<'_>) {
        let octets = self.outbox.push(assoc, version, pdu);
        if let Some(queue) = self.queues.get_mut(&assoc) {
            queue.add(consumer, octets);
            if !std::mem::replace(&mut queue.is_listed, true) {
                self.unsent.push(assoc);
            }
        }
    }

    pub fn pop(&mut self, out: &mut Vec<u8>) -> Option<AssocId> {
        self.outbox.pop(out)
    }

    pub fn has_output(&self) -> bool {
        !self.outbox.is_empty()
    }

    /// Whether a consumer may queue a PDU of `octets` for an association.
    fn check_share(&self, consumer: Consumer, assoc: AssocId, octets: usize) -> Result<(), Misuse> {
        let (Some(limit), Some(queue)) = (self.limit, self.queues.get(&assoc)) else { return Ok(()) };
        let cost = octets + PDU_OVERHEAD_OCTETS;
        if cost > limit {
            return Err(Misuse::TooLarge);
        }
        let own = queue.of_consumers.get(&consumer).copied().unwrap_or_default();
        let free = (limit - limit / 4).checked_sub(queue.octets + cost);
        let is_first = queue.octets <= limit / 16 && queue.octets + cost <= limit;
        if is_first || free.is_some_and(|free| own + cost <= free) { Ok(()) } else { Err(Misuse::NodeBusy) }
    }

    /// Whether a request that the RIC may postpone is to be sent now.
    fn has_room(&self, assoc: AssocId, octets: usize) -> bool {
        let (Some(limit), Some(queue)) = (self.limit, self.queues.get(&assoc)) else { return true };
        queue.octets == 0 || queue.octets + octets + PDU_OVERHEAD_OCTETS <= limit / 2
    }
}

impl Controller {
    /// Returns the associations with PDUs that were queued and are, as far as is known, not written yet. The caller reports
    /// their progress by [`Controller::handle_sent`].
    pub fn unsent(&self) -> impl Iterator<Item = AssocId> {
        self.outbox.unsent.iter().copied()
    }

    /// Returns the octets of an association that are, as far as is known, not written yet.
    #[must_use]
    pub fn unsent_octets(&self, assoc: AssocId) -> usize {
        self.outbox.queues.get(&assoc).map_or(0, |queue| queue.octets)
    }

    /// Reports how many octets of an association are still in the outbox of its link, after
    /// [`Controller::poll_transmit`] has returned `None`. More may be queued then: requests that waited for room.
    pub fn handle_sent(&mut self, now: Time, assoc: AssocId, unsent_octets: usize) {
        if let Some(queue) = self.outbox.queues.get_mut(&assoc) {
            queue.keep(unsent_octets);
        }
        while let Some(place) = self.outbox.queues.get(&assoc).and_then(|queue| queue.waiting.first().copied()) {
            if !self.outbox.has_room(assoc, self.request_octets(place)) {
                break;
            }
            if let Some(queue) = self.outbox.queues.get_mut(&assoc) {
                queue.waiting.pop_first();
            }
            self.send_postponed(now, assoc, place);
        }
        let queues = &mut self.outbox.queues;
        self.outbox.unsent.retain(|listed| {
            *listed != assoc
                || queues.get_mut(listed).is_some_and(|queue| {
                    queue.is_listed = queue.octets > 0;
                    queue.is_listed
                })
        });
    }

    /// Checks that a consumer may have `octets` of payload more waiting for a node.
    pub(super) fn check_share(&self, consumer: Consumer, node: NodeId, octets: usize) -> Result<(), Misuse> {
        let Some(node) = self.nodes.get(&node) else { return Ok(()) };
        self.outbox.check_share(consumer, node.assoc, octets)
    }

    /// Whether the request in `place`, a restored subscription or a deletion, is to be sent now. Otherwise it is sent when
    /// the node has read more.
    pub(super) fn may_send_now(&mut self, node: NodeId, place: u32) -> bool {
        let Some(assoc) = self.nodes.get(&node).map(|node| node.assoc) else { return true };
        let octets = self.request_octets(place);
        let has_room = self.outbox.has_room(assoc, octets);
        let Some(queue) = self.outbox.queues.get_mut(&assoc) else { return true };
        if has_room && queue.waiting.is_empty() {
            return true;
        }
        queue.waiting.insert(place);
        false
    }

    /// The octets of the payload of a restored subscription or a deletion.
    fn request_octets(&self, place: u32) -> usize {
        match self.requests.get(place) {
            Some(Request::Subscription(s)) if matches!(s.state, SubscriptionState::Restoring { .. }) => s.octets,
            _ => 0,
        }
    }

    /// Sends a request that waited for room, unless it ended meanwhile.
    fn send_postponed(&mut self, now: Time, assoc: AssocId, place: u32) {
        let Some(Request::Subscription(subscription)) = self.requests.get(place) else { return };
        if self.nodes.get(&subscription.node).is_none_or(|node| node.assoc != assoc) {
            return;
        }
        match subscription.state {
            SubscriptionState::Restoring { .. } => {
                self.send_request(None, place);
                self.set_deadline(now + self.config.subscription_timeout, place);
            }
            SubscriptionState::Deleting => self.write_delete(now, place),
            _ => {}
        }
    }

    /// Drops the requests that wait for room, because their node is lost or starts anew.
    pub(super) fn drop_postponed(&mut self, assoc: AssocId) {
        if let Some(queue) = self.outbox.queues.get_mut(&assoc) {
            queue.waiting.clear();
        }
    }

    /// Moves the requests that wait for room to the association that continues a node.
    pub(super) fn move_postponed(&mut self, from: AssocId, to: AssocId) {
        let waiting = self.outbox.queues.get_mut(&from).map(|queue| std::mem::take(&mut queue.waiting));
        if let (Some(waiting), Some(queue)) = (waiting, self.outbox.queues.get_mut(&to)) {
            queue.waiting.extend(waiting);
            if !queue.waiting.is_empty() && !std::mem::replace(&mut queue.is_listed, true) {
                self.outbox.unsent.push(to);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ASSOC: AssocId = AssocId(1);

    fn outbox(limit: usize) -> TrackedOutbox {
        let mut outbox = TrackedOutbox::new(Some(limit));
        outbox.open(ASSOC, Codec::Per);
        outbox
    }

    fn add(outbox: &mut TrackedOutbox, consumer: u32, octets: usize) -> bool {
        let admitted = outbox.check_share(Consumer(consumer), ASSOC, octets).is_ok();
        if admitted {
            outbox.queues.get_mut(&ASSOC).unwrap().add(Some(Consumer(consumer)), octets);
        }
        admitted
    }

    #[test]
    fn one_consumer_gets_half_of_the_room_and_others_always_some() {
        let mut outbox = outbox(1 << 20);
        let mut greedy = 0;
        while add(&mut outbox, 1, 1000) {
            greedy += 1028;
        }
        let room = (1 << 20) * 3 / 4;
        assert!((room / 2 - 2000..=room / 2).contains(&greedy), "{greedy}");
        for consumer in 2..8 {
            assert!(add(&mut outbox, consumer, 1000), "{consumer}");
            while add(&mut outbox, consumer, 1000) {}
        }
        let octets = outbox.queues[&ASSOC].octets;
        assert!(octets <= room, "a quarter is left for the RIC: {octets}");
        assert_eq!(outbox.check_share(Consumer(1), ASSOC, 1000), Err(Misuse::NodeBusy));
        outbox.queues.get_mut(&ASSOC).unwrap().keep(0);
        assert!(outbox.queues[&ASSOC].of_consumers.is_empty() && outbox.queues[&ASSOC].pdus.is_empty());
        assert!(add(&mut outbox, 1, 1000));
    }

    #[test]
    fn longest_request_fits_an_empty_outbox() {
        let mut outbox = outbox(64 * 1024);
        assert_eq!(outbox.check_share(Consumer(1), ASSOC, 64 * 1024), Err(Misuse::TooLarge));
        assert!(add(&mut outbox, 1, 65_000));
        assert_eq!(outbox.check_share(Consumer(2), ASSOC, 10), Err(Misuse::NodeBusy));
    }

    #[test]
    fn account_follows_what_is_left_of_the_link() {
        let mut outbox = outbox(1 << 20);
        for consumer in 1..=4 {
            assert!(add(&mut outbox, consumer, 1000));
        }
        let queue = outbox.queues.get_mut(&ASSOC).unwrap();
        queue.keep(2500);
        assert_eq!(queue.pdus.len(), 3, "the oldest of these is written in part");
        assert!(!queue.of_consumers.contains_key(&Consumer(1)));
        queue.keep(5000);
        assert_eq!(queue.pdus.len(), 3, "a report of more changes nothing");
    }
}
