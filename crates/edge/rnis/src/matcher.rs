//! The index from type, cell and UE to subscriptions: an event costs what its matches cost, not what there are subscriptions.

use std::collections::{BTreeSet, HashMap};
use std::hash::Hash;
use std::sync::Arc;

use crate::criteria::{Criteria, Topic};
use crate::event::Event;
use crate::identity::{AssociateId, Cell};

/// The number of a subscription in this process. Numbers are not used again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key(pub u64);

/// The subscriptions of a type by what they name.
#[derive(Debug, Default)]
struct Index {
    any: BTreeSet<Key>,
    by_cell: HashMap<Cell, BTreeSet<Key>>,
    by_ue: HashMap<AssociateId, BTreeSet<Key>>,
    by_cell_and_ue: HashMap<Cell, HashMap<AssociateId, BTreeSet<Key>>>,
}

/// All subscriptions with their criteria.
#[derive(Debug, Default)]
pub struct Matcher {
    by_topic: [Index; Topic::ALL.len()],
    criteria: HashMap<Key, Arc<Criteria>>,
}

impl Matcher {
    /// Adds a subscription, or changes its criteria.
    pub fn insert(&mut self, key: Key, criteria: Criteria) {
        self.remove(key);
        let index = &mut self.by_topic[criteria.topic as usize];
        match (&*criteria.cells, &*criteria.ues) {
            ([], []) => {
                index.any.insert(key);
            }
            (cells, []) => cells.iter().for_each(|cell| add(&mut index.by_cell, *cell, key)),
            ([], ues) => ues.iter().for_each(|ue| add(&mut index.by_ue, ue.clone(), key)),
            (cells, ues) => {
                for cell in cells {
                    let of_cell = index.by_cell_and_ue.entry(*cell).or_default();
                    ues.iter().for_each(|ue| add(of_cell, ue.clone(), key));
                }
            }
        }
        self.criteria.insert(key, Arc::new(criteria));
    }

    /// Removes a subscription. Returns whether there was one.
    pub fn remove(&mut self, key: Key) -> bool {
        let Some(criteria) = self.criteria.remove(&key) else { return false };
        let index = &mut self.by_topic[criteria.topic as usize];
        index.any.remove(&key);
        for cell in &criteria.cells {
            take(&mut index.by_cell, cell, key);
            let Some(of_cell) = index.by_cell_and_ue.get_mut(cell) else { continue };
            criteria.ues.iter().for_each(|ue| take(of_cell, ue, key));
            if of_cell.is_empty() {
                index.by_cell_and_ue.remove(cell);
            }
        }
        criteria.ues.iter().for_each(|ue| take(&mut index.by_ue, ue, key));
        true
    }

    /// Replaces `found` by the subscriptions whose criteria an event meets, in the order of their numbers.
    pub fn find(&self, event: &Event, found: &mut Vec<Key>) {
        found.clear();
        let index = &self.by_topic[event.topic() as usize];
        found.extend(&index.any);
        for cell in event.cells() {
            found.extend(index.by_cell.get(&cell).into_iter().flatten());
            let Some(of_cell) = index.by_cell_and_ue.get(&cell) else { continue };
            event.ue.associate_ids.iter().for_each(|ue| found.extend(of_cell.get(ue).into_iter().flatten()));
        }
        event.ue.associate_ids.iter().for_each(|ue| found.extend(index.by_ue.get(ue).into_iter().flatten()));
        // a subscription may name both cells of a handover, and several ids of a UE
        found.sort_unstable();
        found.dedup();
        found.retain(|key| self.criteria[key].details_are_met_by(event));
    }
}

/// Adds a subscription to one list.
fn add<N: Eq + Hash>(lists: &mut HashMap<N, BTreeSet<Key>>, name: N, key: Key) {
    lists.entry(name).or_default().insert(key);
}

/// Removes a subscription from one list, and the list if it is empty.
fn take<N: Eq + Hash>(lists: &mut HashMap<N, BTreeSet<Key>>, name: &N, key: Key) {
    if let Some(list) = lists.get_mut(name) {
        list.remove(&key);
        if list.is_empty() {
            lists.remove(name);
        }
    }
}

#[cfg(test)]
mod tests;
