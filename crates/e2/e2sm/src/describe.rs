//! Short phrases for the log: which model a RAN function has, and what a subscription or a control asks of it.

// partly unused in a build with some of the models
#![cfg_attr(not(feature = "all"), allow(unused_imports, unused_variables, dead_code))]

use core::fmt::Write;

use crate::common::{Cgi, UeId};
use crate::{Arena, Error, Wire};

/// The most names in a phrase; the others are counted.
const MAX_NAMES: usize = 4;
/// The most octets that are decoded for a phrase.
const MAX_OCTETS: usize = 4096;

/// The service model of a RAN function, for phrases in a log. What is not built in, is too long or does not decode has no
/// phrase: a log line must not depend on it.
#[derive(Clone, Debug, PartialEq)]
pub struct FunctionSummary {
    name: String,
    model: Model,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Model {
    #[cfg(feature = "kpm")]
    Kpm(crate::kpm::Revision, Wire),
    #[cfg(feature = "rc")]
    Rc(crate::rc::Revision, Wire),
    #[cfg(feature = "ccc")]
    Ccc,
    #[cfg(feature = "llc")]
    Llc,
    #[cfg(feature = "association")]
    Association,
    #[cfg(feature = "slice")]
    Slice(Wire),
    #[cfg(feature = "cpu")]
    Cpu(Wire),
    #[cfg(feature = "flexric")]
    Statistics(Wire),
    Other,
}

impl FunctionSummary {
    /// Identifies a RAN function, as [`identify_function`](crate::identify_function) does.
    ///
    /// # Errors
    /// [`Error::UnknownOid`] if no model has this object identifier; a malformed definition.
    pub fn of(oid: &str, function_revision: u16, definition: &[u8]) -> Result<Self, Error> {
        let is = |name: &str, model| Ok::<_, Error>(FunctionSummary { name: name.to_owned(), model });
        #[cfg(feature = "hw")]
        if crate::hw::wire_of(oid.trim()).is_some() {
            return is("HW", Model::Other);
        }
        #[cfg(feature = "association")]
        if oid.trim() == crate::association::OID {
            return is("UE association", Model::Association);
        }
        #[cfg(feature = "flexric")]
        for model in crate::identify::FLEXRIC {
            if let Some(wire) = model.wire_of(oid.trim()) {
                // MAC_STATS_V0, RRC_EVENTS_V0
                let name = model.name.split('_').next().unwrap_or(model.name);
                #[cfg(feature = "slice")]
                if *model == crate::slice::MODEL {
                    return is(name, Model::Slice(wire));
                }
                #[cfg(feature = "cpu")]
                if *model == crate::cpu::MODEL {
                    return is(name, Model::Cpu(wire));
                }
                return is(name, Model::Statistics(wire));
            }
        }
        #[cfg(feature = "ccc")]
        if oid.trim() == crate::ccc::OID {
            return is("CCC", Model::Ccc);
        }
        #[cfg(feature = "llc")]
        if oid.trim() == crate::llc::OID {
            return is("LLC v1.00", Model::Llc);
        }
        #[cfg(feature = "ni")]
        if oid.trim() == crate::ni::OID {
            return is("NI", Model::Other);
        }
        #[cfg(feature = "rc")]
        match crate::rc::Detection::from_ran_function(oid, function_revision, definition) {
            Err(Error::UnknownOid) => {}
            detected => {
                let detected = detected?;
                let name = format!("RC {}", short_revision(detected.revision));
                return Ok(FunctionSummary { name, model: Model::Rc(detected.revision, detected.wire) });
            }
        }
        #[cfg(feature = "kpm")]
        return crate::kpm::Detection::from_ran_function(oid, function_revision, definition)
            .map(|detected| FunctionSummary::of_kpm(detected.revision, detected.wire));
        #[cfg(not(feature = "kpm"))]
        Err(Error::UnknownOid)
    }

    /// The summary of a function of KPM whose revision is configured.
    #[cfg(feature = "kpm")]
    #[must_use]
    pub fn of_kpm(revision: crate::kpm::Revision, wire: Wire) -> Self {
        FunctionSummary { name: format!("KPM {}", short_revision(revision)), model: Model::Kpm(revision, wire) }
    }

    /// The model and its revision: `KPM v3.00`.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What a subscription asks for: `DRB.UEThpDl of UE amf:1 every 500 ms`.
    #[must_use]
    pub fn subscription<'s>(
        &self,
        event_trigger: &[u8],
        actions: impl IntoIterator<Item = Option<&'s [u8]>>,
    ) -> Option<String> {
        match self.model {
            #[cfg(feature = "kpm")]
            Model::Kpm(revision, wire) => {
                let action = actions.into_iter().flatten().next()?;
                let arena = Arena::new();
                let period =
                    crate::kpm::EventTriggerDefinition::decode_in(bounded(event_trigger)?, revision, wire).ok()?;
                let crate::kpm::EventTriggerDefinitionFormats::Format1(period) = period.formats;
                let action = crate::kpm::ActionDefinition::decode_in(bounded(action)?, revision, wire, &arena).ok()?;
                Some(format!("{} every {} ms", measured(&action.formats, revision), period.reporting_period))
            }
            #[cfg(feature = "llc")]
            Model::Llc => llc_subscription(bounded(event_trigger)?, bounded(actions.into_iter().flatten().next()?)?),
            #[cfg(feature = "slice")]
            Model::Slice(wire) => every(&self.name, event_trigger, wire),
            #[cfg(feature = "cpu")]
            Model::Cpu(wire) => every(&self.name, event_trigger, wire),
            #[cfg(feature = "flexric")]
            Model::Statistics(wire) => every(&self.name, event_trigger, wire),
            _ => None,
        }
    }

    /// What a control changes: `UE amf:1 to cell nr-00101-38001`.
    #[must_use]
    pub fn control(&self, header: &[u8], message: &[u8]) -> Option<String> {
        let (header, message) = (bounded(header)?, bounded(message)?);
        match self.model {
            #[cfg(feature = "rc")]
            Model::Rc(revision, wire) => {
                crate::rc::Control::decode_in(header, message, revision, wire).ok().map(|control| rc_control(&control))
            }
            #[cfg(feature = "ccc")]
            Model::Ccc => ccc_control(message),
            #[cfg(feature = "llc")]
            Model::Llc => llc_control(message),
            #[cfg(feature = "association")]
            Model::Association => {
                use crate::association::{Command, ControlHeader, ControlMessage};
                let command = ControlHeader::decode(header).ok()?.command;
                let message = ControlMessage::decode(message).ok()?;
                let verb = if command == Command::Expose { "shown to" } else { "hidden from" };
                Some(format!("{} {verb} {}", ues(message.ues.iter()), message.controller))
            }
            #[cfg(feature = "slice")]
            Model::Slice(wire) => {
                let arena = Arena::new();
                crate::slice::ControlMessage::decode(message, wire, &arena).ok().map(|message| slice_control(&message))
            }
            #[cfg(feature = "cpu")]
            Model::Cpu(wire) => {
                let arena = Arena::new();
                crate::cpu::ControlMessage::decode(message, wire, &arena).ok().map(|message| message.to_string())
            }
            _ => None,
        }
    }
}

fn bounded(octets: &[u8]) -> Option<&[u8]> {
    (octets.len() <= MAX_OCTETS).then_some(octets)
}

/// `v3.00` of `v03.00`.
fn short_revision(revision: impl core::fmt::Display) -> String {
    revision.to_string().replacen("v0", "v", 1)
}

/// `RLC buffers, HARQ statistics every 1 ms`, `CSI at its arrival`
#[cfg(feature = "llc")]
fn llc_subscription(event_trigger: &[u8], action: &[u8]) -> Option<String> {
    use crate::llc::{
        ActionDefinition, ActionDefinitionFormats, EventTrigger, EventTriggerFormats, LowerLayersInfoType,
        LowerLayersMeasType,
    };
    let arena = Arena::new();
    let trigger = EventTrigger::decode(event_trigger, &arena).ok()?;
    let when = match trigger.formats {
        EventTriggerFormats::Format1(_) => "at its arrival".to_owned(),
        EventTriggerFormats::Format2(periodic) => format!("every {} ms", periodic.reporting_period),
    };
    let what = match ActionDefinition::decode(action, &arena).ok()?.formats {
        ActionDefinitionFormats::Format1(copy) => match copy.lower_layers_info_type {
            LowerLayersInfoType::Srs => "SRS".to_owned(),
            LowerLayersInfoType::Csi => "CSI".to_owned(),
        },
        ActionDefinitionFormats::Format2(measurements) => {
            list(measurements.measurement_to_report_list.iter().map(|item| {
                match item.lower_layers_meas_type {
                    LowerLayersMeasType::DlRlcBufferStatus => "RLC buffers",
                    LowerLayersMeasType::DlPdcpBufferStatus => "PDCP buffers",
                    LowerLayersMeasType::DlHarqStatistics => "HARQ statistics",
                    LowerLayersMeasType::SlotTimeStamp => "slot time stamps",
                }
                .to_owned()
            }))
        }
    };
    Some(format!("{what} {when}"))
}

/// `downlink of 2 slots, 5 grants`, `logical channels of UE f1ap:7`
#[cfg(feature = "llc")]
fn llc_control(message: &[u8]) -> Option<String> {
    use crate::llc::{ControlMessage, ControlMessageFormats, ControlType};
    let arena = Arena::new();
    let ControlMessageFormats::Format1(format) = ControlMessage::decode(message, &arena).ok()?.formats;
    Some(match format.control_type {
        ControlType::LogicalChannelHandlingControl(control) => {
            format!("logical channels of {}", ues(control.logical_channel_ueid_list.iter().map(|item| &item.ue_id)))
        }
        ControlType::DlSchedulingControl(control) => {
            let slots = &control.dl_slot_to_be_scheduled_list;
            let grants: usize = slots.iter().map(|slot| slot.dl_grant_list.len()).sum();
            format!("downlink of {} slots, {grants} grants", slots.len())
        }
    })
}

/// `MAC statistics every 10 ms`
#[cfg(feature = "flexric")]
fn every(name: &str, event_trigger: &[u8], wire: Wire) -> Option<String> {
    let trigger = crate::flexric::EventTriggerDefinition::decode(bounded(event_trigger)?, wire).ok()?;
    Some(format!("{name} statistics every {} ms", trigger.period_ms))
}

/// Names separated by commas; those beyond the first few are counted.
fn list(names: impl Iterator<Item = String>) -> String {
    let mut text = String::new();
    let mut omitted = 0_usize;
    for (at, name) in names.enumerate() {
        if at >= MAX_NAMES {
            omitted += 1;
        } else {
            // writing to a string does not fail
            let _ = write!(text, "{}{name}", if at == 0 { "" } else { ", " });
        }
    }
    if omitted > 0 {
        let _ = write!(text, " and {omitted} more");
    }
    text
}

/// `amf:1`, as the programs name UEs: the first identity of the UE ID.
#[must_use]
pub fn ue_name(ue: &UeId<'_>) -> String {
    match ue {
        UeId::Gnb(id) => format!("amf:{}", id.amf_ue_ngap_id.0),
        UeId::GnbDu(id) => format!("f1ap:{}", id.gnb_cu_ue_f1ap_id.0),
        UeId::GnbCuUp(id) => format!("e1ap:{}", id.gnb_cu_cp_ue_e1ap_id.0),
        UeId::NgEnb(id) => format!("amf:{}", id.amf_ue_ngap_id.0),
        UeId::NgEnbDu(id) => format!("w1ap:{}", id.ng_enb_cu_ue_w1ap_id.0),
        UeId::EnGnb(id) => {
            let extension = id.m_enb_ue_x2ap_id_extension.map_or(0, |extension| extension.0);
            format!("x2ap:{}", u32::from(extension) << 12 | u32::from(id.m_enb_ue_x2ap_id.0))
        }
        UeId::Enb(id) => format!("mme:{}", id.mme_ue_s1ap_id.0),
    }
}

fn ues<'u, 'i: 'u>(ues: impl Iterator<Item = &'u UeId<'i>>) -> String {
    format!("UE {}", list(ues.map(ue_name)))
}

fn cell_name(cell: &Cgi) -> String {
    match cell {
        Cgi::NrCgi(cell) => cell.to_string(),
        Cgi::EutraCgi(cell) => format!("eutra-{}-{:x}", cell.plmn_identity, cell.eutra_cell_identity.value),
    }
}

/// `DRB.UEThpDl of UE amf:1`
#[cfg(feature = "kpm")]
fn measured(action: &crate::kpm::ActionDefinitionFormats<'_>, revision: crate::kpm::Revision) -> String {
    use crate::kpm::{
        ActionDefinitionFormat1, ActionDefinitionFormats, EveryUe, MeasurementType, TestCondType, TestCondValue,
    };
    let name = |measurement: &MeasurementType<'_>| match measurement {
        MeasurementType::MeasName(name) => name.0.as_str().to_owned(),
        MeasurementType::MeasId(id) => format!("measurement {}", id.0),
    };
    let names =
        |format: &ActionDefinitionFormat1<'_>| list(format.meas_info_list.iter().map(|item| name(&item.meas_type)));
    match action {
        ActionDefinitionFormats::Format1(format) => match &format.cell_global_id {
            Some(cell) => format!("{} of cell {}", names(format), cell_name(cell)),
            None => format!("{} of the node", names(format)),
        },
        ActionDefinitionFormats::Format2(format) => {
            format!("{} of UE {}", names(&format.subscript_info), ue_name(&format.ue_id))
        }
        ActionDefinitionFormats::Format3(format) => {
            let names = list(format.meas_cond_list.iter().map(|item| name(&item.meas_type)));
            format!("{names} of the UEs that meet conditions")
        }
        ActionDefinitionFormats::Format4(format) => {
            let ues = match format.matching_ue_cond_list.iter().as_slice() {
                [one] if one.test_cond_info == EveryUe::AnySignal.condition(revision) => "each UE".to_owned(),
                [one] => match (&one.test_cond_info.test_type, &one.test_cond_info.test_value) {
                    (TestCondType::SNssai(_), Some(TestCondValue::ValueOctS(slice))) => match *slice.to_cow() {
                        [sst, ..] => format!("each UE of slice {sst}"),
                        [] => "each UE that meets a condition".to_owned(),
                    },
                    _ => "each UE that meets a condition".to_owned(),
                },
                several => format!("each UE that meets {} conditions", several.len()),
            };
            format!("{} of {ues}", names(&format.subscription_info))
        }
        ActionDefinitionFormats::Format5(format) => {
            let of = ues(format.matching_ueid_list.iter().map(|item| &item.ue_id));
            format!("{} of {of}", names(&format.subscription_info))
        }
    }
}

#[cfg(feature = "rc")]
fn rc_control(control: &crate::rc::Control) -> String {
    use crate::rc::{ControlActions, ControlTarget};
    let target = match &control.target {
        ControlTarget::Ue(ue) => format!("UE {}", ue_name(ue)),
        ControlTarget::NoUe => "node".to_owned(),
        ControlTarget::Group(id, _) => format!("UE group {}", id.0),
        ControlTarget::Partial(_) => "UE".to_owned(),
    };
    let action = match &control.actions {
        ControlActions::One(action) => rc_action(&target, action),
        ControlActions::Several(actions) => list(actions.iter().map(|action| rc_action(&target, action))),
        ControlActions::Filtered(action) => format!("{target}: {}", action.id),
        ControlActions::Query(id, _) => format!("{target}: query of {id}"),
    };
    match control.decision {
        Some(crate::rc::Decision::Accept) => format!("{action}, accepted"),
        Some(crate::rc::Decision::Reject) => format!("{action}, rejected"),
        None => action,
    }
}

#[cfg(feature = "rc")]
fn rc_action(target: &str, action: &crate::rc::ControlAction) -> String {
    use crate::rc::{ConditionalHandover, ControlAction, RrmPolicyRatio};
    match action {
        ControlAction::Handover(handover) => format!("{target} to cell {}", cell_name(&handover.target)),
        ControlAction::ConditionalHandover(ConditionalHandover::Prepare { target: cell, .. }) => {
            format!("{target} to cell {} when its condition holds", cell_name(cell))
        }
        ControlAction::ConditionalHandover(ConditionalHandover::Cancel) => {
            format!("{target}: conditional handover cancelled")
        }
        ControlAction::ModifyMeasurement(change) => format!("{target}: change of measurement {}", change.id),
        ControlAction::DeleteMeasurement(id) => format!("{target}: deletion of measurement {id}"),
        ControlAction::Drx(drx) => match drx.long_cycle_ms() {
            Some(cycle) => format!("{target}: DRX cycle of {cycle} ms"),
            None => format!("{target}: DRX cycle number {}", drx.long_cycle),
        },
        ControlAction::SlicePrbQuota(quota) => {
            let policy = |policy: &RrmPolicyRatio| {
                let slices = list(policy.members.iter().map(|member| slice_name(&member.slice)));
                let percent = |value: Option<u8>| value.map_or("-".to_owned(), |value| value.to_string());
                format!(
                    "slice {slices}: {} to {} % of the PRBs",
                    percent(policy.min_percent),
                    percent(policy.max_percent)
                )
            };
            list(quota.policies.iter().map(policy))
        }
        ControlAction::DrbQos(_)
        | ControlAction::QosFlowMapping(_)
        | ControlAction::AddMeasurement(_)
        | ControlAction::Other(_) => {
            let id = action.id();
            id.name().map_or_else(|| format!("{target}: {id}"), |name| format!("{target}: {name}"))
        }
    }
}

/// `1` or `1-000080`, after the S-NSSAI.
#[cfg(feature = "rc")]
fn slice_name(slice: &crate::common::SNssai) -> String {
    let sst = slice.sst.0[0];
    slice.sd.map_or_else(|| sst.to_string(), |sd| format!("{sst}-{:02x}{:02x}{:02x}", sd.0[0], sd.0[1], sd.0[2]))
}

#[cfg(feature = "ccc")]
fn ccc_control(message: &[u8]) -> Option<String> {
    use crate::ccc::{CellControlled, ControlMessage, ControlMessageFormat, StructureControlled};
    let names = |structures: &[StructureControlled]| {
        list(structures.iter().map(|structure| structure.new_values.name().to_owned()))
    };
    Some(match ControlMessage::decode(message).ok()?.format {
        ControlMessageFormat::NodeLevel(structures) => format!("{} of the node", names(&structures)),
        ControlMessageFormat::CellLevel(cells) => {
            list(cells.iter().map(|CellControlled { cell_global_id, structures }| {
                format!("{} of cell {}", names(structures), cell_name(cell_global_id))
            }))
        }
    })
}

#[cfg(feature = "slice")]
fn slice_control(message: &crate::slice::ControlMessage<'_>) -> String {
    use crate::slice::{ControlMessage, NO_SLICE, Slice, UeSlices};
    let slice = |slice: &Slice<'_>| format!("{} ({})", slice.id, slice.parameters.algorithm());
    match message {
        ControlMessage::AddOrModify(slices) => {
            let of = |slices: &[Slice<'_>]| list(slices.iter().map(slice));
            let (dl, ul) = (of(&slices.dl.slices), of(&slices.ul.slices));
            match (dl.is_empty(), ul.is_empty()) {
                (false, true) => format!("slice {dl} of the downlink"),
                (true, false) => format!("slice {ul} of the uplink"),
                (true, true) => format!("slicing {}", slices.dl.scheduler.as_str()),
                (false, false) if dl == ul => format!("slice {dl}"),
                (false, false) => format!("slice {dl} of the downlink, {ul} of the uplink"),
            }
        }
        ControlMessage::Delete(ids) => {
            let ids: std::collections::BTreeSet<u32> = ids.dl.iter().chain(ids.ul.iter()).copied().collect();
            format!("slice {} deleted", list(ids.iter().map(u32::to_string)))
        }
        ControlMessage::Associate(ues) => list(ues.iter().map(|UeSlices { dl_id, ul_id, rnti }| {
            let slice = if *dl_id == NO_SLICE { *ul_id } else { *dl_id };
            format!("UE rnti-{rnti} to slice {slice}")
        })),
    }
}

#[cfg(all(test, feature = "all"))]
mod tests {
    use super::*;
    use crate::common::{GnbCuUeF1apId, NrCgi, PlmnIdentity, SNssai, Sst, UeIdGnbDu};
    use crate::rc::{Control, ControlAction, Drx, Handover, Revision as RcRevision, SlicePrbQuota};

    fn ue() -> UeId<'static> {
        UeId::GnbDu(UeIdGnbDu { gnb_cu_ue_f1ap_id: GnbCuUeF1apId(7), ran_ueid: None, cell_rnti: None })
    }

    fn rc() -> FunctionSummary {
        FunctionSummary { name: "RC v3.00".to_owned(), model: Model::Rc(RcRevision::V3_00, Wire::Per) }
    }

    #[test]
    fn controls_of_rc_are_said_in_the_words_of_the_field() {
        let plmn = PlmnIdentity::from_codes(1, 1, 2);
        let cell = Cgi::NrCgi(NrCgi::new(plmn, 0x38001));
        let slice = SNssai { sst: Sst([2]), sd: None };
        for (control, phrase) in [
            (Control::of_ue(ue(), ControlAction::Handover(Handover::to(cell))), "UE f1ap:7 to cell nr-00101-38001"),
            (Control::of_ue(ue(), ControlAction::Drx(Drx::long(320))), "UE f1ap:7: DRX cycle of 320 ms"),
            (
                Control::of_cell(ControlAction::SlicePrbQuota(SlicePrbQuota::of_slice(plmn, slice, 20, 70))),
                "slice 2: 20 to 70 % of the PRBs",
            ),
        ] {
            let (header, message) = control.encode(RcRevision::V3_00).unwrap();
            assert_eq!(rc().control(&header, &message).as_deref(), Some(phrase));
        }
        assert_eq!(rc().control(&[0xff], &[0xff]), None);
        assert_eq!(rc().control(&[0; MAX_OCTETS + 1], &[]), None, "too long to decode for a line");
    }

    #[test]
    fn subscription_to_kpm_names_measurements_ues_and_period() {
        use crate::common::{RanFunctionName, RicFormatType, RicStyleName, RicStyleType};
        use crate::kpm::{
            EveryUe, MeasurementInfoActionItem, MeasurementRequest, MeasurementTypeName, RanFunctionDefinition,
            ReportRequest, Revision, RicReportStyleItem, Scope,
        };
        use per::PrintableString;
        const NAMES: [&str; 6] = ["DRB.UEThpDl", "DRB.UEThpUl", "RRU.PrbTotDl", "RRU.PrbTotUl", "CQI", "X.Y"];
        let item = |name: &&'static str| MeasurementInfoActionItem {
            meas_name: MeasurementTypeName(PrintableString::literal(name)),
            meas_id: None,
            bin_range_def: None,
        };
        let style = |format| RicReportStyleItem {
            ric_report_style_type: RicStyleType(format),
            ric_report_style_name: RicStyleName(PrintableString::literal("style")),
            ric_action_format_type: RicFormatType(format),
            meas_info_action_list: NAMES.iter().map(item).collect(),
            ric_indication_header_format_type: RicFormatType(1),
            ric_indication_message_format_type: RicFormatType(1),
        };
        let definition = RanFunctionDefinition {
            ran_function_name: RanFunctionName {
                short_name: PrintableString::literal("ORAN-E2SM-KPM"),
                e2sm_oid: PrintableString::literal(crate::kpm::OID_V3),
                description: PrintableString::literal("KPM"),
                instance: None,
            },
            ric_event_trigger_style_list: None,
            ric_report_style_list: Some([1, 2, 4].into_iter().map(style).collect()),
        };
        let ues = [ue()];
        let slice = SNssai { sst: Sst([3]), sd: None };
        for (scope, names, phrase) in [
            (Scope::Ues(&ues), &NAMES[..1], "DRB.UEThpDl of UE f1ap:7 every 500 ms"),
            (Scope::EveryUe(EveryUe::AnySignal), &NAMES[..2], "DRB.UEThpDl, DRB.UEThpUl of each UE every 500 ms"),
            (Scope::EveryUe(EveryUe::InSlice(slice)), &NAMES[..1], "DRB.UEThpDl of each UE of slice 3 every 500 ms"),
            (
                Scope::Node,
                &NAMES[..],
                "DRB.UEThpDl, DRB.UEThpUl, RRU.PrbTotDl, RRU.PrbTotUl and 2 more of the node every 500 ms",
            ),
        ] {
            let measurements: Vec<_> = names.iter().copied().map(MeasurementRequest::named).collect();
            let (granularity_period_ms, reporting_period_ms) = (500, 500);
            let request =
                ReportRequest { measurements: &measurements, granularity_period_ms, reporting_period_ms, scope };
            let plan = request.plan(&definition, Revision::V3_00).unwrap();
            let (mut trigger, mut action) = (Vec::new(), Vec::new());
            plan.trigger.encode(Revision::V3_00, &mut trigger).unwrap();
            plan.action.encode(Revision::V3_00, &mut action).unwrap();
            let summary = FunctionSummary::of_kpm(Revision::V3_00, Wire::Per);
            assert_eq!(summary.name(), "KPM v3.00");
            assert_eq!(summary.subscription(&trigger, [Some(&action[..])]).as_deref(), Some(phrase));
            assert_eq!(summary.subscription(&trigger[..1], [Some(&action[..])]), None);
        }
    }

    #[test]
    fn associations_of_ues_name_the_slice() {
        use crate::slice::{ControlMessage, UeSlices};
        let wire = Wire::Plain;
        let message = ControlMessage::Associate(vec![UeSlices { dl_id: 2, ul_id: 2, rnti: 17 }].into());
        let mut octets = Vec::new();
        message.encode(wire, &mut octets).unwrap();
        let summary = FunctionSummary { name: "SLICE".to_owned(), model: Model::Slice(wire) };
        assert_eq!(summary.control(&[], &octets).as_deref(), Some("UE rnti-17 to slice 2"));
        let mut trigger = Vec::new();
        crate::flexric::EventTriggerDefinition { period_ms: 10 }.encode(wire, &mut trigger).unwrap();
        assert_eq!(summary.subscription(&trigger, []).as_deref(), Some("SLICE statistics every 10 ms"));
    }
}
