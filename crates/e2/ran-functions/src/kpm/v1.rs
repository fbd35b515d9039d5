//! E2SM-KPM v01.00: performance containers, filled from the same source.
//!
//! They are filled from the TS 28.552 measurements of the later revisions: resource blocks and data volumes for each slice
//! and 5QI, if the source supports such labels.

use std::collections::{BTreeMap, BTreeSet};

use e2sm::common::{Cgi, FiveQi, PlmnIdentity, RanFunctionName, RicFormatType, RicStyleName, RicStyleType, SNssai};
use e2sm::kpm::v1::{
    ActionDefinition, CellResourceReportListItem, CuCpResourceStatus, CuUpMeasurementContainer, EventTriggerDefinition,
    FgcCuUpPmFormat, FgcDuPmContainer, FqiPerSlicesPerPlmnListItem, FqiPerSlicesPerPlmnPerCellListItem, GnbName,
    IndicationHeader, IndicationHeaderFormat1, IndicationMessage, IndicationMessageFormat1, IndicationMessageFormats,
    NiType, NrCgi, OcuCpPfContainer, OcuUpPfContainer, OduPfContainer, PfContainer, PfContainerListItem, PlmnIdList,
    PmContainersList, Prbs, RanFunctionDefinition, RanFunctionItem, RicReportStyleList, ServedPlmnPerCellListItem,
    SlicePerPlmnPerCellListItem, SliceToReportListItem, StyleAndFormat1,
};
use e2sm::kpm::{MeasurementLabel, OID_V1, RicEventTriggerStyleItem, dictionary::Scope, v1};
use ferric::e2ap::Cause;
use per::{List, PrintableString};

use super::{KpmSource, MeasuredObject};
use crate::announcement::Announcement;
use crate::cause::{ACTION_NOT_SUPPORTED, TRIGGER_NOT_SUPPORTED, undecodable};

/// The maximum number of slices, and of 5QIs of a slice, in a container.
const MAX_SLICES: usize = 1024;
const MAX_FIVE_QIS: usize = 64;
/// The greatest volume in the root of the ASN.1 range.
const MAX_OCTETS: f64 = 1e10;

/// A report style: the container of one node type, connected to the 5G core.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Style {
    Du = 1,
    CuCp = 3,
    CuUp = 5,
}

const STYLES: [(Style, &str); 3] = [
    (Style::Du, "O-DU Measurement Container for the 5GC connected deployment"),
    (Style::CuCp, "O-CU-CP Measurement Container for the 5GC connected deployment"),
    (Style::CuUp, "O-CU-UP Measurement Container for the 5GC connected deployment"),
];

/// The encoded RAN function definition.
pub(super) fn definition(announcement: &Announcement) -> Vec<u8> {
    let trigger = RicEventTriggerStyleItem {
        ric_event_trigger_style_type: RicStyleType(1),
        ric_event_trigger_style_name: RicStyleName(PrintableString::literal("Periodic report")),
        ric_event_trigger_format_type: RicFormatType(1),
    };
    let style = |(style, name): (Style, &'static str)| RicReportStyleList {
        ric_report_style_type: RicStyleType(style as i64),
        ric_report_style_name: RicStyleName(PrintableString::literal(name)),
        ric_indication_header_format_type: RicFormatType(1),
        ric_indication_message_format_type: RicFormatType(1),
    };
    let definition = RanFunctionDefinition {
        ran_function_name: RanFunctionName {
            short_name: PrintableString::literal(announcement.short_name("ORAN-E2SM-KPM")),
            e2sm_oid: PrintableString::literal(announcement.definition_oid(OID_V1)),
            description: PrintableString::literal("KPM Monitor"),
            instance: None,
        },
        e2sm_kpm_ran_function_item: RanFunctionItem {
            ric_event_trigger_style_list: Some(List::from(vec![trigger])),
            ric_report_style_list: Some(STYLES.into_iter().map(style).collect()),
        },
    };
    let mut bytes = Vec::new();
    match definition.encode(&mut bytes) {
        Ok(()) => bytes,
        Err(error) => panic!("cannot encode the RAN function definition: {error}"),
    }
}

/// The reporting period of an event trigger, in milliseconds.
pub(super) fn reporting_period(trigger: &[u8]) -> Result<u32, Cause> {
    let trigger = EventTriggerDefinition::decode_owned(trigger).map_err(undecodable("event trigger definition"))?;
    trigger.period().map(v1::ReportPeriod::ms).ok_or(TRIGGER_NOT_SUPPORTED)
}

/// The report style of an action definition.
pub(super) fn style(definition: &[u8]) -> Result<Style, Cause> {
    let definition = ActionDefinition::decode(definition).map_err(undecodable("action definition"))?;
    let known = STYLES.iter().find(|(style, _)| *style as i64 == definition.ric_style_type.0);
    known.map(|(style, _)| *style).ok_or(ACTION_NOT_SUPPORTED)
}

/// Encodes a report.
pub(super) fn write(
    cell: Cgi,
    container: &PfContainer<'static>,
    header: &mut Vec<u8>,
    message: &mut Vec<u8>,
) -> Result<(), per::Error> {
    IndicationHeader::Format1(about_cell(cell)).encode(header)?;
    IndicationMessage::Format1(list_of(container)).encode(message)
}

/// As [`write`], in the layout of v01.02: the name of the part of the gNB in the header, the style before the container.
pub(super) fn write_v1_02(
    cell: Cgi,
    style: Style,
    name: &PrintableString<'static>,
    container: &PfContainer<'static>,
    header: &mut Vec<u8>,
    message: &mut Vec<u8>,
) -> Result<(), per::Error> {
    let gnb_name = match style {
        Style::Du => GnbName::GnbDuName(name.clone()),
        Style::CuCp => GnbName::GnbCuCpName(name.clone()),
        Style::CuUp => GnbName::GnbCuUpName(name.clone()),
    };
    let about = IndicationHeaderFormat1 { gnb_name: Some(gnb_name), ..about_cell(cell) };
    IndicationHeader::Format1(about).encode(header)?;
    let styled = StyleAndFormat1 {
        ric_style_type: RicStyleType(style as i64),
        indication_message: IndicationMessageFormats::Format1(list_of(container)),
    };
    IndicationMessage::StyleAndFormat1(styled).encode(message)
}

fn about_cell(cell: Cgi) -> IndicationHeaderFormat1<'static> {
    let cell = nr_cgi(cell);
    IndicationHeaderFormat1 {
        nr_cgi: cell,
        plmn_identity: cell.map(|cell| cell.plmn_identity),
        ..IndicationHeaderFormat1::default()
    }
}

fn list_of(container: &PfContainer<'static>) -> IndicationMessageFormat1<'static> {
    let performance_container = Some(container.clone());
    let item = PmContainersList { performance_container, the_ran_container: None, ran_container: None };
    IndicationMessageFormat1 { pm_containers: List::from(vec![item]) }
}

fn nr_cgi(cell: Cgi) -> Option<NrCgi> {
    match cell {
        Cgi::NrCgi(cell) => Some(NrCgi { plmn_identity: cell.plmn_identity, nr_cell_identity: cell.nr_cell_identity }),
        Cgi::EutraCgi(_) => None,
    }
}

/// The container with the values since a snapshot; `None` if it would be empty.
pub(super) fn container<S: KpmSource>(source: &S, since: &S::Snapshot, style: Style) -> Option<PfContainer<'static>> {
    let reader = Reader { source, since };
    match style {
        Style::Du => reader.du(),
        Style::CuCp => Some(reader.cu_cp()),
        Style::CuUp => reader.cu_up(),
    }
}

struct Reader<'s, S: KpmSource> {
    source: &'s S,
    since: &'s S::Snapshot,
}

impl<S: KpmSource> Reader<'_, S> {
    /// The cell's value of a measurement, if the source supports the measurement with this label.
    fn value(&self, name: &str, label: &MeasurementLabel) -> Option<f64> {
        let measurement = self
            .source
            .measurements()
            .iter()
            .position(|measurement| measurement.name == name && measurement.scope != Scope::Ue)?;
        if !self.source.supports_label(measurement, label) {
            return None;
        }
        self.source.value(self.since, MeasuredObject::Cell, measurement, label).number()
    }

    /// The slices that the UEs use, with the 5QIs of each.
    fn slices_in_use(&self) -> BTreeMap<SNssai, BTreeSet<FiveQi>> {
        let mut ues = Vec::new();
        self.source.ues(&mut ues);
        let mut slices_in_use: BTreeMap<SNssai, BTreeSet<FiveQi>> = BTreeMap::new();
        for ue in ues {
            for slice in self.source.slices(ue) {
                if slices_in_use.len() < MAX_SLICES || slices_in_use.contains_key(slice) {
                    slices_in_use.entry(*slice).or_default().extend(self.source.five_qis(ue));
                }
            }
        }
        slices_in_use.retain(|_, five_qis| !five_qis.is_empty());
        slices_in_use
    }

    /// A list of the slices in use: `make` creates the item of a 5QI, `slice` that of a slice from its 5QI items.
    fn slices<T, U>(
        &self,
        make: impl Fn(FiveQi, &MeasurementLabel) -> T,
        slice: impl Fn(v1::SNssai, List<'static, T>) -> U,
    ) -> Option<List<'static, U>>
    where
        U: 'static,
        T: 'static,
    {
        let of = |(id, five_qis): (SNssai, BTreeSet<FiveQi>)| {
            let items = five_qis.into_iter().take(MAX_FIVE_QIS).map(|five_qi| {
                let label =
                    MeasurementLabel { slice_id: Some(id), five_qi: Some(five_qi), ..MeasurementLabel::default() };
                make(five_qi, &label)
            });
            slice(v1::SNssai { sst: id.sst, sd: id.sd }, items.collect())
        };
        Some(self.slices_in_use().into_iter().map(of).collect()).filter(|list: &List<'_, U>| !list.is_empty())
    }

    fn du(&self) -> Option<PfContainer<'static>> {
        let nr_cgi = nr_cgi(self.source.cell())?;
        // the range of the field ends at 100, even for cells with more resource blocks
        let percent = |value: Option<f64>| value.map(|value| Prbs(value.round().clamp(0.0, 100.0) as u16));
        let of_cell = |name| percent(self.value(name, &MeasurementLabel::NO_LABEL));
        let slices = self.slices(
            |five_qi, label| FqiPerSlicesPerPlmnPerCellListItem {
                five_qi: five_qi.0,
                dl_prb_usage: percent(self.value("RRU.PrbTotDl", label)),
                ul_prb_usage: percent(self.value("RRU.PrbTotUl", label)),
            },
            |slice_id, list| SlicePerPlmnPerCellListItem { slice_id, fqi_per_slices_per_plmn_per_cell_list: list },
        );
        let plmn = ServedPlmnPerCellListItem {
            plmn_identity: nr_cgi.plmn_identity,
            du_pm_5gc: slices.map(|slices| FgcDuPmContainer { slice_per_plmn_per_cell_list: slices }),
            du_pm_epc: None,
        };
        let cell = CellResourceReportListItem {
            nr_cgi,
            dl_total_of_available_prbs: of_cell("RRU.PrbAvailDl"),
            ul_total_of_available_prbs: of_cell("RRU.PrbAvailUl"),
            served_plmn_per_cell_list: List::from(vec![plmn]),
        };
        Some(PfContainer::ODu(OduPfContainer { cell_resource_report_list: List::from(vec![cell]) }))
    }

    fn cu_cp(&self) -> PfContainer<'static> {
        let mut ues = Vec::new();
        self.source.ues(&mut ues);
        let number_of_active_ues = u32::try_from(ues.len()).ok().filter(|ues| *ues > 0);
        PfContainer::OCuCp(OcuCpPfContainer {
            gnb_cu_cp_name: None,
            cu_cp_resource_status: CuCpResourceStatus { number_of_active_ues },
        })
    }

    fn cu_up(&self) -> Option<PfContainer<'static>> {
        let octets = |name, label: &MeasurementLabel| {
            self.value(name, label).map(|kbit| (kbit * 1000.0 / 8.0).round().clamp(0.0, MAX_OCTETS) as i64)
        };
        let slices = self.slices(
            |five_qi, label| FqiPerSlicesPerPlmnListItem {
                five_qi: five_qi.0,
                pdcp_bytes_dl: octets("DRB.PdcpSduVolumeDL", label),
                pdcp_bytes_ul: octets("DRB.PdcpSduVolumeUL", label),
            },
            |slice_id, list| SliceToReportListItem { slice_id, fqi_per_slices_per_plmn_list: list },
        )?;
        let plmn = PlmnIdList {
            plmn_identity: plmn_identity(self.source.cell()),
            cu_up_pm_5gc: Some(FgcCuUpPmFormat { slice_to_report_list: slices }),
            cu_up_pm_epc: None,
        };
        let part = PfContainerListItem {
            interface_type: NiType::F1U,
            o_cu_up_pm_container: CuUpMeasurementContainer { plmn_list: List::from(vec![plmn]) },
        };
        Some(PfContainer::OCuUp(OcuUpPfContainer { gnb_cu_up_name: None, pf_container_list: List::from(vec![part]) }))
    }
}

fn plmn_identity(cell: Cgi) -> PlmnIdentity {
    match cell {
        Cgi::NrCgi(cell) => cell.plmn_identity,
        Cgi::EutraCgi(cell) => cell.plmn_identity,
    }
}
