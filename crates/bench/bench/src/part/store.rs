//! The memory of a monitoring app: the latest report of each function of each node.

use std::collections::HashMap;

use e2ap::{RanFunctionId, RicActionId, RicActionType};
use e2sm::flexric::EventTriggerDefinition;
use e2sm::{Arena, Wire, detect, mac, pdcp, rlc};
use ferric::e2::{Action, NodeId, SubscriptionSpec};

/// The latest reports.
#[derive(Default)]
pub(super) struct Store {
    /// Whether reports are decoded, instead of keeping their octets.
    decodes: bool,
    reports: HashMap<(NodeId, RanFunctionId), LatestReport>,
    arena: Arena,
}

/// The latest report of a function.
struct LatestReport {
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

    /// The subscription to a function, if it reports statistics.
    pub fn subscription(
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
        self.reports.insert((node, function), LatestReport { model, wire, octets, mac, rlc, pdcp });
        let (id, kind) = (RicActionId(1), RicActionType::Report);
        let actions = vec![Action { id, kind, definition: None, subsequent: None }];
        Some(SubscriptionSpec { event_trigger, actions })
    }

    /// Removes the reports of a node.
    pub fn remove(&mut self, node: NodeId) {
        self.reports.retain(|(of, _), _| *of != node);
    }

    /// Stores a report; returns false if it belongs to no subscription or cannot be decoded.
    pub fn store(&mut self, node: NodeId, function: RanFunctionId, message: &[u8]) -> bool {
        let Store { decodes, reports, arena } = self;
        let Some(report) = reports.get_mut(&(node, function)) else { return false };
        if !*decodes {
            report.octets.clear();
            report.octets.extend_from_slice(message);
            return true;
        }
        arena.reset();
        report.decode(message, arena).is_ok()
    }
}

impl LatestReport {
    fn decode(&mut self, message: &[u8], arena: &Arena) -> Result<(), e2sm::Error> {
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
