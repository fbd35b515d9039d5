//! What a monitoring app keeps in memory: of each function of each node its newest report.

use std::collections::HashMap;

use e2ap::{RanFunctionId, RicActionId, RicActionType};
use e2sm::flexric::EventTriggerDefinition;
use e2sm::{Arena, Wire, detect, mac, pdcp, rlc};
use ferric::e2::{Action, NodeId, SubscriptionSpec};

/// The newest reports.
#[derive(Default)]
pub(super) struct Store {
    /// Whether records are kept, not octets alone.
    decodes: bool,
    kept: HashMap<(NodeId, RanFunctionId), Kept>,
    arena: Arena,
}

struct Kept {
    model: u16,
    wire: Wire,
    octets: Vec<u8>,
    mac: Vec<mac::UeStats>,
    rlc: Vec<rlc::BearerStats>,
    pdcp: Vec<pdcp::BearerStats>,
}

impl Store {
    pub fn new(decodes: bool) -> Self {
        Store { decodes, ..Store::default() }
    }

    /// How to subscribe to a function, where it is one of statistics.
    pub fn wish(
        &mut self,
        node: NodeId,
        function: RanFunctionId,
        oid: &str,
        period_ms: u32,
    ) -> Option<SubscriptionSpec> {
        let (model, wire) = detect(oid)?;
        let known = [mac::MODEL, rlc::MODEL, pdcp::MODEL];
        known.iter().find(|known| known.function_id == model)?;
        let mut event_trigger = Vec::new();
        EventTriggerDefinition { period_ms }.encode(wire, &mut event_trigger).ok()?;
        let (octets, mac, rlc, pdcp) = Default::default();
        self.kept.insert((node, function), Kept { model, wire, octets, mac, rlc, pdcp });
        let (id, kind) = (RicActionId(1), RicActionType::Report);
        let actions = vec![Action { id, kind, definition: None, subsequent: None }];
        Some(SubscriptionSpec { event_trigger, actions })
    }

    pub fn forget(&mut self, node: NodeId) {
        self.kept.retain(|(of, _), _| *of != node);
    }

    /// Takes a report. Whether it is of a function that was asked, and can be read.
    pub fn keep(&mut self, node: NodeId, function: RanFunctionId, message: &[u8]) -> bool {
        let Store { decodes, kept, arena } = self;
        let Some(kept) = kept.get_mut(&(node, function)) else { return false };
        if !*decodes {
            kept.octets.clear();
            kept.octets.extend_from_slice(message);
            return true;
        }
        arena.reset();
        kept.read(message, arena).is_ok()
    }
}

impl Kept {
    fn read(&mut self, message: &[u8], arena: &Arena) -> Result<(), e2sm::Error> {
        if self.model == mac::MODEL.function_id {
            self.mac.clear();
            self.mac.extend(mac::IndicationMessage::decode(message, self.wire, arena)?.ues.iter().copied());
        } else if self.model == rlc::MODEL.function_id {
            self.rlc.clear();
            self.rlc.extend(rlc::IndicationMessage::decode(message, self.wire, arena)?.bearers.iter().copied());
        } else {
            self.pdcp.clear();
            self.pdcp.extend(pdcp::IndicationMessage::decode(message, self.wire, arena)?.bearers.iter().copied());
        }
        Ok(())
    }
}
