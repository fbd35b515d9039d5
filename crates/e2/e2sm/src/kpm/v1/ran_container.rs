//! Reports on UEs (v01.02).

use per::{List, Octets, Per};

use super::NrCgi;

/// RAN-Container: a report on UEs.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct RanContainer<'a> {
    /// When it was made, as text in a format of the sender.
    pub timestamp: Octets<'a>,
    /// The report.
    pub report_container: UsageReport<'a>,
}

/// The report of one part of a base station.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub enum UsageReport<'a> {
    /// Of a DU.
    ODuUe(UsageReportOfDu<'a>),
    /// Of a CU-CP.
    OCuCpUe(UsageReportOfCuCp<'a>),
    /// Of a CU-UP.
    OCuUpUe(UsageReportOfCuUp<'a>),
}

/// C-RNTI.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Per)]
pub struct CRnti(pub [u8; 2]);

impl CRnti {
    /// Returns the number.
    #[must_use]
    pub fn value(self) -> u16 {
        u16::from_be_bytes(self.0)
    }
}

/// DU-Usage-Report-Per-UE.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct UsageReportOfDu<'a> {
    /// The cells.
    #[per(size = 1..=512)]
    pub cell_resource_report_list: List<'a, CellUsageOfDu<'a>>,
}

/// DU-Usage-Report-CellResourceReportItem.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct CellUsageOfDu<'a> {
    /// The cell.
    pub nr_cgi: NrCgi,
    /// Its UEs.
    #[per(size = 1..=32)]
    pub ue_resource_report_list: List<'a, UeUsageOfDu>,
}

/// DU-Usage-Report-UeResourceReportItem.
#[derive(Clone, Copy, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct UeUsageOfDu {
    /// The UE.
    pub c_rnti: CRnti,
    /// Downlink PRB usage.
    #[per(range = 0..=1_000_000_000, extensible)]
    pub dl_prb_usage: Option<i64>,
    /// Uplink PRB usage.
    #[per(range = 0..=1_000_000_000, extensible)]
    pub ul_prb_usage: Option<i64>,
}

/// CU-CP-Usage-Report-Per-UE.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct UsageReportOfCuCp<'a> {
    /// The cells.
    #[per(size = 1..=16384)]
    pub cell_resource_report_list: List<'a, CellUsageOfCuCp<'a>>,
}

/// CU-CP-Usage-Report-CellResourceReportItem.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct CellUsageOfCuCp<'a> {
    /// The cell.
    pub nr_cgi: NrCgi,
    /// Its UEs.
    #[per(size = 1..=32)]
    pub ue_resource_report_list: List<'a, UeUsageOfCuCp<'a>>,
}

/// CU-CP-Usage-Report-UeResourceReportItem.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct UeUsageOfCuCp<'a> {
    /// The UE.
    pub c_rnti: CRnti,
    /// The signal of the serving cell, in a format of the sender.
    pub serving_cell_rf_type: Option<Octets<'a>>,
    /// The signals of neighbour cells, in a format of the sender.
    pub neighbor_cell_rf: Option<Octets<'a>>,
}

/// CU-UP-Usage-Report-Per-UE.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct UsageReportOfCuUp<'a> {
    /// The cells.
    #[per(size = 1..=512)]
    pub cell_resource_report_list: List<'a, CellUsageOfCuUp<'a>>,
}

/// CU-UP-Usage-Report-CellResourceReportItem.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct CellUsageOfCuUp<'a> {
    /// The cell.
    pub nr_cgi: NrCgi,
    /// Its UEs.
    #[per(size = 1..=32)]
    pub ue_resource_report_list: List<'a, UeUsageOfCuUp>,
}

/// CU-UP-Usage-Report-UeResourceReportItem: the volume of a UE, in octets of PDCP.
#[derive(Clone, Copy, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct UeUsageOfCuUp {
    /// The UE.
    pub c_rnti: CRnti,
    /// Downlink.
    #[per(range = 0..=10_000_000_000, extensible)]
    pub pdcp_bytes_dl: Option<i64>,
    /// Uplink.
    #[per(range = 0..=10_000_000_000, extensible)]
    pub pdcp_bytes_ul: Option<i64>,
}
