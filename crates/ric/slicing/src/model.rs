//! The service models whose reports fill the database.

use e2sm::slice::EventTriggerDefinition;
use e2sm::{Model, Wire, mac, pdcp, rlc, rrc, slice, tc};
use ferric::e2::{Action, RanFunction, SubscriptionOrder, SubscriptionSpec};
use ferric::e2ap::{RicActionId, RicActionType};

/// A service model whose reports fill the database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Feed {
    Mac,
    Rlc,
    Pdcp,
    Tc,
    Slice,
    Rrc,
}

impl Feed {
    pub const ALL: [Feed; 6] = [Feed::Mac, Feed::Rlc, Feed::Pdcp, Feed::Tc, Feed::Slice, Feed::Rrc];

    /// Its name in REST.
    pub fn name(self) -> &'static str {
        match self {
            Feed::Mac => "mac",
            Feed::Rlc => "rlc",
            Feed::Pdcp => "pdcp",
            Feed::Tc => "tc",
            Feed::Slice => "slice",
            Feed::Rrc => "rrc",
        }
    }

    fn model(self) -> Model {
        match self {
            Feed::Mac => mac::MODEL,
            Feed::Rlc => rlc::MODEL,
            Feed::Pdcp => pdcp::MODEL,
            Feed::Tc => tc::MODEL,
            Feed::Slice => slice::MODEL,
            Feed::Rrc => rrc::MODEL,
        }
    }

    /// The wire form that a function of this model speaks; `None` where it is another model's. Nodes that speak E2AP v01.00
    /// tell no object identifier: FlexRIC's are known by their definitions.
    pub fn wire_of(self, function: &RanFunction) -> Option<Wire> {
        let model = self.model();
        if function.oid.is_empty() {
            let is_flexrics = function.id.0 == model.function_id && *function.definition == *model.name.as_bytes();
            return is_flexrics.then_some(Wire::Plain).filter(|plain| model.wires.contains(plain));
        }
        model.wire_of(&function.oid)
    }

    /// Returns the subscription. It is not restored automatically: a node that reconnects is subscribed to again.
    pub fn order(self, wire: Wire, period_ms: u32) -> Result<SubscriptionOrder, e2sm::Error> {
        let mut event_trigger = Vec::new();
        match self {
            Feed::Rrc => rrc::EventTriggerDefinition::ALL.encode(wire, &mut event_trigger)?,
            _ => EventTriggerDefinition { period_ms }.encode(wire, &mut event_trigger)?,
        }
        let report = Action { id: RicActionId(1), kind: RicActionType::Report, definition: None, subsequent: None };
        let spec = SubscriptionSpec { event_trigger, actions: vec![report] };
        Ok(SubscriptionOrder { restore: false, ..spec.into() })
    }
}
