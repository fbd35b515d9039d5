//! Containers of counters, one for each type of node.

use per::{
    Decode, Describe, Encode, Error, ErrorKind, Flat, IntoOwned, List, Per, PrintableString, Reader, Store, Visitor,
    Writer,
};

use super::{NrCgi, SNssai, is_v1_02};
use crate::common::PlmnIdentity;

/// PF-Container: the counters of one type of node.
///
/// It is extensible in v01.02 only.
#[derive(Clone, Debug, PartialEq, Flat)]
pub enum PfContainer<'a> {
    /// Of a DU.
    ODu(OduPfContainer<'a>),
    /// Of a CU-CP.
    OCuCp(OcuCpPfContainer<'a>),
    /// Of a CU-UP.
    OCuUp(OcuUpPfContainer<'a>),
}

impl<'a, S: Store<'a>> Decode<'a, S> for PfContainer<'a> {
    fn decode_after(reader: &mut Reader<'a, S>, _: Option<&Self>) -> Result<Self, Error> {
        if is_v1_02(reader.revision()) && reader.bit()? {
            return Err(reader.error(ErrorKind::UnknownExtension).within("PfContainer"));
        }
        let value = match reader.constrained(0, 2)? {
            0 => OduPfContainer::decode(reader).map(PfContainer::ODu),
            1 => OcuCpPfContainer::decode(reader).map(PfContainer::OCuCp),
            _ => OcuUpPfContainer::decode(reader).map(PfContainer::OCuUp),
        };
        value.map_err(|error| error.within("PfContainer"))
    }
}

impl Encode for PfContainer<'_> {
    fn encode(&self, writer: &mut Writer<'_>) -> Result<(), Error> {
        if is_v1_02(writer.revision()) {
            writer.bit(false);
        }
        let (index, value): (i64, &dyn Encode) = match self {
            PfContainer::ODu(du) => (0, du),
            PfContainer::OCuCp(cu_cp) => (1, cu_cp),
            PfContainer::OCuUp(cu_up) => (2, cu_up),
        };
        writer.constrained(index, 0, 2)?;
        value.encode(writer).map_err(|error| error.within("PfContainer"))
    }
}

impl IntoOwned for PfContainer<'_> {
    type Owned = PfContainer<'static>;
    fn into_owned(self) -> Self::Owned {
        match self {
            PfContainer::ODu(du) => PfContainer::ODu(du.into_owned()),
            PfContainer::OCuCp(cu_cp) => PfContainer::OCuCp(cu_cp.into_owned()),
            PfContainer::OCuUp(cu_up) => PfContainer::OCuUp(cu_up.into_owned()),
        }
    }
}

impl Describe for PfContainer<'_> {
    fn describe(&self, visitor: &mut dyn Visitor) {
        let (name, value): (&'static str, &dyn Describe) = match self {
            PfContainer::ODu(du) => ("ODu", du),
            PfContainer::OCuCp(cu_cp) => ("OCuCp", cu_cp),
            PfContainer::OCuUp(cu_up) => ("OCuUp", cu_up),
        };
        visitor.begin_record();
        visitor.field(name);
        value.describe(visitor);
        visitor.end_record();
    }
}

/// A number of resource blocks, or a percentage of them: at most 100, in v01.02 at most 273.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Flat)]
#[per(range = 0..=273)]
pub struct Prbs(pub u16);

impl<'a, S: Store<'a>> Decode<'a, S> for Prbs {
    fn decode_after(reader: &mut Reader<'a, S>, _: Option<&Self>) -> Result<Self, Error> {
        let most = most_prbs(reader.revision());
        reader.constrained(0, most).map(|value| Prbs(value as u16)).map_err(|error| error.within("Prbs"))
    }
}

impl Encode for Prbs {
    fn encode(&self, writer: &mut Writer<'_>) -> Result<(), Error> {
        let most = most_prbs(writer.revision());
        writer.constrained(self.0.into(), 0, most).map_err(|error| error.within("Prbs"))
    }
}

impl IntoOwned for Prbs {
    type Owned = Prbs;
    fn into_owned(self) -> Prbs {
        self
    }
}

impl Describe for Prbs {
    fn describe(&self, visitor: &mut dyn Visitor) {
        self.0.describe(visitor);
    }
}

fn most_prbs(revision: u8) -> i64 {
    if is_v1_02(revision) { 273 } else { 100 }
}

/// ODU-PF-Container: resource blocks.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct OduPfContainer<'a> {
    /// The DU's cells.
    #[per(size = 1..=512)]
    pub cell_resource_report_list: List<'a, CellResourceReportListItem<'a>>,
}

/// CellResourceReportListItem: the resource blocks of a cell.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct CellResourceReportListItem<'a> {
    /// The cell.
    pub nr_cgi: NrCgi,
    /// Available downlink PRBs.
    pub dl_total_of_available_prbs: Option<Prbs>,
    /// Available uplink PRBs.
    pub ul_total_of_available_prbs: Option<Prbs>,
    /// The usage of each network.
    #[per(size = 1..=12)]
    pub served_plmn_per_cell_list: List<'a, ServedPlmnPerCellListItem<'a>>,
}

/// ServedPlmnPerCellListItem: the usage of a cell by a network.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct ServedPlmnPerCellListItem<'a> {
    /// The network.
    pub plmn_identity: PlmnIdentity,
    /// With the 5G core.
    pub du_pm_5gc: Option<FgcDuPmContainer<'a>>,
    /// With the EPC.
    pub du_pm_epc: Option<EpcDuPmContainer<'a>>,
}

/// FGC-DU-PM-Container.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct FgcDuPmContainer<'a> {
    /// The network's slices.
    #[per(size = 1..=1024)]
    pub slice_per_plmn_per_cell_list: List<'a, SlicePerPlmnPerCellListItem<'a>>,
}

/// SlicePerPlmnPerCellListItem: the usage of a cell by a slice.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct SlicePerPlmnPerCellListItem<'a> {
    /// The slice.
    pub slice_id: SNssai,
    /// By 5QI.
    #[per(size = 1..=64)]
    pub fqi_per_slices_per_plmn_per_cell_list: List<'a, FqiPerSlicesPerPlmnPerCellListItem>,
}

/// FQIPERSlicesPerPlmnPerCellListItem: the usage of a cell by a 5QI of a slice, in percent of the PRBs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Per)]
#[per(extensible)]
pub struct FqiPerSlicesPerPlmnPerCellListItem {
    /// The 5QI.
    pub five_qi: u8,
    /// Downlink.
    pub dl_prb_usage: Option<Prbs>,
    /// Uplink.
    pub ul_prb_usage: Option<Prbs>,
}

/// EPC-DU-PM-Container.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct EpcDuPmContainer<'a> {
    /// By QCI.
    #[per(size = 1..=256)]
    pub per_qci_report_list: List<'a, PerQciReportListItem>,
}

/// PerQCIReportListItem: the usage of a cell by a QCI, in percent of the PRBs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Per)]
#[per(extensible)]
pub struct PerQciReportListItem {
    /// The QCI.
    pub qci: u8,
    /// Downlink.
    #[per(range = 0..=100)]
    pub dl_prb_usage: Option<u8>,
    /// Uplink.
    #[per(range = 0..=100)]
    pub ul_prb_usage: Option<u8>,
}

/// OCUCP-PF-Container.
#[derive(Clone, Debug, PartialEq, Per)]
pub struct OcuCpPfContainer<'a> {
    /// The CU-CP's name.
    #[per(size = 1..=150, extensible)]
    pub gnb_cu_cp_name: Option<PrintableString<'a>>,
    /// Its counters.
    pub cu_cp_resource_status: CuCpResourceStatus,
}

/// The counters of a CU-CP.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Per)]
pub struct CuCpResourceStatus {
    /// Active UEs; absent if there are none, since the range starts at 1.
    #[per(range = 1..=65536, extensible)]
    pub number_of_active_ues: Option<u32>,
}

/// OCUUP-PF-Container.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct OcuUpPfContainer<'a> {
    /// The CU-UP's name.
    #[per(size = 1..=150, extensible)]
    pub gnb_cu_up_name: Option<PrintableString<'a>>,
    /// Its counters, by interface.
    #[per(size = 1..=3)]
    pub pf_container_list: List<'a, PfContainerListItem<'a>>,
}

/// PF-ContainerListItem: the counters of one interface.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct PfContainerListItem<'a> {
    /// The interface.
    pub interface_type: NiType,
    /// Its counters.
    pub o_cu_up_pm_container: CuUpMeasurementContainer<'a>,
}

/// NI-Type: an interface of the user plane.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Per)]
#[per(extensible)]
pub enum NiType {
    /// X2-U.
    X2U,
    /// Xn-U.
    XnU,
    /// F1-U.
    F1U,
}

/// CUUPMeasurement-Container.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct CuUpMeasurementContainer<'a> {
    /// By network.
    #[per(size = 1..=12)]
    pub plmn_list: List<'a, PlmnIdList<'a>>,
}

/// PlmnID-List: the volume of a network.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct PlmnIdList<'a> {
    /// The network.
    pub plmn_identity: PlmnIdentity,
    /// With the 5G core.
    pub cu_up_pm_5gc: Option<FgcCuUpPmFormat<'a>>,
    /// With the EPC.
    pub cu_up_pm_epc: Option<EpcCuUpPmFormat<'a>>,
}

/// FGC-CUUP-PM-Format.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct FgcCuUpPmFormat<'a> {
    /// The network's slices.
    #[per(size = 1..=1024)]
    pub slice_to_report_list: List<'a, SliceToReportListItem<'a>>,
}

/// SliceToReportListItem: the volume of a slice.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct SliceToReportListItem<'a> {
    /// The slice.
    pub slice_id: SNssai,
    /// By 5QI.
    #[per(size = 1..=64)]
    pub fqi_per_slices_per_plmn_list: List<'a, FqiPerSlicesPerPlmnListItem>,
}

/// FQIPERSlicesPerPlmnListItem: the volume of a 5QI of a slice, in octets of PDCP.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Per)]
#[per(extensible)]
pub struct FqiPerSlicesPerPlmnListItem {
    /// The 5QI.
    pub five_qi: u8,
    /// Downlink.
    #[per(range = 0..=10_000_000_000, extensible)]
    pub pdcp_bytes_dl: Option<i64>,
    /// Uplink.
    #[per(range = 0..=10_000_000_000, extensible)]
    pub pdcp_bytes_ul: Option<i64>,
}

/// EPC-CUUP-PM-Format.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct EpcCuUpPmFormat<'a> {
    /// By QCI.
    #[per(size = 1..=256)]
    pub per_qci_report_list: List<'a, PerQciReportListItemFormat>,
}

/// PerQCIReportListItemFormat: the volume of a QCI, in octets of PDCP.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Per)]
#[per(extensible)]
pub struct PerQciReportListItemFormat {
    /// The QCI.
    pub qci: u8,
    /// Downlink.
    #[per(range = 0..=10_000_000_000, extensible)]
    pub pdcp_bytes_dl: Option<i64>,
    /// Uplink.
    #[per(range = 0..=10_000_000_000, extensible)]
    pub pdcp_bytes_ul: Option<i64>,
}
