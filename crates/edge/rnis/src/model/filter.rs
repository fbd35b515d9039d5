//! The criteria of subscriptions (MEC 012 v2.2.1).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::shared::{
    ApplicationName, AssociateIdBody, Ecgi, Fault, HoStatus, Nrcgi, S1EventType, Trigger, TriggerNr, list,
};
use crate::criteria::{Criteria, Topic};
use crate::event::{BearerEvent, HandoverStatus};

/// Declares the members of criteria. A list that is absent or empty is met by every event.
macro_rules! criteria {
    ($(#[$about:meta])* $name:ident { $($(#[$about_member:meta])* $member:ident: $type:ty,)+ }) => {
        $(#[$about])*
        #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
        #[serde(rename_all = "camelCase", deny_unknown_fields)]
        pub struct $name {
            /// The application instance: its subscriptions share a queue where the broker has one for each subscriber. It does not
            /// select events.
            #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "rest::not_null")]
            #[schemars(with = "ApplicationName")]
            pub app_instance_id: Option<ApplicationName>,
            $($(#[$about_member])* pub $member: $type,)+
        }
    };
}

criteria! {
    /// Criteria of cell changes (6.2 of v2.2.1).
    FilterCriteriaAssocHo {
        /// UEs.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        associate_id: Vec<AssociateIdBody>,
        /// Cells: source or target.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        ecgi: Vec<Ecgi>,
        /// Status of handovers. Without it: completed ones, `[3]`.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        ho_status: Vec<HoStatus>,
    }
}
criteria! {
    /// Criteria of the establishment of bearers.
    FilterCriteriaQci {
        /// Cells.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        ecgi: Vec<Ecgi>,
        /// The QCI; of NR the 5QI.
        qci: u8,
    }
}
criteria! {
    /// Criteria of modifications and releases of bearers.
    FilterCriteriaQci1 {
        /// The bearer.
        erab_id: u8,
        /// Cells.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        ecgi: Vec<Ecgi>,
        /// The QCI; of NR the 5QI.
        qci: u8,
    }
}
criteria! {
    /// Criteria of measurement reports of E-UTRA.
    FilterCriteriaAssocTri {
        /// UEs.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        associate_id: Vec<AssociateIdBody>,
        /// Cells.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        ecgi: Vec<Ecgi>,
        /// Reasons of reports.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        trigger: Vec<Trigger>,
    }
}
criteria! {
    /// Criteria of measurement reports of NR.
    FilterCriteriaNrMrs {
        /// UEs.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        associate_id: Vec<AssociateIdBody>,
        /// Cells.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        nrcgi: Vec<Nrcgi>,
        /// Reasons of reports.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        trigger_nr: Vec<TriggerNr>,
    }
}
criteria! {
    /// Criteria of timing advances and of changes of secondary cells.
    FilterCriteriaAssoc {
        /// UEs.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        associate_id: Vec<AssociateIdBody>,
        /// Cells.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        ecgi: Vec<Ecgi>,
    }
}

/// Criteria of bearers towards the core.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct S1BearerSubscriptionCriteria {
    /// UEs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub associate_id: Vec<AssociateIdBody>,
    /// Cells.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ecgi: Vec<Ecgi>,
    /// Bearers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub erab_id: Vec<u8>,
}

/// How far a handover is, by the number of a body.
pub const fn handover_status(status: HoStatus) -> HandoverStatus {
    match status.0 {
        1 => HandoverStatus::InPreparation,
        2 => HandoverStatus::InExecution,
        4 => HandoverStatus::Rejected,
        5 => HandoverStatus::Cancelled,
        _ => HandoverStatus::Completed,
    }
}

/// What happens to bearers, by the number of a body.
pub const fn bearer_event(event: S1EventType) -> BearerEvent {
    match event.0 {
        1 => BearerEvent::Established,
        2 => BearerEvent::Modified,
        _ => BearerEvent::Released,
    }
}

/// The criteria of a list of UEs and one of cells.
pub fn of_cells_and_ues(topic: Topic, ecgi: &[Ecgi], ues: &[AssociateIdBody]) -> Result<Criteria, Fault> {
    Ok(Criteria {
        cells: list("ecgi", ecgi, Ecgi::cell)?,
        ues: list("associateId", ues, AssociateIdBody::identity)?,
        ..Criteria::all(topic)
    })
}

/// A QCI, of which there are 1 to 255 (TS 23.203 6.1.7.2).
pub fn qci(qci: u8) -> Result<u8, Fault> {
    if qci == 0 { Err(Fault::malformed("qci", "there is no QCI 0")) } else { Ok(qci) }
}

impl FilterCriteriaQci1 {
    /// Which events they are met by.
    pub fn criteria(&self, topic: Topic) -> Result<Criteria, Fault> {
        let criteria = || {
            let erab_ids = vec![self.erab_id];
            Ok(Criteria { qci: Some(qci(self.qci)?), erab_ids, ..of_cells_and_ues(topic, &self.ecgi, &[])? })
        };
        criteria().map_err(|fault: Fault| fault.within("filterCriteriaQci"))
    }
}

impl FilterCriteriaAssoc {
    /// Which events they are met by.
    pub fn criteria(&self, topic: Topic) -> Result<Criteria, Fault> {
        let criteria = of_cells_and_ues(topic, &self.ecgi, &self.associate_id);
        criteria.map_err(|fault| fault.within("filterCriteriaAssoc"))
    }
}
