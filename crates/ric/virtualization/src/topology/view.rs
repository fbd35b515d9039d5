//! What a base station has of a function of one of its parts.

use e2sm::rc::{Control, ControlTarget};
use e2sm::{Arena, Error, RecordMap, Wire, gtp, pdcp, rc, rrc};
use ferric::agent::ControlFailure;
use ferric::e2::topology::{Part, UeName};
use ferric::e2::{ControlRequest, RanFunction};
use ferric::e2ap::{CauseRicRequest, GlobalE2NodeId};

use super::ues::SharedCu;
use crate::node::Offered;
use crate::rc::{check_ue_actions, control_definition, refusal, with_ue};
use crate::reports::Content;

/// What a base station has of a function.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum View {
    /// Everything.
    All,
    /// Everything; controls name UEs as the part does.
    Rc(rc::Detection),
    /// Of a CU of several base stations: controls of its UEs.
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
                let definition = control_definition(&detection, &function.definition).ok().flatten()?;
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
            // reports of RC are not offered
            View::OwnUes(_) => Ok(Content::Nothing),
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
            if request.call_process_id.is_some() {
                return refuse(CauseRicRequest::RicCallProcessIdInvalid, "no procedure is suspended");
            }
            if let Err(reason) = check_ue_actions(&control) {
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
