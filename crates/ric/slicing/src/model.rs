//! The service models whose reports fill the database.

use e2sm::slice::EventTriggerDefinition;
use e2sm::{Model, Wire, mac, pdcp, rlc, rrc, slice, tc};
use ferric::e2::{Action, RanFunction, SubscriptionOrder, SubscriptionSpec};
use ferric::e2ap::{RicActionId, RicActionType};

/// A service model whose reports fill the database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ReportModel {
    Mac,
    Rlc,
    Pdcp,
    Tc,
    Slice,
    Rrc,
}

impl ReportModel {
    pub const ALL: [ReportModel; 6] =
        [ReportModel::Mac, ReportModel::Rlc, ReportModel::Pdcp, ReportModel::Tc, ReportModel::Slice, ReportModel::Rrc];

    /// Returns its name in REST.
    pub fn name(self) -> &'static str {
        match self {
            ReportModel::Mac => "mac",
            ReportModel::Rlc => "rlc",
            ReportModel::Pdcp => "pdcp",
            ReportModel::Tc => "tc",
            ReportModel::Slice => "slice",
            ReportModel::Rrc => "rrc",
        }
    }

    fn model(self) -> Model {
        match self {
            ReportModel::Mac => mac::MODEL,
            ReportModel::Rlc => rlc::MODEL,
            ReportModel::Pdcp => pdcp::MODEL,
            ReportModel::Tc => tc::MODEL,
            ReportModel::Slice => slice::MODEL,
            ReportModel::Rrc => rrc::MODEL,
        }
    }

    /// Returns the wire form of a RAN function, or `None` if it belongs to another model. E2AP v01.00 has no object identifier:
    /// there, functions of FlexRIC are identified by their definitions.
    pub fn wire_of(self, function: &RanFunction) -> Option<Wire> {
        let model = self.model();
        if function.oid.is_empty() {
            let is_flexric = function.id.0 == model.function_id && *function.definition == *model.name.as_bytes();
            return is_flexric.then_some(Wire::Plain).filter(|plain| model.wires.contains(plain));
        }
        model.wire_of(&function.oid)
    }

    /// Returns the subscription. It is not restored automatically: a node that reconnects is subscribed to again.
    pub fn order(self, wire: Wire, period_ms: u32) -> Result<SubscriptionOrder, e2sm::Error> {
        let mut event_trigger = Vec::new();
        match self {
            ReportModel::Rrc => rrc::EventTriggerDefinition::ALL.encode(wire, &mut event_trigger)?,
            _ => EventTriggerDefinition { period_ms }.encode(wire, &mut event_trigger)?,
        }
        let report = Action { id: RicActionId(1), kind: RicActionType::Report, definition: None, subsequent: None };
        let spec = SubscriptionSpec { event_trigger, actions: vec![report] };
        Ok(SubscriptionOrder { restore: false, ..spec.into() })
    }
}
