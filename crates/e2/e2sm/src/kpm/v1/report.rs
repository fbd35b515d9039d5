//! The values of a report.

use super::{IndicationMessage, NiType, NrCgi, PfContainer, Prbs, RanContainer, SNssai, UsageReport};
use crate::common::PlmnIdentity;

/// One value of a report and everything that identifies it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    /// The counter.
    pub counter: Counter,
    /// The cell, for values of a DU.
    pub cell: Option<NrCgi>,
    /// The interface, for values of a CU-UP.
    pub interface: Option<NiType>,
    /// The network.
    pub plmn_identity: Option<PlmnIdentity>,
    /// The slice.
    pub slice: Option<SNssai>,
    /// The QoS class.
    pub class: Option<Class>,
    /// The UE's C-RNTI, for values of UEs (v01.02).
    pub c_rnti: Option<u16>,
    /// The value.
    pub value: i64,
}

/// A QoS class.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Class {
    /// A 5QI.
    FiveQi(u8),
    /// A QCI.
    Qci(u8),
}

/// A counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Counter {
    /// Available downlink PRBs.
    AvailablePrbsDl,
    /// Available uplink PRBs.
    AvailablePrbsUl,
    /// Downlink PRB usage in percent.
    PrbUsageDl,
    /// Uplink PRB usage in percent.
    PrbUsageUl,
    /// Active UEs.
    ActiveUes,
    /// Downlink PDCP volume in octets.
    PdcpBytesDl,
    /// Uplink PDCP volume in octets.
    PdcpBytesUl,
}

impl Counter {
    /// Returns a name like those of measurements in later revisions; v01.00 has none.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Counter::AvailablePrbsDl => "RRU.PrbAvailDl",
            Counter::AvailablePrbsUl => "RRU.PrbAvailUl",
            Counter::PrbUsageDl => "RRU.PrbTotDl",
            Counter::PrbUsageUl => "RRU.PrbTotUl",
            Counter::ActiveUes => "numberOfActive-UEs",
            Counter::PdcpBytesDl => "pDCPBytesDL",
            Counter::PdcpBytesUl => "pDCPBytesUL",
        }
    }
}

impl IndicationMessage<'_> {
    /// Returns the values of the report in order, without those of vendor-specific containers and texts.
    #[must_use]
    pub fn rows(&self) -> Vec<Row> {
        let mut rows = Rows(Vec::new());
        for item in self.containers().iter().flat_map(|format1| &format1.pm_containers) {
            item.performance_container.iter().for_each(|container| rows.container(container));
            item.ran_container.iter().for_each(|container| rows.ues(container));
        }
        rows.0
    }
}

struct Rows(Vec<Row>);

/// What a value is of, if nothing is known.
const NOTHING: Row = Row {
    counter: Counter::ActiveUes,
    cell: None,
    interface: None,
    plmn_identity: None,
    slice: None,
    class: None,
    c_rnti: None,
    value: 0,
};

impl Rows {
    fn add(&mut self, about: Row, values: [(Counter, Option<i64>); 2]) {
        let rows = values.into_iter().filter_map(|(counter, value)| Some(Row { counter, value: value?, ..about }));
        self.0.extend(rows);
    }

    /// The values of UEs. A CU-CP's are texts.
    fn ues(&mut self, container: &RanContainer<'_>) {
        match &container.report_container {
            UsageReport::ODuUe(report) => {
                for cell in &report.cell_resource_report_list {
                    for ue in &cell.ue_resource_report_list {
                        let about = Row { cell: Some(cell.nr_cgi), c_rnti: Some(ue.c_rnti.value()), ..NOTHING };
                        let values = [(Counter::PrbUsageDl, ue.dl_prb_usage), (Counter::PrbUsageUl, ue.ul_prb_usage)];
                        self.add(about, values);
                    }
                }
            }
            UsageReport::OCuUpUe(report) => {
                for cell in &report.cell_resource_report_list {
                    for ue in &cell.ue_resource_report_list {
                        let about = Row { cell: Some(cell.nr_cgi), c_rnti: Some(ue.c_rnti.value()), ..NOTHING };
                        let values =
                            [(Counter::PdcpBytesDl, ue.pdcp_bytes_dl), (Counter::PdcpBytesUl, ue.pdcp_bytes_ul)];
                        self.add(about, values);
                    }
                }
            }
            UsageReport::OCuCpUe(_) => {}
        }
    }

    fn container(&mut self, container: &PfContainer<'_>) {
        let nothing = NOTHING;
        match container {
            PfContainer::OCuCp(cu_cp) => {
                let ues = cu_cp.cu_cp_resource_status.number_of_active_ues;
                self.0.extend(ues.map(|ues| Row { value: ues.into(), ..nothing }));
            }
            PfContainer::ODu(du) => {
                for cell in &du.cell_resource_report_list {
                    let about = Row { cell: Some(cell.nr_cgi), ..nothing };
                    let of = |prbs: Option<Prbs>| prbs.map(|prbs| i64::from(prbs.0));
                    let of_qci = |percent: Option<u8>| percent.map(i64::from);
                    let available = (of(cell.dl_total_of_available_prbs), of(cell.ul_total_of_available_prbs));
                    self.add(about, [(Counter::AvailablePrbsDl, available.0), (Counter::AvailablePrbsUl, available.1)]);
                    for plmn in &cell.served_plmn_per_cell_list {
                        let about = Row { plmn_identity: Some(plmn.plmn_identity), ..about };
                        let usage = |dl, ul| [(Counter::PrbUsageDl, dl), (Counter::PrbUsageUl, ul)];
                        let slices = plmn.du_pm_5gc.iter().flat_map(|pm| &pm.slice_per_plmn_per_cell_list);
                        for slice in slices {
                            for item in &slice.fqi_per_slices_per_plmn_per_cell_list {
                                let class = Some(Class::FiveQi(item.five_qi));
                                let about = Row { slice: Some(slice.slice_id), class, ..about };
                                self.add(about, usage(of(item.dl_prb_usage), of(item.ul_prb_usage)));
                            }
                        }
                        for item in plmn.du_pm_epc.iter().flat_map(|pm| &pm.per_qci_report_list) {
                            let about = Row { class: Some(Class::Qci(item.qci)), ..about };
                            self.add(about, usage(of_qci(item.dl_prb_usage), of_qci(item.ul_prb_usage)));
                        }
                    }
                }
            }
            PfContainer::OCuUp(cu_up) => {
                for part in &cu_up.pf_container_list {
                    for plmn in &part.o_cu_up_pm_container.plmn_list {
                        let (interface, plmn_identity) = (Some(part.interface_type), Some(plmn.plmn_identity));
                        let about = Row { interface, plmn_identity, ..nothing };
                        let volume = |dl, ul| [(Counter::PdcpBytesDl, dl), (Counter::PdcpBytesUl, ul)];
                        for slice in plmn.cu_up_pm_5gc.iter().flat_map(|pm| &pm.slice_to_report_list) {
                            for item in &slice.fqi_per_slices_per_plmn_list {
                                let class = Some(Class::FiveQi(item.five_qi));
                                let about = Row { slice: Some(slice.slice_id), class, ..about };
                                self.add(about, volume(item.pdcp_bytes_dl, item.pdcp_bytes_ul));
                            }
                        }
                        for item in plmn.cu_up_pm_epc.iter().flat_map(|pm| &pm.per_qci_report_list) {
                            let about = Row { class: Some(Class::Qci(item.qci)), ..about };
                            self.add(about, volume(item.pdcp_bytes_dl, item.pdcp_bytes_ul));
                        }
                    }
                }
            }
        }
    }
}
