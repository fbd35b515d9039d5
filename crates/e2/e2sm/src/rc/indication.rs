//! Indications of reports and inserts (RC 9.2.1.3 and 9.2.1.4), and call process IDs (RC 9.2.1.5).

use per::{List, Octets, Per};

use super::{
    NeighborRelationInfo, RanCallProcessId, RanParameterItem, RicEventTriggerConditionId, RicInsertIndicationId,
};
use crate::common::{Cgi, RicStyleType, UeId};

/// E2SM-RC-IndicationHeader.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct IndicationHeader<'a> {
    /// The header in its style's format.
    pub formats: IndicationHeaderFormats<'a>,
}

crate::message::message!(IndicationHeader, lists);

/// The formats of an indication header.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub enum IndicationHeaderFormats<'a> {
    /// Of a report.
    Format1(IndicationHeaderFormat1),
    /// Of an insert.
    Format2(IndicationHeaderFormat2<'a>),
    /// Of a report on a UE.
    #[per(addition)]
    Format3(IndicationHeaderFormat3<'a>),
}

/// E2SM-RC-IndicationHeader-Format1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Per)]
#[per(extensible)]
pub struct IndicationHeaderFormat1 {
    /// The condition that was met.
    pub ric_event_trigger_condition_id: Option<RicEventTriggerConditionId>,
}

/// E2SM-RC-IndicationHeader-Format2.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct IndicationHeaderFormat2<'a> {
    /// The UE whose procedure is suspended.
    pub ue_id: UeId<'a>,
    /// The insert style.
    pub ric_insert_style_type: RicStyleType,
    /// The indication.
    pub ric_insert_indication_id: RicInsertIndicationId,
}

/// E2SM-RC-IndicationHeader-Format3.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct IndicationHeaderFormat3<'a> {
    /// The condition that was met.
    pub ric_event_trigger_condition_id: Option<RicEventTriggerConditionId>,
    /// The UE.
    pub ue_id: Option<UeId<'a>>,
}

/// E2SM-RC-IndicationMessage.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct IndicationMessage<'a> {
    /// The message in its style's format.
    pub formats: IndicationMessageFormats<'a>,
}

crate::message::message!(IndicationMessage, lists);

impl<'a> IndicationMessage<'a> {
    /// Returns the UE IDs in a report of UEs (formats 2 and 4).
    pub fn ue_ids(&self) -> impl Iterator<Item = &UeId<'a>> {
        let (of_reports, of_snapshot) = match &self.formats {
            IndicationMessageFormats::Format2(format) => (Some(&format.ue_parameter_list), None),
            IndicationMessageFormats::Format4(format) => (None, Some(&format.ue_info_list)),
            _ => (None, None),
        };
        let of_reports = of_reports.into_iter().flatten().map(|item| &item.ue_id);
        of_reports.chain(of_snapshot.into_iter().flatten().map(|item| &item.ue_id))
    }
}

/// The formats of an indication message.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub enum IndicationMessageFormats<'a> {
    /// A report of parameters.
    Format1(IndicationMessageFormat1<'a>),
    /// A report of UEs.
    Format2(IndicationMessageFormat2<'a>),
    /// A report of cells.
    Format3(IndicationMessageFormat3<'a>),
    /// A report of UEs and cells at once (v01.03).
    #[per(until = 1)]
    Format4(IndicationMessageFormat4<'a>),
    /// The placeholder of format 4, which queries replaced (v03.00).
    #[per(since = 2)]
    Unused4,
    /// An insert.
    Format5(IndicationMessageFormat5<'a>),
    /// Several inserts at a time (insert style 255).
    #[per(addition)]
    Format6(IndicationMessageFormat6<'a>),
}

/// E2SM-RC-IndicationMessage-Format1.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct IndicationMessageFormat1<'a> {
    /// The parameters.
    #[per(size = 1..=65535)]
    pub reported_list: List<'a, RanParameterItem<'a>>,
}

/// E2SM-RC-IndicationMessage-Format2.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct IndicationMessageFormat2<'a> {
    /// The UEs.
    #[per(size = 1..=65535)]
    pub ue_parameter_list: List<'a, IndicationMessageFormat2Item<'a>>,
}

/// E2SM-RC-IndicationMessage-Format2-Item.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct IndicationMessageFormat2Item<'a> {
    /// The UE.
    pub ue_id: UeId<'a>,
    /// Its parameters.
    #[per(size = 1..=65535)]
    pub ran_p_list: List<'a, RanParameterItem<'a>>,
}

/// E2SM-RC-IndicationMessage-Format3.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct IndicationMessageFormat3<'a> {
    /// The cells.
    #[per(size = 1..=65535)]
    pub cell_info_list: List<'a, IndicationMessageFormat3Item<'a>>,
}

/// E2SM-RC-IndicationMessage-Format3-Item.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct IndicationMessageFormat3Item<'a> {
    /// The cell.
    pub cell_global_id: Cgi,
    /// Its configuration: Served Cell Information of TS 38.473, or the equivalent of TS 36.331.
    pub cell_context_info: Option<Octets<'a>>,
    /// Whether the cell was deleted.
    pub cell_deleted: Option<bool>,
    /// Its neighbours.
    pub neighbor_relation_table: Option<NeighborRelationInfo<'a>>,
}

/// E2SM-RC-IndicationMessage-Format4 (v01.03).
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct IndicationMessageFormat4<'a> {
    /// The UEs.
    #[per(size = 0..=65535)]
    pub ue_info_list: List<'a, IndicationMessageFormat4ItemUe<'a>>,
    /// The cells.
    #[per(size = 0..=65535)]
    pub cell_info_list: List<'a, IndicationMessageFormat4ItemCell<'a>>,
}

/// E2SM-RC-IndicationMessage-Format4-ItemUE (v01.03).
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct IndicationMessageFormat4ItemUe<'a> {
    /// The UE.
    pub ue_id: UeId<'a>,
    /// Its context: the UE context of a handover request of TS 38.423.
    pub ue_context_info: Option<Octets<'a>>,
    /// Its cell.
    pub cell_global_id: Cgi,
}

/// E2SM-RC-IndicationMessage-Format4-ItemCell (v01.03).
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct IndicationMessageFormat4ItemCell<'a> {
    /// The cell.
    pub cell_global_id: Cgi,
    /// Its configuration.
    pub cell_context_info: Option<Octets<'a>>,
    /// Its neighbours.
    pub neighbor_relation_table: Option<NeighborRelationInfo<'a>>,
}

/// E2SM-RC-IndicationMessage-Format5.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct IndicationMessageFormat5<'a> {
    /// The parameters.
    #[per(size = 0..=65535)]
    pub requested_list: List<'a, RanParameterItem<'a>>,
}

/// E2SM-RC-IndicationMessage-Format6.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct IndicationMessageFormat6<'a> {
    /// By style.
    #[per(size = 1..=63)]
    pub insert_style_list: List<'a, IndicationMessageFormat6StyleItem<'a>>,
}

/// E2SM-RC-IndicationMessage-Format6-Style-Item.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct IndicationMessageFormat6StyleItem<'a> {
    /// The insert style.
    pub indicated_insert_style_type: RicStyleType,
    /// Its indications.
    #[per(size = 1..=63)]
    pub insert_indication_list: List<'a, IndicationMessageFormat6IndicationItem<'a>>,
}

/// E2SM-RC-IndicationMessage-Format6-Indication-Item.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct IndicationMessageFormat6IndicationItem<'a> {
    /// The indication.
    pub ric_insert_indication_id: RicInsertIndicationId,
    /// Its parameters.
    #[per(size = 0..=65535)]
    pub insert_indication_list: List<'a, RanParameterItem<'a>>,
}

/// E2SM-RC-CallProcessID: a procedure that waits for a decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Per)]
#[per(extensible)]
pub struct CallProcessId {
    /// The ID in its format.
    pub formats: CallProcessIdFormats,
}

crate::message::message!(CallProcessId, no borrow);

impl CallProcessId {
    /// Returns the ID of a procedure.
    #[must_use]
    pub const fn new(id: u32) -> Self {
        let ric_call_process_id = RanCallProcessId(id);
        CallProcessId { formats: CallProcessIdFormats::Format1(CallProcessIdFormat1 { ric_call_process_id }) }
    }

    /// The number of the procedure.
    #[must_use]
    pub const fn number(self) -> u32 {
        let CallProcessIdFormats::Format1(format1) = self.formats;
        format1.ric_call_process_id.0
    }
}

/// The formats of a call process ID.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Per)]
#[per(extensible)]
pub enum CallProcessIdFormats {
    /// The only one.
    Format1(CallProcessIdFormat1),
}

/// E2SM-RC-CallProcessID-Format1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Per)]
#[per(extensible)]
pub struct CallProcessIdFormat1 {
    /// The number of the procedure.
    pub ric_call_process_id: RanCallProcessId,
}
