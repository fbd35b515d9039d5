//! SLICE: shares and rates of slices, their schedulers, and the association of UEs.

use std::sync::Arc;

use e2sm::Wire;
use e2sm::slice::{ControlMessage, DirectionSlices, NvsParameters, Parameters};
use per::List;

use super::{Amount, ControlContent, Setting, TargetUe, Unreadable, Visit};
use crate::topology::UeName;

const SHARE: &str = "share";
const RATE: &str = "Mbit/s";

pub(super) fn walk(
    wire: Wire,
    header: &[u8],
    message: &[u8],
    visit: Visit<'_>,
) -> Result<Option<ControlContent>, Unreadable> {
    let mut message = ControlMessage::decode_owned(message, wire)?;
    let mut is_changed = false;
    match &mut message {
        ControlMessage::AddOrModify(slices) => {
            is_changed |= direction("slice/dl", &mut slices.dl, visit);
            is_changed |= direction("slice/ul", &mut slices.ul, visit);
        }
        ControlMessage::Delete(ids) => {
            let all = ids.dl.iter().map(|id| ("slice/dl", id)).chain(ids.ul.iter().map(|id| ("slice/ul", id)));
            for (parameter, id) in all {
                visit(Setting::new(parameter.to_owned(), format!("slice {id}"), None));
            }
        }
        ControlMessage::Associate(ues) => {
            for ue in ues.iter() {
                let names = vec![UeName::Rnti { rnti: ue.rnti, cell: None }];
                let ue = Some(Arc::new(TargetUe { text: format!("rnti {}", ue.rnti), names, has_more_names: false }));
                let parameter = "slice/association".to_owned();
                visit(Setting { parameter, ue, scope: String::new(), amount: None });
            }
        }
    }
    if !is_changed {
        return Ok(None);
    }
    let mut out = Vec::new();
    message.encode(wire, &mut out)?;
    Ok(Some((header.to_vec(), out)))
}

/// Visits the slices of a direction. Returns whether one is changed.
fn direction(parameter: &str, slices: &mut DirectionSlices<'static>, visit: Visit<'_>) -> bool {
    if slices.slices.is_empty() {
        if !slices.scheduler.as_str().is_empty() {
            let parameter = format!("{parameter}/scheduler");
            visit(Setting::new(parameter, String::new(), None));
        }
        return false;
    }
    let mut all = slices.slices.to_vec();
    let mut is_changed = false;
    for slice in &mut all {
        let number = match &mut slice.parameters {
            Parameters::Nvs(NvsParameters::Capacity(share)) => Some((&mut share.reserved, SHARE)),
            Parameters::Nvs(NvsParameters::Rate(rate)) => Some((&mut rate.required_mbps, RATE)),
            _ => None,
        };
        let amount = number.as_ref().map(|(number, unit)| Amount { number: f64::from(**number), unit });
        let scope = format!("slice {}", slice.id);
        let other = visit(Setting::new(parameter.to_owned(), scope, amount));
        if let (Some((number, _)), Some(other)) = (number, other) {
            *number = other as f32;
            is_changed = true;
        }
    }
    slices.slices = List::from(all);
    is_changed
}
