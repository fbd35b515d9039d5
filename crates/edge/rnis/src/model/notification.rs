//! Notifications (MEC 012 6.4). What links one to its subscription is written by the delivery, once for each subscription.

use serde::Serialize;

use super::query::{BearerTunnel, ErabQosParameters, TunnelEnd};
use super::shared::{AssociateIdBody, Ecgi, Nrcgi, TimeStamp};
use crate::event::{CellMeasurement, Change, Event, NrCellMeasurement, Quantities};
use crate::identity::{Cell, Plmn, TempUeId};

/// A notification of an event: what all types have, and what its type has.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct OfEvent<T> {
    notification_type: &'static str,
    time_stamp: TimeStamp,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    associate_id: Vec<AssociateIdBody>,
    #[serde(flatten)]
    body: T,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct CellChange<'e> {
    src_ecgi: Ecgi,
    trg_ecgi: Vec<Ecgi>,
    ho_status: u8,
    #[serde(skip_serializing_if = "Option::is_none")]
    temp_ue_id: Option<&'e TempUeId>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Rab<'e> {
    ecgi: Ecgi,
    erab_id: u8,
    #[serde(skip_serializing_if = "Option::is_none")]
    erab_qos_parameters: Option<ErabQosParameters>,
    #[serde(skip_serializing_if = "Option::is_none")]
    temp_ue_id: Option<&'e TempUeId>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct RabRelease {
    ecgi: Ecgi,
    erab_release_info: ErabReleaseInfo,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ErabReleaseInfo {
    erab_id: u8,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct MeasRepUe {
    ecgi: Ecgi,
    rsrp: u8,
    rsrq: u8,
    #[serde(skip_serializing_if = "Option::is_none")]
    sinr: Option<u8>,
    trigger: u8,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    eutran_neighbour_cell_meas_info: Vec<EutraCell>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    new_radio_meas_nei_info: Vec<NewRadioMeasNeiInfo>,
}

/// A neighbour of E-UTRA.
#[derive(Serialize)]
struct EutraCell {
    ecgi: Ecgi,
    #[serde(flatten)]
    quantities: Quantities,
}

impl From<&CellMeasurement> for EutraCell {
    fn from(measured: &CellMeasurement) -> Self {
        EutraCell { ecgi: measured.cell.into(), quantities: measured.quantities }
    }
}

/// A neighbour of NR that a UE of E-UTRA measures.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct NewRadioMeasNeiInfo {
    nr_n_cell_info: [NrNCellInfo; 1],
    #[serde(skip_serializing_if = "Option::is_none")]
    nr_n_cell_rsrp: Option<u8>,
    #[serde(skip_serializing_if = "Option::is_none")]
    nr_n_cell_rsrq: Option<u8>,
}

#[derive(Serialize)]
struct NrNCellInfo {
    #[serde(rename = "nrNCellPlmn")]
    plmn: [Plmn; 1],
    #[serde(rename = "nrNCellGId")]
    cell: String,
}

impl From<&NrCellMeasurement> for NewRadioMeasNeiInfo {
    fn from(measured: &NrCellMeasurement) -> Self {
        let NrCellMeasurement { cell, quantities } = measured;
        NewRadioMeasNeiInfo {
            nr_n_cell_info: [NrNCellInfo { plmn: [cell.plmn().into()], cell: cell.digits() }],
            nr_n_cell_rsrp: quantities.rsrp,
            nr_n_cell_rsrq: quantities.rsrq,
        }
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct NrMeasRepUe {
    trigger_nr: u8,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    serv_cell_meas_info: Vec<ServCellMeasInfo>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    nr_neigh_cell_meas_info: Vec<NrNeighCellMeasInfo>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    eutra_neigh_cell_meas_info: Vec<EutraCell>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ServCellMeasInfo {
    nrcgi: Nrcgi,
    s_cell: Ssb,
}

/// What is measured by the SSBs of a cell.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Ssb {
    meas_quantity_results_ssb_cell: Quantities,
}

#[derive(Serialize)]
struct NrNeighCellMeasInfo {
    nrcgi: Nrcgi,
    #[serde(flatten)]
    ssb: Ssb,
}

fn ssb(measured: &NrCellMeasurement) -> Ssb {
    Ssb { meas_quantity_results_ssb_cell: measured.quantities }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct MeasTa {
    ecgi: Ecgi,
    timing_advance: u32,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct CaReconf {
    ecgi: Ecgi,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    secondary_cell_add: Vec<SecondaryCell>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    secondary_cell_remove: Vec<SecondaryCell>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    carrier_aggregation_meas_info: Vec<CarrierAggregationMeasInfo>,
}

#[derive(Serialize)]
struct SecondaryCell {
    ecgi: Ecgi,
}

fn secondary_cells(cells: &[Cell]) -> Vec<SecondaryCell> {
    cells.iter().map(|cell| SecondaryCell { ecgi: (*cell).into() }).collect()
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct CarrierAggregationMeasInfo {
    cell_id_srv: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    rsrp_srv: Option<u8>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rsrq_srv: Option<u8>,
    cell_id_nei: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    rsrp_nei: Option<u8>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rsrq_nei: Option<u8>,
}

impl CarrierAggregationMeasInfo {
    fn new(serving: &CellMeasurement, neighbour: &CellMeasurement) -> Self {
        CarrierAggregationMeasInfo {
            cell_id_srv: serving.cell.digits(),
            rsrp_srv: serving.quantities.rsrp,
            rsrq_srv: serving.quantities.rsrq,
            cell_id_nei: neighbour.cell.digits(),
            rsrp_nei: neighbour.quantities.rsrp,
            rsrq_nei: neighbour.quantities.rsrq,
        }
    }
}

/// A notification of bearers towards the core: the identities of the UE are inside.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct S1Bearer<'e> {
    s1_event: u8,
    s1_ue_info: S1UeInfo<'e>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct S1UeInfo<'e> {
    #[serde(skip_serializing_if = "Option::is_none")]
    temp_ue_id: Option<&'e TempUeId>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    associate_id: Vec<AssociateIdBody>,
    ecgi: [Ecgi; 1],
    s1_bearer_info: Vec<BearerTunnel>,
}

/// The JSON of an event's notification without the brace that ends it: the link of a subscription follows.
#[must_use]
pub fn notification(event: &Event) -> String {
    let (ecgi, temp_ue_id) = (Ecgi::from(event.cell), event.ue.temporary.as_ref());
    match &event.change {
        Change::CellChange { targets, status } => {
            let trg_ecgi = targets.iter().map(|cell| (*cell).into()).collect();
            let body = CellChange { src_ecgi: ecgi, trg_ecgi, ho_status: *status as u8, temp_ue_id };
            of_ue("CellChangeNotification", event, body)
        }
        Change::BearerEstablished(bearer) => {
            let erab_qos_parameters = bearer.qos.map(Into::into);
            of_ue("RabEstNotification", event, Rab { ecgi, erab_id: bearer.erab_id, erab_qos_parameters, temp_ue_id })
        }
        Change::BearerModified(bearer) => {
            let erab_qos_parameters = bearer.qos.map(Into::into);
            // this type has no temporary identity
            let body = Rab { ecgi, erab_id: bearer.erab_id, erab_qos_parameters, temp_ue_id: None };
            of_ue("RabModNotification", event, body)
        }
        Change::BearerReleased(bearer) => {
            let erab_release_info = ErabReleaseInfo { erab_id: bearer.erab_id };
            of_ue("RabRelNotification", event, RabRelease { ecgi, erab_release_info })
        }
        Change::Measured { trigger, serving, neighbours, nr_neighbours } => {
            let body = MeasRepUe {
                ecgi,
                // TS 36.331 6.3.5: a report has both of the primary cell
                rsrp: serving.rsrp.unwrap_or_default(),
                rsrq: serving.rsrq.unwrap_or_default(),
                sinr: serving.sinr,
                trigger: *trigger,
                eutran_neighbour_cell_meas_info: neighbours.iter().map(Into::into).collect(),
                new_radio_meas_nei_info: nr_neighbours.iter().map(Into::into).collect(),
            };
            of_ue("MeasRepUeNotification", event, body)
        }
        Change::NrMeasured { trigger, serving, neighbours, eutra_neighbours } => {
            let serving = serving.iter().map(|cell| ServCellMeasInfo { nrcgi: cell.cell.into(), s_cell: ssb(cell) });
            let neighbours =
                neighbours.iter().map(|cell| NrNeighCellMeasInfo { nrcgi: cell.cell.into(), ssb: ssb(cell) });
            let body = NrMeasRepUe {
                trigger_nr: *trigger,
                serv_cell_meas_info: serving.collect(),
                nr_neigh_cell_meas_info: neighbours.collect(),
                eutra_neigh_cell_meas_info: eutra_neighbours.iter().map(Into::into).collect(),
            };
            of_ue("NrMeasRepUeNotification", event, body)
        }
        Change::TimingAdvance { value } => of_ue("MeasTaNotification", event, MeasTa { ecgi, timing_advance: *value }),
        Change::CarrierAggregation { added, removed, measured } => {
            // the neighbour's identity is mandatory
            let pairs = measured.iter().filter_map(|(serving, neighbour)| Some((serving, neighbour.as_ref()?)));
            let body = CaReconf {
                ecgi,
                secondary_cell_add: secondary_cells(added),
                secondary_cell_remove: secondary_cells(removed),
                carrier_aggregation_meas_info: pairs
                    .map(|(serving, neighbour)| CarrierAggregationMeasInfo::new(serving, neighbour))
                    .collect(),
            };
            of_ue("CaReconfNotification", event, body)
        }
        Change::S1Bearer { event: s1_event, bearers } => {
            let s1_bearer_info = bearers.iter().map(|bearer| BearerTunnel {
                erab_id: bearer.erab_id,
                enb_info: TunnelEnd::from(&bearer.base_station),
                s_gw_info: TunnelEnd::from(&bearer.gateway),
            });
            let s1_ue_info = S1UeInfo {
                temp_ue_id,
                associate_id: associate_ids(event),
                ecgi: [ecgi],
                s1_bearer_info: s1_bearer_info.collect(),
            };
            let body = S1Bearer { s1_event: *s1_event as u8, s1_ue_info };
            open(&OfEvent {
                notification_type: "S1BearerNotification",
                time_stamp: TimeStamp::from_nanos(event.received_ns),
                associate_id: Vec::new(),
                body,
            })
        }
    }
}

fn associate_ids(event: &Event) -> Vec<AssociateIdBody> {
    event.ue.associate_ids.iter().map(Into::into).collect()
}

fn of_ue(notification_type: &'static str, event: &Event, body: impl Serialize) -> String {
    let time_stamp = TimeStamp::from_nanos(event.received_ns);
    open(&OfEvent { notification_type, time_stamp, associate_id: associate_ids(event), body })
}

/// JSON without the brace that ends it.
fn open(notification: &impl Serialize) -> String {
    let text = serde_json::to_string(notification);
    let mut text = text.unwrap_or_else(|error| panic!("notifications are structs of numbers and texts: {error}"));
    text.pop();
    text
}

/// The notification that a subscription is about to expire (6.4.9), without the brace that ends it.
#[must_use]
pub fn expiry(deadline: TimeStamp) -> String {
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct Expiry {
        notification_type: &'static str,
        time_stamp: TimeStamp,
        expiry_deadline: TimeStamp,
    }
    open(&Expiry { notification_type: "ExpiryNotification", time_stamp: TimeStamp::now(), expiry_deadline: deadline })
}

/// The test notification (6.4.12), without the brace that ends it.
#[must_use]
pub fn test() -> String {
    r#"{"notificationType":"TestNotification""#.to_owned()
}
