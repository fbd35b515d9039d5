//! Which events a subscription wants.

use ids::PlmnIdentity;
use serde::{Deserialize, Serialize};

use crate::event::{BearerEvent, Change, Event, HandoverStatus};
use crate::identity::{AssociateId, Cell};

/// The nine types of subscriptions (MEC 012 6.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Topic {
    /// CellChangeSubscription.
    CellChange,
    /// RabEstSubscription.
    RabEstablishment,
    /// RabModSubscription.
    RabModification,
    /// RabRelSubscription.
    RabRelease,
    /// MeasRepUeSubscription.
    MeasurementReport,
    /// NrMeasRepUeSubscription.
    NrMeasurementReport,
    /// MeasTaSubscription.
    TimingAdvance,
    /// CaReconfSubscription.
    CarrierAggregation,
    /// S1BearerSubscription.
    S1Bearer,
}

impl Topic {
    /// All of them, each at its number.
    pub const ALL: [Topic; 9] = [
        Topic::CellChange,
        Topic::RabEstablishment,
        Topic::RabModification,
        Topic::RabRelease,
        Topic::MeasurementReport,
        Topic::NrMeasurementReport,
        Topic::TimingAdvance,
        Topic::CarrierAggregation,
        Topic::S1Bearer,
    ];
}

/// The criteria of a subscription. An event meets all of them; a list is met by any of its values, an empty one by every event.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Criteria {
    /// The type.
    pub topic: Topic,
    /// Cells.
    pub cells: Vec<Cell>,
    /// The PLMN of the cell, whichever it is. Subscriptions of v1.1.1 have it.
    #[serde(default, with = "plmn_digits")]
    pub plmn: Option<PlmnIdentity>,
    /// UEs.
    pub ues: Vec<AssociateId>,
    /// Of cell changes.
    pub handover_status: Vec<HandoverStatus>,
    /// Of bearers.
    pub qci: Option<u8>,
    /// Of bearers.
    pub erab_ids: Vec<u8>,
    /// Of measurement reports.
    pub triggers: Vec<u8>,
    /// Of bearers towards the core.
    pub bearer_events: Vec<BearerEvent>,
}

impl Criteria {
    /// Every event of a type.
    #[must_use]
    pub const fn all(topic: Topic) -> Self {
        Criteria {
            topic,
            cells: Vec::new(),
            plmn: None,
            ues: Vec::new(),
            handover_status: Vec::new(),
            qci: None,
            erab_ids: Vec::new(),
            triggers: Vec::new(),
            bearer_events: Vec::new(),
        }
    }

    /// Whether an event meets the criteria.
    #[must_use]
    pub fn are_met_by(&self, event: &Event) -> bool {
        self.topic == event.topic()
            && (self.cells.is_empty() || event.cells().any(|cell| self.cells.contains(&cell)))
            && (self.ues.is_empty() || event.ue.associate_ids.iter().any(|id| self.ues.contains(id)))
            && self.details_are_met_by(event)
    }

    /// Whether an event meets the criteria beside type, cell and UE.
    pub(crate) fn details_are_met_by(&self, event: &Event) -> bool {
        if self.plmn.is_some_and(|plmn| event.cells().all(|cell| cell.plmn() != plmn)) {
            return false;
        }
        let has_qci = |bearer: &crate::Bearer| {
            self.qci.is_none_or(|qci| bearer.qos.is_some_and(|qos| qos.qci == qci)) && self.has_erab(bearer.erab_id)
        };
        match &event.change {
            Change::CellChange { status, .. } => contains(&self.handover_status, status),
            Change::BearerEstablished(bearer) | Change::BearerModified(bearer) | Change::BearerReleased(bearer) => {
                has_qci(bearer)
            }
            Change::Measured { trigger, .. } | Change::NrMeasured { trigger, .. } => contains(&self.triggers, trigger),
            Change::TimingAdvance { .. } | Change::CarrierAggregation { .. } => true,
            Change::S1Bearer { event, bearers } => {
                contains(&self.bearer_events, event) && bearers.iter().any(|bearer| self.has_erab(bearer.erab_id))
            }
        }
    }

    fn has_erab(&self, erab_id: u8) -> bool {
        contains(&self.erab_ids, &erab_id)
    }
}

/// A PLMN as its digits.
mod plmn_digits {
    use ids::PlmnIdentity;
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub fn serialize<S: Serializer>(plmn: &Option<PlmnIdentity>, serializer: S) -> Result<S::Ok, S::Error> {
        plmn.map(|plmn| plmn.to_string()).serialize(serializer)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<PlmnIdentity>, D::Error> {
        let digits = Option::<String>::deserialize(deserializer)?;
        digits.map(|digits| digits.parse().map_err(|_| D::Error::custom("not the digits of a PLMN"))).transpose()
    }
}

/// Whether a criterion is met.
fn contains<T: PartialEq>(criterion: &[T], value: &T) -> bool {
    criterion.is_empty() || criterion.contains(value)
}
