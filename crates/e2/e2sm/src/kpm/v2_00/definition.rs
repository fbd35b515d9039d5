//! The RAN function definition.

use per::{Bits, List, Per, PrintableString};

use super::{CellObjectId, Number};
use crate::common::{Cgi, GlobalEnbId, GlobalGnbId, PlmnIdentity, RicStyleName};
use crate::kpm::{MeasurementTypeId, MeasurementTypeName};
use crate::message::message_of_one_format as message;

/// E2SM-KPM-RANfunction-Description.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct RanFunctionDefinition<'a> {
    /// Name, OID and description.
    pub ran_function_name: RanFunctionName<'a>,
    /// The nodes and their cells.
    #[per(size = 1..=1024)]
    pub ric_kpm_node_list: Option<List<'a, KpmNodeItem<'a>>>,
    /// The event trigger styles.
    #[per(size = 1..=63)]
    pub ric_event_trigger_style_list: Option<List<'a, RicEventTriggerStyleItem<'a>>>,
    /// The report styles.
    #[per(size = 1..=63)]
    pub ric_report_style_list: Option<List<'a, RicReportStyleItem<'a>>>,
}

message!(RanFunctionDefinition, lists);

/// RANfunction-Name: as in other models, but the instance is constrained.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct RanFunctionName<'a> {
    /// The short name.
    #[per(size = 1..=150, extensible)]
    pub short_name: PrintableString<'a>,
    /// The object identifier of the service model.
    #[per(size = 1..=1000, extensible)]
    pub e2sm_oid: PrintableString<'a>,
    /// A description for human readers.
    #[per(size = 1..=150, extensible)]
    pub description: PrintableString<'a>,
    /// The instance, if the node has several functions of this service model.
    #[per(range = 0..=255, extensible)]
    pub instance: Option<i64>,
}

/// RIC-KPMNode-Item: a node and its cells.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct KpmNodeItem<'a> {
    /// The node.
    pub ric_kpm_node_type: GlobalKpmNodeId,
    /// Its cells.
    #[per(size = 1..=16384)]
    pub cell_measurement_object_list: Option<List<'a, CellMeasurementObjectItem<'a>>>,
}

/// Cell-Measurement-Object-Item: a cell.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct CellMeasurementObjectItem<'a> {
    /// Its name in actions and reports.
    pub cell_object_id: CellObjectId<'a>,
    /// Its global identity.
    pub cell_global_id: Cgi,
}

/// GlobalKPMnode-ID.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Per)]
#[per(extensible)]
pub enum GlobalKpmNodeId {
    /// A gNB or a part of one.
    Gnb(GlobalKpmNodeGnbId),
    /// An en-gNB or a part of one.
    EnGnb(GlobalKpmNodeEnGnbId),
    /// An ng-eNB or a part of one.
    NgEnb(GlobalKpmNodeNgEnbId),
    /// An eNB.
    Enb(GlobalKpmNodeEnbId),
}

/// GlobalKPMnode-gNB-ID.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Per)]
#[per(extensible)]
pub struct GlobalKpmNodeGnbId {
    /// The gNB.
    pub global_gnb_id: GlobalGnbId,
    /// Its CU-UP.
    #[per(range = 0..=68_719_476_735)]
    pub gnb_cu_up_id: Option<i64>,
    /// Its DU.
    #[per(range = 0..=68_719_476_735)]
    pub gnb_du_id: Option<i64>,
}

/// GlobalKPMnode-en-gNB-ID.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Per)]
#[per(extensible)]
pub struct GlobalKpmNodeEnGnbId {
    /// The en-gNB.
    pub global_gnb_id: GlobalGnbId,
    /// Its CU-UP.
    #[per(range = 0..=68_719_476_735)]
    pub gnb_cu_up_id: Option<i64>,
    /// Its DU.
    #[per(range = 0..=68_719_476_735)]
    pub gnb_du_id: Option<i64>,
}

/// GlobalKPMnode-ng-eNB-ID.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Per)]
#[per(extensible)]
pub struct GlobalKpmNodeNgEnbId {
    /// The ng-eNB.
    pub global_ng_enb_id: GlobalNgEnbId,
    /// Its DU.
    #[per(range = 0..=68_719_476_735)]
    pub gnb_du_id: Option<i64>,
}

/// GlobalngeNB-ID: the short and the long identity are beside the choice, and mandatory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Per)]
#[per(extensible)]
pub struct GlobalNgEnbId {
    /// The network.
    pub plmn_id: PlmnIdentity,
    /// The identity.
    pub enb_id: NgEnbIdChoice,
    /// The short identity.
    #[per(size = 18..=18)]
    pub short_macro_enb_id: Bits,
    /// The long identity.
    #[per(size = 21..=21)]
    pub long_macro_enb_id: Bits,
}

/// ENB-ID-Choice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Per)]
#[per(extensible)]
pub enum NgEnbIdChoice {
    /// 20 bits.
    #[per(size = 20..=20)]
    EnbIdMacro(Bits),
    /// 18 bits.
    #[per(size = 18..=18)]
    EnbIdShortmacro(Bits),
    /// 21 bits.
    #[per(size = 21..=21)]
    EnbIdLongmacro(Bits),
}

/// GlobalKPMnode-eNB-ID.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Per)]
#[per(extensible)]
pub struct GlobalKpmNodeEnbId {
    /// The eNB.
    pub global_enb_id: GlobalEnbId,
}

/// RIC-EventTriggerStyle-Item.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct RicEventTriggerStyleItem<'a> {
    /// The number of the style.
    pub ric_event_trigger_style_type: Number,
    /// The name of the style.
    pub ric_event_trigger_style_name: RicStyleName<'a>,
    /// The format of the event trigger definition.
    pub ric_event_trigger_format_type: Number,
}

/// RIC-ReportStyle-Item.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct RicReportStyleItem<'a> {
    /// The number of the style.
    pub ric_report_style_type: Number,
    /// The name of the style.
    pub ric_report_style_name: RicStyleName<'a>,
    /// The format of the action definition.
    pub ric_action_format_type: Number,
    /// The measurements on offer.
    #[per(size = 1..=65535)]
    pub meas_info_action_list: List<'a, MeasurementInfoActionItem<'a>>,
    /// The format of indication headers.
    pub ric_indication_header_format_type: Number,
    /// The format of indication messages.
    pub ric_indication_message_format_type: Number,
}

/// MeasurementInfo-Action-Item: a measurement on offer.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct MeasurementInfoActionItem<'a> {
    /// The name of the measurement.
    pub meas_name: MeasurementTypeName<'a>,
    /// A number that can replace the name.
    pub meas_id: Option<MeasurementTypeId>,
}
