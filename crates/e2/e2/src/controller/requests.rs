//! The table of RIC request ids. Ids are unique per controller, so that an indication is forwarded to an xApp unchanged.
//!
//! The table is dense, and consecutive slots have different requestors and instances: [`SubscriptionId`] maps them. A freed id is not reused for a
//! delay, so that late messages of a slow node do not reach the new request; each late message restarts the delay.

use core::time::Duration;
use std::collections::{BTreeSet, HashMap, VecDeque};

use e2ap::RicRequestId;

use super::ids::{NodeId, SubscriptionId, requestors};
use super::records::Request;
use crate::Time;

#[derive(Debug, Default)]
struct Slot {
    request: Option<Box<Request>>,
    /// The sequence number of the slot's deadline: only the last one is valid.
    deadline: u32,
    /// The time of the last message for the request that used this slot before.
    last_message: Time,
    /// Whether the slot is listed in `touched`.
    touched: bool,
}

#[derive(Debug)]
pub(super) struct RequestTable {
    first_requestor: u16,
    max: u32,
    reuse_delay: Duration,
    slots: Vec<Slot>,
    in_use: usize,
    /// Freed slots and the times of their release, oldest first.
    released: VecDeque<(Time, u32)>,
    of_node: HashMap<NodeId, BTreeSet<u32>>,
    /// Slots whose route may have changed since the last poll, each once; `None` unless routes are tracked.
    touched: Option<Vec<u32>>,
}

impl RequestTable {
    pub fn new(first_requestor: u16, max: u32, reuse_delay: Duration) -> Self {
        let room = requestors(first_requestor).saturating_mul(65536);
        RequestTable {
            first_requestor,
            max: max.min(room),
            reuse_delay,
            slots: Vec::new(),
            in_use: 0,
            released: VecDeque::new(),
            of_node: HashMap::new(),
            touched: None,
        }
    }

    /// Starts recording changes for [`RequestTable::next_touched`].
    pub fn track(&mut self) {
        self.touched.get_or_insert_default();
    }

    pub fn next_touched(&mut self) -> Option<u32> {
        let place = self.touched.as_mut()?.pop()?;
        if let Some(slot) = self.slots.get_mut(place as usize) {
            slot.touched = false;
        }
        Some(place)
    }

    /// Marks the routes of all requests of a node as changed.
    pub fn touch_node(&mut self, node: NodeId) {
        if self.touched.is_some() {
            self.of_node(node).into_iter().for_each(|place| self.touch(place));
        }
    }

    fn touch(&mut self, place: u32) {
        if let Some(touched) = &mut self.touched
            && let Some(slot) = self.slots.get_mut(place as usize)
            && !std::mem::replace(&mut slot.touched, true)
        {
            touched.push(place);
        }
    }

    #[inline]
    pub fn place(&self, id: RicRequestId) -> Option<u32> {
        SubscriptionId::of_request(self.first_requestor, id).map(|id| id.0)
    }

    pub fn id(&self, place: u32) -> RicRequestId {
        SubscriptionId(place).request(self.first_requestor)
    }

    #[inline]
    pub fn get(&self, place: u32) -> Option<&Request> {
        self.slots.get(place as usize)?.request.as_deref()
    }

    /// Returns all requests, each with its place.
    pub fn all(&self) -> impl Iterator<Item = (u32, &Request)> {
        (0..).zip(&self.slots).filter_map(|(place, slot)| Some((place, slot.request.as_deref()?)))
    }

    /// Returns a request for modification. There is no other way to modify one, so that no change of a route is missed.
    pub fn get_mut(&mut self, place: u32) -> Option<&mut Request> {
        self.touch(place);
        self.slots.get_mut(place as usize)?.request.as_deref_mut()
    }

    /// The number of requests in progress.
    pub fn in_use(&self) -> usize {
        self.in_use
    }

    /// Whether the slot was used before and is free: late messages about it are not the node's fault.
    pub fn is_in_reuse_delay(&self, place: u32) -> bool {
        self.slots.get(place as usize).is_some_and(|slot| slot.request.is_none())
    }

    /// Records a late message for the request that used this slot before.
    pub fn record_late_message(&mut self, now: Time, place: u32) {
        if let Some(slot) = self.slots.get_mut(place as usize) {
            slot.last_message = now;
        }
    }

    /// Returns the sequence number of a new deadline of the slot, which invalidates the earlier ones.
    pub fn renew_deadline(&mut self, place: u32) -> u32 {
        self.slots.get_mut(place as usize).map_or(0, |slot| {
            slot.deadline = slot.deadline.wrapping_add(1);
            slot.deadline
        })
    }

    /// Whether the deadline is the last one of a request that has not ended.
    pub fn is_current_deadline(&self, place: u32, deadline: u32) -> bool {
        self.slots.get(place as usize).is_some_and(|slot| slot.request.is_some() && slot.deadline == deadline)
    }

    /// Returns a freed slot whose reuse delay has passed.
    fn next_reusable(&mut self, now: Time) -> Option<u32> {
        // bounded, so that one call does not walk through the whole queue
        for _ in 0..self.released.len().min(64) {
            let (since, place) = *self.released.front()?;
            if now - since < self.reuse_delay {
                return None;
            }
            self.released.pop_front();
            if now - self.slots[place as usize].last_message >= self.reuse_delay {
                return Some(place);
            }
            self.released.push_back((now, place));
        }
        None
    }

    /// Stores a request and returns its slot; `None` if all ids are in use, or not reusable yet.
    pub fn add(&mut self, now: Time, request: Request) -> Option<u32> {
        let place = match self.next_reusable(now) {
            Some(place) => place,
            None if self.slots.len() < self.max as usize => {
                self.slots.push(Slot::default());
                self.slots.len() as u32 - 1
            }
            None => return None,
        };
        self.of_node.entry(request.node()).or_default().insert(place);
        self.slots[place as usize].request = Some(Box::new(request));
        self.in_use += 1;
        Some(place)
    }

    pub fn free(&mut self, now: Time, place: u32) -> Option<Request> {
        self.touch(place);
        let request = *self.slots.get_mut(place as usize)?.request.take()?;
        self.in_use -= 1;
        self.released.push_back((now, place));
        self.forget_node(place, request.node());
        Some(request)
    }

    fn forget_node(&mut self, place: u32, node: NodeId) {
        if let Some(places) = self.of_node.get_mut(&node) {
            places.remove(&place);
            if places.is_empty() {
                self.of_node.remove(&node);
            }
        }
    }

    /// Detaches the request in `place` from its node, which is lost.
    pub fn detach(&mut self, place: u32) {
        if let Some(node) = self.get(place).map(Request::node) {
            self.forget_node(place, node);
        }
    }

    /// Attaches the request in `place` to the node that it names.
    pub fn attach(&mut self, place: u32) {
        if let Some(node) = self.get(place).map(Request::node) {
            self.of_node.entry(node).or_default().insert(place);
        }
    }

    /// Returns the slots of a node's requests, lowest first.
    pub fn of_node(&self, node: NodeId) -> Vec<u32> {
        self.of_node.get(&node).into_iter().flatten().copied().collect()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use e2ap::RanFunctionId;

    use super::super::records::Query;
    use super::*;
    use crate::{Consumer, Ticket};

    fn request() -> Request {
        let (function, consumer) = (RanFunctionId(2), Consumer(0));
        Request::Query(Query { node: NodeId(1), function, consumer, ticket: Ticket(0) })
    }

    #[test]
    fn live_requests_have_different_requestors_and_instances() {
        let mut table = RequestTable::new(1021, 262_144, Duration::from_secs(10));
        let now = Time::from_nanos(1);
        let (mut requestors, mut instances) = (HashSet::new(), HashSet::new());
        for count in 1..=64_515 {
            let place = table.add(now, request()).unwrap();
            let id = table.id(place);
            assert!(requestors.insert(id.requestor) && instances.insert(id.instance), "{count}: {id:?}");
            assert!(id.requestor >= 1021, "{id:?}");
            assert_eq!(table.place(id), Some(place));
        }
        // the requestors are used up: the next round has other instances
        let place = table.add(now, request()).unwrap();
        let id = table.id(place);
        assert_eq!((id.requestor, id.instance), (1021, 1));
    }

    #[test]
    fn each_place_has_an_id_of_its_own() {
        for first in [0, 1, 1021, 65_533, 65_535] {
            let table = RequestTable::new(first, u32::MAX, Duration::ZERO);
            assert_eq!(table.max, u32::try_from((65_536 - u64::from(first)) * 65_536).unwrap_or(u32::MAX), "{first}");
            let mut ids = HashSet::new();
            for place in
                (0..66_000).chain(table.max.saturating_sub(1_000)..table.max).filter(|place| *place < table.max)
            {
                let id = table.id(place);
                assert_eq!(table.place(id), Some(place), "{first}");
                ids.insert((id.requestor, id.instance));
            }
            assert!(ids.len() >= 65_536, "{first}: {}", ids.len());
            let below = RicRequestId { requestor: first.wrapping_sub(1), instance: 0 };
            assert_eq!(table.place(below).is_some(), first == 0, "{first}");
        }
    }
}
