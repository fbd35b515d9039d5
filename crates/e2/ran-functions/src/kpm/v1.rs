//! E2SM-KPM v01.00: containers of counters, made of the same source.
//!
//! A source that offers the measurements of the later revisions under their names of TS 28.552 has what v01.00 tells:
//! blocks and volumes by slice and 5QI where those measurements have such labels.

use std::collections::{BTreeMap, BTreeSet};

use e2sm::common::{Cgi, FiveQi, PlmnIdentity, RanFunctionName, RicFormatType, RicStyleName, RicStyleType, SNssai};
use e2sm::kpm::v1::{
    ActionDefinition, CellResourceReportListItem, CuCpResourceStatus, CuUpMeasurementContainer, EventTriggerDefinition,
    FgcCuUpPmFormat, FgcDuPmContainer, FqiPerSlicesPerPlmnListItem, FqiPerSlicesPerPlmnPerCellListItem,
    IndicationHeader, IndicationHeaderFormat1, IndicationMessage, IndicationMessageFormat1, NiType, NrCgi,
    OcuCpPfContainer, OcuUpPfContainer, OduPfContainer, PfContainer, PfContainerListItem, PlmnIdList, PmContainersList,
    RanFunctionDefinition, RanFunctionItem, RicReportStyleList, ServedPlmnPerCellListItem, SlicePerPlmnPerCellListItem,
    SliceToReportListItem,
};
use e2sm::kpm::{MeasurementLabel, OID_V1, RicEventTriggerStyleItem, dictionary::Scope, v1};
use ferric::e2ap::{Cause, CauseProtocol, CauseRicRequest};
use per::{List, PrintableString};
use tracing::debug;

use super::{KpmSource, MeasuredObject};

/// Most networks, slices of one, and 5QIs of a slice that a container has room for.
const MAX_SLICES: usize = 1024;
const MAX_FIVE_QIS: usize = 64;
/// The most octets that the root of the volume's range holds.
const MAX_OCTETS: f64 = 1e10;

/// A report style: the container of one kind of node, with the 5G core.
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

/// What E2 Setup tells.
pub(super) fn definition() -> Vec<u8> {
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
            short_name: PrintableString::literal("ORAN-E2SM-KPM"),
            e2sm_oid: PrintableString::literal(OID_V1),
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
        Err(error) => panic!("the constant definition can be encoded: {error}"),
    }
}

/// Milliseconds from report to report.
pub(super) fn reporting_period(trigger: &[u8]) -> Result<u32, Cause> {
    let trigger = EventTriggerDefinition::decode_owned(trigger).map_err(|error| {
        debug!(%error, "event trigger definition");
        Cause::Protocol(CauseProtocol::TransferSyntaxError)
    })?;
    trigger.period().map(v1::ReportPeriod::ms).ok_or(Cause::RicRequest(CauseRicRequest::EventTriggerNotSupported))
}

/// The report style that an action wants.
pub(super) fn style(definition: &[u8]) -> Result<Style, Cause> {
    let definition = ActionDefinition::decode(definition).map_err(|error| {
        debug!(%error, "action definition");
        Cause::Protocol(CauseProtocol::TransferSyntaxError)
    })?;
    let known = STYLES.iter().find(|(style, _)| *style as i64 == definition.ric_style_type.0);
    known.map(|(style, _)| *style).ok_or(Cause::RicRequest(CauseRicRequest::ActionNotSupported))
}

/// Writes a report; not where there is nothing to tell.
pub(super) fn write(
    cell: Cgi,
    container: Option<&PfContainer<'static>>,
    header: &mut Vec<u8>,
    message: &mut Vec<u8>,
) -> Result<bool, per::Error> {
    let Some(container) = container else { return Ok(false) };
    let cell = nr_cgi(cell);
    let about = IndicationHeaderFormat1 {
        nr_cgi: cell,
        plmn_identity: cell.map(|cell| cell.plmn_identity),
        ..IndicationHeaderFormat1::default()
    };
    IndicationHeader::Format1(about).encode(header)?;
    let item = PmContainersList { performance_container: Some(container.clone()), the_ran_container: None };
    let pm_containers = List::from(vec![item]);
    IndicationMessage::Format1(IndicationMessageFormat1 { pm_containers }).encode(message)?;
    Ok(true)
}

fn nr_cgi(cell: Cgi) -> Option<NrCgi> {
    match cell {
        Cgi::NrCgi(cell) => Some(NrCgi { plmn_identity: cell.plmn_identity, nr_cell_identity: cell.nr_cell_identity }),
        Cgi::EutraCgi(_) => None,
    }
}

/// The counters since a mark; `None` where there are none.
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
    /// The cell's value of a measurement, where it is offered and has that label.
    fn value(&self, name: &str, label: &MeasurementLabel) -> Option<f64> {
        let offer =
            self.source.measurements().iter().position(|offer| offer.name == name && offer.scope != Scope::Ue)?;
        if !self.source.supports_label(offer, label) {
            return None;
        }
        self.source.value(self.since, MeasuredObject::Cell, offer, label).number()
    }

    /// The slices, and the 5QIs in each, that the UEs use.
    fn classes(&self) -> BTreeMap<SNssai, BTreeSet<FiveQi>> {
        let mut ues = Vec::new();
        self.source.ues(&mut ues);
        let mut classes: BTreeMap<SNssai, BTreeSet<FiveQi>> = BTreeMap::new();
        for ue in ues {
            for slice in self.source.slices(ue) {
                if classes.len() < MAX_SLICES || classes.contains_key(slice) {
                    classes.entry(*slice).or_default().extend(self.source.five_qis(ue));
                }
            }
        }
        classes.retain(|_, five_qis| !five_qis.is_empty());
        classes
    }

    /// Makes a list of slices out of what `make` makes of each slice's 5QIs.
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
        Some(self.classes().into_iter().map(of).collect()).filter(|list: &List<'_, U>| !list.is_empty())
    }

    fn du(&self) -> Option<PfContainer<'static>> {
        let nr_cgi = nr_cgi(self.source.cell())?;
        // the field ends at 100, whatever the cell has
        let percent = |value: Option<f64>| value.map(|value| value.round().clamp(0.0, 100.0) as u8);
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
