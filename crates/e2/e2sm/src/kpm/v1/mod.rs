//! E2SM-KPM v01.00: a fixed set of counters in containers, one for each type of node.
//!
//! It shares only the names of its messages with later revisions. A subscription contains a report style and a period. The
//! node reports a [`PfContainer`]: PRB usage of the cells of a DU, active UEs of a CU-CP, or data volume of a CU-UP, by
//! PLMN, slice and QoS class. [`IndicationMessage::rows`] iterates over the values.
//!
//! O-RAN SC's simulator `kpm_sim` registers v01.00 and sends the headers and messages of v01.02, which is not published:
//! more identities in the header, the report style in front of the containers, and reports on UEs. The two layouts are
//! distinguished by their octets: none is valid in both.
//!
//! ```
//! use e2sm::kpm::v1::{EventTriggerDefinition, ReportPeriod};
//!
//! let mut bytes = Vec::new();
//! EventTriggerDefinition::every(ReportPeriod::Ms1024).encode(&mut bytes)?;
//! let trigger = EventTriggerDefinition::decode_owned(&bytes)?;
//! assert_eq!(trigger.period(), Some(ReportPeriod::Ms1024));
//! # Ok::<(), per::Error>(())
//! ```

mod container;
mod layout;
mod ran_container;
mod report;

use per::{List, Octets, Per, PrintableString};

use super::RicEventTriggerStyleItem;
use crate::common::{
    GlobalEnbId, GlobalGnbId, GlobalNgEnbId, PlmnIdentity, RanFunctionName, RicFormatType, RicStyleName, RicStyleType,
    Sd, Sst,
};
use crate::message::message_of_one_format as message;
use per::{Bits, Flat};

use layout::is_v1_02;

pub use container::{
    CellResourceReportListItem, CuCpResourceStatus, CuUpMeasurementContainer, EpcCuUpPmFormat, EpcDuPmContainer,
    FgcCuUpPmFormat, FgcDuPmContainer, FqiPerSlicesPerPlmnListItem, FqiPerSlicesPerPlmnPerCellListItem, NiType,
    OcuCpPfContainer, OcuUpPfContainer, OduPfContainer, PerQciReportListItem, PerQciReportListItemFormat, PfContainer,
    PfContainerListItem, PlmnIdList, Prbs, ServedPlmnPerCellListItem, SlicePerPlmnPerCellListItem,
    SliceToReportListItem,
};
pub use ran_container::{
    CRnti, CellUsageOfCuCp, CellUsageOfCuUp, CellUsageOfDu, RanContainer, UeUsageOfCuCp, UeUsageOfCuUp, UeUsageOfDu,
    UsageReport, UsageReportOfCuCp, UsageReportOfCuUp, UsageReportOfDu,
};
pub use report::{Class, Counter, Row};

/// E2SM-KPM-RANfunction-Description.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct RanFunctionDefinition<'a> {
    /// Name, OID and description.
    pub ran_function_name: RanFunctionName<'a>,
    /// The capabilities of the function.
    pub e2sm_kpm_ran_function_item: RanFunctionItem<'a>,
}

message!(RanFunctionDefinition, lists);

/// The capabilities of a function.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct RanFunctionItem<'a> {
    /// The event trigger styles.
    #[per(size = 1..=63)]
    pub ric_event_trigger_style_list: Option<List<'a, RicEventTriggerStyleItem<'a>>>,
    /// The report styles.
    #[per(size = 1..=63)]
    pub ric_report_style_list: Option<List<'a, RicReportStyleList<'a>>>,
}

/// RIC-ReportStyle-List: a report style.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct RicReportStyleList<'a> {
    /// The number of the style.
    pub ric_report_style_type: RicStyleType,
    /// The name of the style.
    pub ric_report_style_name: RicStyleName<'a>,
    /// The format of indication headers.
    pub ric_indication_header_format_type: RicFormatType,
    /// The format of indication messages.
    pub ric_indication_message_format_type: RicFormatType,
}

/// E2SM-KPM-EventTriggerDefinition.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub enum EventTriggerDefinition<'a> {
    /// Periodic reports.
    Format1(EventTriggerDefinitionFormat1<'a>),
}

message!(EventTriggerDefinition, lists);

impl EventTriggerDefinition<'_> {
    /// Returns the trigger of a report every period.
    #[must_use]
    pub fn every(period: ReportPeriod) -> EventTriggerDefinition<'static> {
        let item = TriggerConditionIeItem { report_period_ie: period };
        let policy_test_list = Some(List::from(vec![item]));
        EventTriggerDefinition::Format1(EventTriggerDefinitionFormat1 { policy_test_list })
    }

    /// Returns the period of the first condition; several conditions are of no use.
    #[must_use]
    pub fn period(&self) -> Option<ReportPeriod> {
        let EventTriggerDefinition::Format1(format1) = self;
        format1.policy_test_list.iter().flatten().next().map(|item| item.report_period_ie)
    }
}

/// E2SM-KPM-EventTriggerDefinition-Format1.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct EventTriggerDefinitionFormat1<'a> {
    /// The conditions.
    #[per(size = 1..=15)]
    pub policy_test_list: Option<List<'a, TriggerConditionIeItem>>,
}

/// Trigger-ConditionIE-Item.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Per)]
#[per(extensible)]
pub struct TriggerConditionIeItem {
    /// The period.
    pub report_period_ie: ReportPeriod,
}

/// Declares the periods.
macro_rules! periods {
    ($($period:ident = $ms:literal,)*) => {
        /// RT-Period-IE: a reporting period.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Per)]
        #[per(extensible)]
        pub enum ReportPeriod {
            $(
                #[doc = concat!("Each ", stringify!($ms), " ms.")]
                $period,
            )*
        }

        impl ReportPeriod {
            /// All periods, shortest first.
            pub const ALL: &'static [ReportPeriod] = &[$(ReportPeriod::$period),*];

            /// Returns the period in milliseconds.
            #[must_use]
            pub const fn ms(self) -> u32 {
                match self {
                    $(ReportPeriod::$period => $ms,)*
                }
            }
        }
    };
}

periods! {
    Ms10 = 10, Ms20 = 20, Ms32 = 32, Ms40 = 40, Ms60 = 60, Ms64 = 64, Ms70 = 70, Ms80 = 80, Ms128 = 128, Ms160 = 160,
    Ms256 = 256, Ms320 = 320, Ms512 = 512, Ms640 = 640, Ms1024 = 1024, Ms1280 = 1280, Ms2048 = 2048, Ms2560 = 2560,
    Ms5120 = 5120, Ms10240 = 10240,
}

impl ReportPeriod {
    /// Returns the period nearest to `ms` milliseconds; of two equally near, the shorter.
    ///
    /// ```
    /// use e2sm::kpm::v1::ReportPeriod;
    ///
    /// assert_eq!(ReportPeriod::nearest(1000), ReportPeriod::Ms1024);
    /// assert_eq!(ReportPeriod::nearest(0), ReportPeriod::Ms10);
    /// ```
    #[must_use]
    pub fn nearest(ms: u32) -> ReportPeriod {
        let nearest = ReportPeriod::ALL.iter().copied().min_by_key(|period| period.ms().abs_diff(ms));
        nearest.unwrap_or(ReportPeriod::Ms10)
    }
}

/// E2SM-KPM-ActionDefinition: the report style and nothing else.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Per)]
#[per(extensible)]
pub struct ActionDefinition {
    /// The report style.
    pub ric_style_type: RicStyleType,
}

message!(ActionDefinition, no borrow);

/// E2SM-KPM-IndicationHeader.
#[derive(Clone, Debug, PartialEq, Eq, Per)]
#[per(extensible)]
pub enum IndicationHeader<'a> {
    /// The only one.
    Format1(IndicationHeaderFormat1<'a>),
}

/// E2SM-KPM-IndicationHeader-Format1: the identities that apply to the whole report.
#[derive(Clone, Debug, Default, PartialEq, Eq, Per)]
#[per(extensible)]
pub struct IndicationHeaderFormat1<'a> {
    /// The node.
    pub id_global_kpm_node_id: Option<GlobalKpmNodeId>,
    /// The cell.
    pub nr_cgi: Option<NrCgi>,
    /// The network.
    pub plmn_identity: Option<PlmnIdentity>,
    /// The slice.
    pub slice_id: Option<SNssai>,
    /// The 5QI.
    pub five_qi: Option<u8>,
    /// The QCI.
    pub qci: Option<u8>,
    /// The part of the base station that a report on UEs comes from (v01.02).
    #[per(since = 1)]
    pub message_type: Option<UeReportType>,
    /// The DU (v01.02).
    #[per(since = 1, range = 0..=68_719_476_735)]
    pub gnb_du_id: Option<i64>,
    /// The name of the node (v01.02).
    #[per(since = 1)]
    pub gnb_name: Option<GnbName<'a>>,
    /// The gNB (v01.02).
    #[per(since = 1)]
    pub global_gnb_id: Option<GlobalGnbId>,
}

/// UE-Report-Type (v01.02).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Per)]
#[per(extensible)]
pub enum UeReportType {
    /// A report of a DU on UEs.
    ODuReportPerUe,
    /// A report of a CU-CP on UEs.
    OCuCpReportPerUe,
    /// A report of a CU-UP on UEs.
    OCuUpReportPerUe,
}

/// GNB-Name (v01.02).
#[derive(Clone, Debug, PartialEq, Eq, Per)]
#[per(extensible)]
pub enum GnbName<'a> {
    /// Of a DU.
    #[per(size = 1..=150, extensible)]
    GnbDuName(PrintableString<'a>),
    /// Of a CU-CP.
    #[per(size = 1..=150, extensible)]
    GnbCuCpName(PrintableString<'a>),
    /// Of a CU-UP.
    #[per(size = 1..=150, extensible)]
    GnbCuUpName(PrintableString<'a>),
}

/// GlobalKPMnode-ID.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Per)]
#[per(extensible)]
pub enum GlobalKpmNodeId {
    /// A gNB or a part of one.
    Gnb(GlobalKpmNodeGnbId),
    /// An en-gNB.
    EnGnb(GlobalKpmNodeEnGnbId),
    /// An ng-eNB.
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
}

/// GlobalKPMnode-ng-eNB-ID.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Per)]
#[per(extensible)]
pub struct GlobalKpmNodeNgEnbId {
    /// The ng-eNB.
    pub global_ng_enb_id: GlobalNgEnbId,
}

/// GlobalKPMnode-eNB-ID.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Per)]
#[per(extensible)]
pub struct GlobalKpmNodeEnbId {
    /// The eNB.
    pub global_enb_id: GlobalEnbId,
}

/// NRCGI: as the NR CGI of E2SM, but not extensible.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Per)]
pub struct NrCgi {
    /// The network.
    pub plmn_identity: PlmnIdentity,
    /// The gNB's identity and the cell's within it.
    #[per(size = 36..=36)]
    pub nr_cell_identity: Bits,
}

/// SNSSAI: as the S-NSSAI of E2SM, but not extensible.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Per)]
pub struct SNssai {
    /// Its type.
    pub sst: Sst,
    /// Which of the slices of that type.
    pub sd: Option<Sd>,
}

/// E2SM-KPM-IndicationMessage.
///
/// v01.00 has a choice. v01.02 has the report style, and then a choice.
#[derive(Clone, Debug, PartialEq, Flat)]
#[per(extensible)]
pub enum IndicationMessage<'a> {
    /// The report style only (v01.00).
    RicStyleType(RicStyleType),
    /// Containers (v01.00).
    Format1(IndicationMessageFormat1<'a>),
    /// The report style and containers (v01.02).
    StyleAndFormat1(StyleAndFormat1<'a>),
}

/// The message of v01.02.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct StyleAndFormat1<'a> {
    /// The report style.
    pub ric_style_type: RicStyleType,
    /// The report.
    pub indication_message: IndicationMessageFormats<'a>,
}

/// The formats of a message of v01.02.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub enum IndicationMessageFormats<'a> {
    /// Containers.
    Format1(IndicationMessageFormat1<'a>),
}

/// E2SM-KPM-IndicationMessage-Format1.
#[derive(Clone, Debug, PartialEq, Flat)]
#[per(extensible)]
pub struct IndicationMessageFormat1<'a> {
    /// The containers: at most 512, in v01.02 at most 8.
    #[per(size = 1..=512)]
    pub pm_containers: List<'a, PmContainersList<'a>>,
}

/// PM-Containers-List: a container.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct PmContainersList<'a> {
    /// Counters.
    pub performance_container: Option<PfContainer<'a>>,
    /// A vendor-specific container (v01.00).
    #[per(until = 0)]
    pub the_ran_container: Option<Octets<'a>>,
    /// A report on UEs (v01.02).
    #[per(since = 1)]
    pub ran_container: Option<RanContainer<'a>>,
}
