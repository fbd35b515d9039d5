//! Request ids: given out once per controller, so that an indication can go to an xApp as it came.
//!
//! A dense table: an id's place is `(requestor - first) * 65536 + instance`. A freed id rests before it is used again,
//! so that what a slow node still sends for the old request does not reach the new one; while such things keep coming,
//! it rests on.

use core::time::Duration;
use std::collections::{BTreeSet, HashMap, VecDeque};

use e2ap::{RanFunctionId, RicRequestId};

use super::control::Control;
use super::ids::{NodeId, SubscriptionId};
use super::query::Query;
use super::subscription::Subscription;
use crate::Time;

#[derive(Debug)]
#[allow(clippy::large_enum_variant)] // each is in a box, and most are subscriptions
pub(super) enum Request {
    Subscription(Subscription),
    Control(Control),
    Query(Query),
}

impl Request {
    fn node(&self) -> NodeId {
        match self {
            Request::Subscription(subscription) => subscription.node,
            Request::Control(control) => control.node,
            Request::Query(query) => query.node,
        }
    }

    /// The function that it is with.
    pub fn function(&self) -> RanFunctionId {
        match self {
            Request::Subscription(subscription) => subscription.function,
            Request::Control(control) => control.function,
            Request::Query(query) => query.function,
        }
    }
}

#[derive(Debug, Default)]
struct Slot {
    request: Option<Box<Request>>,
    /// Counts the deadlines that were set for this place: only the last one is meant.
    deadline: u32,
    /// When something last came for the request that was here.
    heard: Time,
    /// Whether it is among those touched.
    touched: bool,
}

#[derive(Debug)]
pub(super) struct Requests {
    first_requestor: u16,
    max: u32,
    rest: Duration,
    slots: Vec<Slot>,
    in_use: usize,
    /// Freed places and since when, oldest first.
    resting: VecDeque<(Time, u32)>,
    of_node: HashMap<NodeId, BTreeSet<u32>>,
    /// Places whose request may have changed since they were asked for, each once; none where nobody asks.
    touched: Option<Vec<u32>>,
}

impl Requests {
    pub fn new(first_requestor: u16, max: u32, rest: Duration) -> Self {
        let room = (u32::from(u16::MAX - first_requestor) + 1).saturating_mul(65536);
        Requests {
            first_requestor,
            max: max.min(room),
            rest,
            slots: Vec::new(),
            in_use: 0,
            resting: VecDeque::new(),
            of_node: HashMap::new(),
            touched: None,
        }
    }

    /// From now on, [`Requests::next_touched`] tells what may have changed.
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

    /// The way of all that a node has may have changed.
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
        // `max` keeps the sum within 16 bits
        RicRequestId { requestor: self.first_requestor + (place >> 16) as u16, instance: place as u16 }
    }

    #[inline]
    pub fn get(&self, place: u32) -> Option<&Request> {
        self.slots.get(place as usize)?.request.as_deref()
    }

    /// The only way to change a request, so that no change of a route is missed.
    pub fn get_mut(&mut self, place: u32) -> Option<&mut Request> {
        self.touch(place);
        self.slots.get_mut(place as usize)?.request.as_deref_mut()
    }

    /// How many requests run.
    pub fn in_use(&self) -> usize {
        self.in_use
    }

    /// Whether the place was used before and is empty: late messages about it are no fault of the node.
    pub fn rests(&self, place: u32) -> bool {
        self.slots.get(place as usize).is_some_and(|slot| slot.request.is_none())
    }

    /// Something came for the request that was here.
    pub fn heard(&mut self, now: Time, place: u32) {
        if let Some(slot) = self.slots.get_mut(place as usize) {
            slot.heard = now;
        }
    }

    /// Numbers a new deadline of the place. Those before it are not meant any more.
    pub fn renew_deadline(&mut self, place: u32) -> u32 {
        self.slots.get_mut(place as usize).map_or(0, |slot| {
            slot.deadline = slot.deadline.wrapping_add(1);
            slot.deadline
        })
    }

    pub fn is_meant(&self, place: u32, deadline: u32) -> bool {
        self.slots.get(place as usize).is_some_and(|slot| slot.request.is_some() && slot.deadline == deadline)
    }

    /// A place that has rested.
    fn rested(&mut self, now: Time) -> Option<u32> {
        // how many are looked at is bounded: the loop is no longer than the queue was
        for _ in 0..self.resting.len().min(64) {
            let (since, place) = *self.resting.front()?;
            if now - since < self.rest {
                return None;
            }
            self.resting.pop_front();
            if now - self.slots[place as usize].heard >= self.rest {
                return Some(place);
            }
            self.resting.push_back((now, place));
        }
        None
    }

    /// Gives out an id, or `None` where all are in use or at rest.
    pub fn add(&mut self, now: Time, request: Request) -> Option<u32> {
        let place = match self.rested(now) {
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
        self.resting.push_back((now, place));
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

    /// The request at `place` is with its node no more: it waits for another to come in its stead.
    pub fn detach(&mut self, place: u32) {
        if let Some(node) = self.get(place).map(Request::node) {
            self.forget_node(place, node);
        }
    }

    /// The request at `place` is with the node that it names.
    pub fn attach(&mut self, place: u32) {
        if let Some(node) = self.get(place).map(Request::node) {
            self.of_node.entry(node).or_default().insert(place);
        }
    }

    /// The places of a node's requests, lowest first.
    pub fn of_node(&self, node: NodeId) -> Vec<u32> {
        self.of_node.get(&node).into_iter().flatten().copied().collect()
    }
}
