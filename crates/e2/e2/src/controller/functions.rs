//! A node's functions as it tells of them, held to their bounds.

use e2ap::{Cause, CauseRicService, RanFunctionId, RanFunctionIdCauseItem, RanFunctionItem};

use super::RanFunction;

/// The longest OID that xApps are told. E2AP's bound can be exceeded (E2AP v03.01 9.2.31), real ones have 30 octets.
const MAX_OID_OCTETS: usize = crate::xapp::wire::MAX_OID;

/// The most functions of a node: as many as one setup tells, and as xApps are told in one message.
const MAX_FUNCTIONS: usize = crate::xapp::wire::MAX_FUNCTIONS;

/// What a node offers, by id.
pub(super) struct Functions {
    pub taken: Vec<RanFunction>,
    pub rejected: Vec<RanFunctionIdCauseItem>,
    octets_left: usize,
}

/// Octets that are kept of a function.
pub(super) fn octets(function: &RanFunction) -> usize {
    function.oid.len() + function.definition.len()
}

/// Octets that would be kept of a function.
pub(super) fn octets_told(item: &RanFunctionItem<'_>) -> usize {
    item.oid.as_ref().map_or(0, |oid| oid.as_str().len()) + item.definition.len()
}

impl Functions {
    /// From what is there already.
    pub fn of(taken: Vec<RanFunction>, max_octets: usize) -> Self {
        let octets_left = max_octets.saturating_sub(taken.iter().map(octets).sum());
        Functions { taken, rejected: Vec::new(), octets_left }
    }

    pub fn remove(&mut self, id: RanFunctionId) {
        if let Ok(at) = self.taken.binary_search_by_key(&id, |f| f.id) {
            self.octets_left += octets(&self.taken.remove(at));
        }
    }

    /// Takes one in, unless there is one with its id, or no room.
    pub fn take(&mut self, item: &RanFunctionItem<'_>) {
        let oid = item.oid.as_ref().map_or("", |oid| oid.as_str());
        let octets = octets_told(item);
        let cause = match self.taken.binary_search_by_key(&item.id, |f| f.id) {
            // The first one stands; two under one id are a fault of the node.
            Ok(_) => CauseRicService::ExcessiveFunctions,
            Err(_) if self.taken.len() >= MAX_FUNCTIONS => CauseRicService::ExcessiveFunctions,
            Err(_) if oid.len() > MAX_OID_OCTETS => CauseRicService::RanFunctionNotSupported,
            Err(_) if octets > self.octets_left => CauseRicService::RicResourceLimit,
            Err(at) => {
                self.octets_left -= octets;
                let (id, revision, definition) = (item.id, item.revision, item.definition.to_cow().into());
                return self.taken.insert(at, RanFunction { id, revision, oid: oid.into(), definition });
            }
        };
        self.rejected.push(RanFunctionIdCauseItem { id: item.id, cause: Cause::RicService(cause) });
    }
}
