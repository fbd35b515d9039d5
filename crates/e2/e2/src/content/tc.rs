//! TC: the part of traffic control that a control changes.

use e2sm::Wire;
use e2sm::tc::{
    ClassifierControl, ControlMessage, DeleteFilter, ModifyFilter, PolicerControl, QueueControl, ShaperControl,
};

use super::{Amount, ControlContent, Setting, Unreadable, Visit};

const RATE: &str = "kbit/s";

pub(super) fn walk(
    wire: Wire,
    header: &[u8],
    message: &[u8],
    visit: Visit<'_>,
) -> Result<Option<ControlContent>, Unreadable> {
    let mut message = ControlMessage::decode_owned(message, wire)?;
    let mut setting = |parameter: &str, scope: Option<(&str, u32)>, rate_kbps: Option<u32>| {
        let scope = scope.map_or_else(String::new, |(what, id)| format!("{what} {id}"));
        let amount = rate_kbps.map(|rate| Amount { number: f64::from(rate), unit: RATE });
        // saturates
        visit(Setting::new(format!("tc/{parameter}"), scope, amount)).map(|rate| rate.round() as u32)
    };
    let mut is_changed = false;
    let mut change = |rate: &mut u32, other: Option<u32>| {
        if let Some(other) = other {
            *rate = other;
            is_changed = true;
        }
    };
    match &mut message {
        ControlMessage::Classifier(control) => {
            let filter = match control {
                ClassifierControl::Delete(DeleteFilter::Osi(id)) => Some(*id),
                ClassifierControl::Modify(ModifyFilter::Osi(filter)) => Some(filter.id),
                _ => None,
            };
            setting("classifier", filter.map(|id| ("filter", id)), None);
        }
        ControlMessage::Queue(control) => {
            let queue = match control {
                QueueControl::Delete(queue) => Some(queue.id),
                QueueControl::Modify(queue) => Some(queue.id),
                QueueControl::Add(_) => None,
            };
            setting("queue", queue.map(|id| ("queue", id)), None);
        }
        ControlMessage::Policer(PolicerControl::Modify(policer)) => {
            let other = setting("policer", Some(("queue", policer.id)), Some(policer.drop_rate_kbps));
            change(&mut policer.drop_rate_kbps, other);
        }
        ControlMessage::Policer(PolicerControl::Delete(id)) => drop(setting("policer", Some(("queue", *id)), None)),
        ControlMessage::Policer(PolicerControl::Add) => drop(setting("policer", None, None)),
        ControlMessage::Shaper(ShaperControl::Modify(shaper)) => {
            let other = setting("shaper", Some(("queue", shaper.id)), Some(shaper.max_rate_kbps));
            change(&mut shaper.max_rate_kbps, other);
        }
        ControlMessage::Shaper(ShaperControl::Delete(id)) => drop(setting("shaper", Some(("queue", *id)), None)),
        ControlMessage::Shaper(ShaperControl::Add) => drop(setting("shaper", None, None)),
        ControlMessage::Scheduler(_) => drop(setting("scheduler", None, None)),
        ControlMessage::Pacer(_) => drop(setting("pacer", None, None)),
    }
    if !is_changed {
        return Ok(None);
    }
    let mut out = Vec::new();
    message.encode(wire, &mut out)?;
    Ok(Some((header.to_vec(), out)))
}
