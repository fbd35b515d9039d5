//! What a base station has of a function of one of its parts.

use e2sm::common::{Cgi, UeId};
use e2sm::rc::{Control, ControlTarget, IndicationMessage};
use e2sm::{Arena, Error, RecordMap, Wire, gtp, pdcp, rc, rrc};
use ferric::agent::ControlFailure;
use ferric::e2::topology::{Part, UeName};
use ferric::e2::{ControlRequest, RanFunction};
use ferric::e2ap::{CauseRicRequest, GlobalE2NodeId, RicActionId};

use super::ues::SharedCu;
use crate::node::{Offered, View as TenantView};
use crate::rc::{PendingInserts, check_ue_actions, refusal, ue_definition, with_ue};
use crate::reports::Content;

/// What a base station has of a function.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum View {
    /// Everything.
    All,
    /// Everything; controls name UEs as the part does.
    Rc(rc::Detection),
    /// The measurements of all parts.
    Kpm,
    /// The configuration structures of all parts.
    Ccc,
    /// Of a CU of several base stations: reports, inserts and controls of its UEs.
    OwnUes(rc::Detection),
    /// The events of its UEs.
    Events(Wire),
    /// The records of its UEs.
    Pdcp(Wire),
    Gtp(Wire),
}

impl View {
    /// What a base station has of a function of a part, and the definition of it; `None` if nothing.
    pub fn of(function: &RanFunction, part: Part, shares_cu: bool) -> Option<(View, Vec<u8>)> {
        let own = || function.definition.to_vec();
        let view = match (Offered::of(function), shares_cu && !matches!(part, Part::Du(_))) {
            (Some(Offered::Rc(detection)), false) => View::Rc(detection),
            (_, false) => View::All,
            (Some(Offered::Rc(detection)), true) => {
                let definition = ue_definition(&detection, &function.definition).ok().flatten()?;
                return Some((View::OwnUes(detection), definition));
            }
            (Some(Offered::Rrc(wire)), true) => View::Events(wire),
            (Some(Offered::Pdcp(wire)), true) => View::Pdcp(wire),
            (Some(Offered::Gtp(wire)), true) => View::Gtp(wire),
            // its content is that of all base stations
            (_, true) => return None,
        };
        Some((view, own()))
    }

    /// Writes what a base station receives of a report of its CU.
    ///
    /// # Errors
    /// The message cannot be decoded.
    pub fn filter(
        self,
        cu: &SharedCu,
        station: usize,
        (action, asked): (RicActionId, &TenantView),
        message: &[u8],
        (map, arena): (&mut RecordMap, &Arena),
        out: &mut Vec<u8>,
    ) -> Result<Content, Error> {
        let is_own = |rnti: u32| cu.owner_of_rnti(rnti) == Some(station);
        /// Keeps the records of own UEs.
        macro_rules! records {
            ($model:ident, $records:ident, $wire:ident) => {{
                if $model::IndicationMessage::find_records(message, $wire, map)? {
                    map.write(message, |at| is_own(map.records()[at].rnti), out);
                } else {
                    let mut report = $model::IndicationMessage::decode(message, $wire, arena)?;
                    report.$records = report.$records.iter().filter(|record| is_own(record.rnti)).cloned().collect();
                    report.encode($wire, out)?;
                }
                Ok(Content::Written)
            }};
        }
        match self {
            View::All | View::Rc(_) => Ok(Content::Unchanged),
            // merged elsewhere
            View::Kpm | View::Ccc => Ok(Content::Nothing),
            View::OwnUes(detection) => {
                let TenantView::Rc(asked) = asked else { return Ok(Content::Nothing) };
                let report = IndicationMessage::decode_in(message, detection.revision, detection.wire, arena)?;
                let has_ue = |ue_id: &UeId<'_>| cu.owner(ue_id) == Some(station);
                let has_cell = |cell: &Cgi| cu.station_of(cell) == Some(station);
                asked.part_of(&detection, action, &report, &has_ue, &has_cell, out)
            }
            View::Pdcp(wire) => records!(pdcp, bearers, wire),
            View::Gtp(wire) => records!(gtp, tunnels, wire),
            View::Events(wire) => {
                let report = rrc::IndicationMessage::decode(message, wire, arena)?;
                let notifications = cu.events_of(station, &report);
                if notifications.is_empty() {
                    return Ok(Content::Nothing);
                }
                rrc::IndicationMessage { notifications }.encode(wire, out)?;
                Ok(Content::Written)
            }
        }
    }

    /// Returns header and message of a control for the part that has the function: it names the UE as that part does.
    ///
    /// # Errors
    /// The cause with which the control is refused: a UE of another base station.
    pub fn control(
        self,
        request: &ControlRequest,
        part: &GlobalE2NodeId,
        cu: Option<&SharedCu>,
        station: usize,
        inserts: &PendingInserts,
    ) -> Result<(Vec<u8>, Vec<u8>), ControlFailure> {
        let unchanged = || (request.header.clone(), request.message.clone());
        let (View::Rc(detection) | View::OwnUes(detection)) = self else { return Ok(unchanged()) };
        let decoded = Control::decode_in(&request.header, &request.message, detection.revision, detection.wire);
        let refuse = |cause, reason: &str| Err(refusal(&detection, cause, reason));
        let control = match (decoded, self) {
            (Ok(control), _) => control,
            // the part says what is wrong
            (Err(_), View::Rc(_)) => return Ok(unchanged()),
            (Err(error), _) => return refuse(CauseRicRequest::ControlMessageInvalid, &error.to_string()),
        };
        if let View::OwnUes(_) = self {
            let process = request.call_process_id.as_ref();
            if process.is_some_and(|process| !inserts.has(process)) {
                let reason = "no procedure with this call process ID is suspended";
                return refuse(CauseRicRequest::RicCallProcessIdInvalid, reason);
            }
            if let Err(reason) = check_ue_actions(&control, process.is_some()) {
                return refuse(CauseRicRequest::ActionNotSupported, &reason);
            }
            let owner = match &control.target {
                ControlTarget::Ue(ue_id) => cu.and_then(|cu| cu.owner(ue_id)),
                _ => return refuse(CauseRicRequest::ActionNotSupported, "the control names no UE"),
            };
            if owner != Some(station) {
                return refuse(CauseRicRequest::ControlFailedToExecute, "there is no such UE");
            }
        }
        let ControlTarget::Ue(ue_id) = &control.target else { return Ok(unchanged()) };
        let names = UeName::all_of(ue_id).into_iter().collect();
        match UeName::to_ue_id(&names, part) {
            // of the same kind, it may have more parts
            Some(own) if std::mem::discriminant(&own) != std::mem::discriminant(ue_id) => {
                let header = with_ue(&request.header, &detection, &own);
                header
                    .map(|header| (header, request.message.clone()))
                    .map_err(|error| refusal(&detection, CauseRicRequest::ControlMessageInvalid, &error.to_string()))
            }
            _ => Ok(unchanged()),
        }
    }
}

#[cfg(test)]
mod tests {
    use e2sm::common::{
        AmfUeNgapId, Cgi, GnbCuUeF1apId, GnbCuUeF1apIdItem, Guami, NrCgi, RntiValue, SNssai, Sst, UeId, UeIdGnb,
        UeIdGnbDu,
    };
    use std::sync::Arc;

    use e2sm::rc::{
        ControlAction, Decision, Detection, Drx, Handover, IndicationMessageFormat3, IndicationMessageFormat3Item,
        IndicationMessageFormat4, IndicationMessageFormat4ItemCell, IndicationMessageFormat4ItemUe,
        IndicationMessageFormats, Revision, RrmPolicyMember, RrmPolicyRatio, SlicePrbQuota,
    };
    use e2sm::rrc::{Event, Notification};
    use ferric::e2ap::{Cause, GnbDuId, GnbId, RanFunctionId, RicRequestId};
    use per::{Bits, List};

    use super::*;
    use crate::testing::{A, ue_id};

    const CELL: NrCgi = NrCgi::new(A, 1);

    fn detection() -> Detection {
        Detection::configured(Revision::V3_00)
    }

    fn request(control: &Control) -> ControlRequest {
        let (header, message) = control.encode(Revision::V3_00).unwrap();
        ControlRequest {
            request_id: RicRequestId { requestor: 1, instance: 1 },
            ran_function_id: RanFunctionId(3),
            call_process_id: None,
            header,
            message,
        }
    }

    fn node(du: Option<i64>) -> GlobalE2NodeId {
        let mut id = GlobalE2NodeId::gnb(A, GnbId::new(1, 22));
        if let GlobalE2NodeId::Gnb(gnb) = &mut id {
            gnb.gnb_du_id = du.map(GnbDuId);
        }
        id
    }

    fn drx(ue_id: UeId<'static>) -> Control {
        Control::of_ue(ue_id, ControlAction::Drx(Drx::long(320)))
    }

    /// No insert waits for an answer.
    fn none() -> PendingInserts {
        PendingInserts::default()
    }

    /// UE 5 is in the cell of the first base station.
    fn cu() -> SharedCu {
        let mut cu = SharedCu::default();
        cu.cells.insert(CELL, 0);
        let attached = Notification {
            event: Event::Attached,
            ue_id: ue_id(5),
            rnti: RntiValue(70),
            cell: Cgi::NrCgi(CELL),
            plmn: A,
            s_nssais: Vec::new().into(),
            addresses: None,
        };
        cu.observe(&rrc::IndicationMessage { notifications: vec![attached].into() });
        cu
    }

    #[test]
    fn du_gets_the_name_that_it_has_for_a_ue() {
        let of_cu = UeId::Gnb(
            UeIdGnb {
                amf_ue_ngap_id: AmfUeNgapId(9),
                guami: Guami {
                    plmn_identity: A,
                    amf_region_id: Bits::new(1, 8),
                    amf_set_id: Bits::new(1, 10),
                    amf_pointer: Bits::new(1, 6),
                },
                gnb_cu_ue_f1ap_id_list: Some(List::from(vec![GnbCuUeF1apIdItem {
                    gnb_cu_ue_f1ap_id: GnbCuUeF1apId(44),
                }])),
                gnb_cu_cp_ue_e1ap_id_list: None,
                ran_ueid: None,
                m_ng_ran_ue_xnap_id: None,
                global_gnb_id: None,
                global_ng_ran_node_id: None,
                cell_rnti: None,
            }
            .into(),
        );
        let of_du = UeIdGnbDu { gnb_cu_ue_f1ap_id: GnbCuUeF1apId(44), ran_ueid: None, cell_rnti: None };
        let asked = request(&drx(of_cu));
        let view = View::Rc(detection());
        let (header, message) = view.control(&asked, &node(Some(1)), None, 0, &none()).unwrap();
        let passed = Control::decode(&header, &message, Revision::V3_00).unwrap();
        assert_eq!(passed, drx(UeId::GnbDu(of_du)));
        // the CU-CP gets the control as it is
        assert_eq!(view.control(&asked, &node(None), None, 0, &none()).unwrap(), (asked.header, asked.message));
    }

    #[test]
    fn controls_of_a_shared_cu_are_those_of_own_ues() {
        let (cu, view) = (cu(), View::OwnUes(detection()));
        let control = |control: &Control, station: usize| {
            view.control(&request(control), &node(None), Some(&cu), station, &none())
        };
        let handover = |number| Control::of_ue(ue_id(number), ControlAction::Handover(Handover::to(Cgi::NrCgi(CELL))));
        let asked = request(&handover(5));
        assert_eq!(control(&handover(5), 0).unwrap(), (asked.header, asked.message));
        let cause = |result: Result<_, ControlFailure>| result.map(drop).unwrap_err().cause;
        for (number, station) in [(5, 1), (6, 0)] {
            let refused = cause(control(&handover(number), station));
            assert_eq!(refused, Cause::RicRequest(CauseRicRequest::ControlFailedToExecute));
        }
        // of all UEs, though it names one
        let members = vec![RrmPolicyMember { plmn_identity: A, slice: SNssai { sst: Sst([1]), sd: None } }];
        let policy = RrmPolicyRatio { members, min_percent: Some(1), max_percent: None, dedicated_percent: None };
        let quota = ControlAction::SlicePrbQuota(SlicePrbQuota { policies: vec![policy] });
        let refused = cause(control(&Control::of_ue(ue_id(5), quota), 0));
        assert_eq!(refused, Cause::RicRequest(CauseRicRequest::ActionNotSupported));
        // the answer to an insert, which may be without parameters
        let answer = Control::answer(ue_id(5), ControlAction::HANDOVER, Decision::Reject);
        let answer = ControlRequest { call_process_id: Some(vec![1]), ..request(&answer) };
        let refused = cause(view.control(&answer, &node(None), Some(&cu), 0, &none()));
        assert_eq!(refused, Cause::RicRequest(CauseRicRequest::RicCallProcessIdInvalid));
        let mut inserts = none();
        inserts.add(&[1]);
        assert!(view.control(&answer, &node(None), Some(&cu), 0, &inserts).is_ok());
        let garbage = ControlRequest { header: vec![0xff; 9], ..request(&handover(5)) };
        let refused = cause(view.control(&garbage, &node(None), Some(&cu), 0, &none()));
        assert_eq!(refused, Cause::RicRequest(CauseRicRequest::ControlMessageInvalid));
    }

    /// UE 5 is one of the first base station, and cell 1.
    #[test]
    fn reports_of_a_shared_cu_are_those_of_own_ues_and_cells() {
        // later ones have no format 4
        const REVISION: Revision = Revision::V1_03;
        let (cu, arena) = (cu(), Arena::new());
        let received = |station: usize, formats: IndicationMessageFormats<'_>| {
            let (mut map, mut out, mut message) = (RecordMap::default(), Vec::new(), Vec::new());
            rc::IndicationMessage { formats }.encode(REVISION, &mut message).unwrap();
            let asked = (RicActionId(1), &TenantView::Rc(Arc::default()));
            let scratch = (&mut map, &arena);
            let content = View::OwnUes(Detection::configured(REVISION))
                .filter(&cu, station, asked, &message, scratch, &mut out)
                .unwrap();
            match content {
                Content::Unchanged => Some(message),
                Content::Written => Some(out),
                Content::Nothing => None,
            }
        };
        let cell = |number| Cgi::NrCgi(NrCgi::new(A, number));
        let of_ues = |numbers: &[u16]| {
            let item = |number: &u16| IndicationMessageFormat4ItemUe {
                ue_id: ue_id(*number),
                ue_context_info: None,
                cell_global_id: cell(1),
            };
            let of_cell = |number: &u64| IndicationMessageFormat4ItemCell {
                cell_global_id: cell(*number),
                cell_context_info: None,
                neighbor_relation_table: None,
            };
            let cells: &[u64] = if numbers.len() > 1 { &[1, 2] } else { &[1] };
            IndicationMessageFormats::Format4(IndicationMessageFormat4 {
                ue_info_list: numbers.iter().map(item).collect(),
                cell_info_list: cells.iter().map(of_cell).collect(),
            })
        };
        let encoded = |formats| {
            let mut message = Vec::new();
            rc::IndicationMessage { formats }.encode(REVISION, &mut message).unwrap();
            Some(message)
        };
        assert_eq!(received(0, of_ues(&[5, 6])), encoded(of_ues(&[5])));
        let of_cells = |numbers: &[u64]| {
            let item = |number: &u64| IndicationMessageFormat3Item {
                cell_global_id: cell(*number),
                cell_context_info: None,
                cell_deleted: None,
                neighbor_relation_table: None,
            };
            let cell_info_list = numbers.iter().map(item).collect();
            IndicationMessageFormats::Format3(IndicationMessageFormat3 { cell_info_list })
        };
        assert_eq!(received(0, of_cells(&[1, 2])), encoded(of_cells(&[1])));
        assert_eq!(received(1, of_cells(&[1, 2])), None);
    }

    #[test]
    fn report_that_cannot_be_decoded_is_for_no_base_station() {
        let (mut map, arena, mut out) = (RecordMap::default(), Arena::new(), Vec::new());
        let asked = (RicActionId(1), &TenantView::Rc(Arc::default()));
        for view in [View::Pdcp(Wire::Per), View::Gtp(Wire::Plain), View::Events(Wire::Per), View::OwnUes(detection())]
        {
            assert!(view.filter(&cu(), 0, asked, &[0xff, 3], (&mut map, &arena), &mut out).is_err(), "{view:?}");
        }
    }
}
