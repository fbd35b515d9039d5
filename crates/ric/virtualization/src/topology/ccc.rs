//! CCC of a base station with several parts: one function with the configuration structures of all of them.
//!
//! | | goes to |
//! |---|---|
//! | a structure of the node, or of a cell, that one part offers | that part |
//! | a structure that several parts offer | each of them |
//! | a structure of every cell | each part that offers it in a cell |
//!
//! The reports of a period are one report. A report on change is that of the part that has seen the change, so an action whose
//! structures are those of a part without structures in the event trigger is refused. For controls see [`control`].

mod control;
mod offer;
mod plan;

use std::collections::BTreeSet;

use e2sm::Arena;
use e2sm::ccc::{IndicationMessage, IndicationMessageFormat};
use ferric::e2::{NodeId, SubscriptionSpec};
use ferric::e2ap::{Cause, RanFunctionId, RicActionId};
use tracing::warn;

use super::exposed::Station;
use super::merged::{Divided, DividedAction, Env, Merged, MergedModel, PartRequest};
use super::offers::Ranked;
use super::periods::{Collector, Pending};
pub(super) use control::{Composition, DividedControl, divide as divide_control};
pub(super) use offer::CccParts;
use plan::Split;

/// The maximum number of reports of an action that wait for the answers of all parts to the subscription.
const MAX_HELD: usize = 64;

/// The service model.
pub(super) struct Ccc;

/// A divided action and the reports of its period.
#[derive(Debug)]
pub(super) struct MergedAction {
    split: Split,
    /// `None` for a report that cannot be decoded.
    collector: Collector<Option<IndicationMessageFormat>>,
    /// The headers and messages of reports before the subscription is answered.
    held: Vec<(Vec<u8>, Vec<u8>)>,
}

impl DividedAction for MergedAction {
    fn id(&self) -> RicActionId {
        self.split.id
    }

    fn parts(&self) -> impl Iterator<Item = Ranked> + Clone {
        self.split.parts.iter().map(|part| part.part)
    }

    fn request(&self, part: Ranked) -> Option<PartRequest> {
        let of_part = self.split.parts.iter().find(|of| of.part == part)?;
        Some(PartRequest { event_trigger: of_part.event_trigger.clone(), definition: of_part.definition.clone() })
    }

    fn has_conditions(&self, _: Ranked) -> bool {
        false
    }

    fn renew(&mut self, again: Self) {
        self.split = again.split;
    }
}

impl MergedModel for Ccc {
    type Action = MergedAction;

    fn target(station: &Station, part: Ranked) -> Option<(NodeId, RanFunctionId)> {
        station.ccc.target(part)
    }

    fn divide(
        station: usize,
        spec: &SubscriptionSpec,
        _: &BTreeSet<Ranked>,
        env: &Env<'_, '_>,
    ) -> Result<Divided<MergedAction>, Cause> {
        let parts = &env.stations[station].ccc;
        let trigger = plan::trigger(parts, &spec.event_trigger)?;
        Divided::of(spec, |action| {
            let split = plan::split(parts, &trigger, action)?;
            Ok(MergedAction { split, collector: Collector::default(), held: Vec::new() })
        })
    }

    fn report(
        of: &mut Merged<MergedAction>,
        (part, node, at): (Ranked, NodeId, usize),
        (header, message): (&[u8], &[u8]),
        _: &Arena,
        env: &mut Env<'_, '_>,
    ) {
        let action = &mut of.actions[at];
        if !action.split.is_periodic {
            return send(of, at, header, message, env);
        }
        let report = match IndicationMessage::decode(message) {
            Ok(message) => Some(message.format),
            Err(error) => {
                if env.ric.allows_line(node) {
                    let station = &env.stations[of.station].config;
                    warn!(%station, part = ?part.1, "cannot decode a report of configuration structures: {error}");
                }
                None
            }
        };
        let parts = action.split.parts.iter().map(|part| part.part);
        if let Some(before) = action.collector.add(parts, part, header, report) {
            send_merged(of, at, before, env);
        }
    }

    fn progress(of: &mut Merged<MergedAction>, at: usize, env: &mut Env<'_, '_>) {
        if !of.is_answered {
            return;
        }
        for (header, message) in std::mem::take(&mut of.actions[at].held) {
            send(of, at, &header, &message, env);
        }
        let mut collector = std::mem::take(&mut of.actions[at].collector);
        let complete = collector.take_complete(of.actions[at].parts(), |part| of.is_active(part));
        of.actions[at].collector = collector;
        if let Some(complete) = complete {
            send_merged(of, at, complete, env);
        }
    }
}

/// Sends a report once the subscription is answered.
fn send(of: &mut Merged<MergedAction>, at: usize, header: &[u8], message: &[u8], env: &mut Env<'_, '_>) {
    if of.is_answered {
        of.send(of.actions[at].split.id, header, message, env);
    } else if of.actions[at].held.len() < MAX_HELD {
        of.actions[at].held.push((header.to_vec(), message.to_vec()));
    } else {
        let station = &env.stations[of.station].config;
        warn!(%station, "a report of configuration structures is dropped: {MAX_HELD} wait for the answer of a part");
    }
}

/// Sends the report of a period.
fn send_merged(
    of: &mut Merged<MergedAction>,
    at: usize,
    pending: Pending<Option<IndicationMessageFormat>>,
    env: &mut Env<'_, '_>,
) {
    let Some((header, message)) = merged(pending) else { return };
    let mut octets = Vec::new();
    match message.encode(&mut octets) {
        Ok(()) => send(of, at, &header, &octets, env),
        Err(error) => {
            let station = &env.stations[of.station].config;
            warn!(%station, "cannot merge the configuration structures of the parts: {error}");
        }
    }
}

/// The header and the message of the reports of all parts; `None` if they contain nothing. Those of another level than the first one
/// are left out.
fn merged(pending: Pending<Option<IndicationMessageFormat>>) -> Option<(Vec<u8>, IndicationMessage)> {
    let (_, header) = pending.header?;
    let mut reports = pending.reports.into_values().flatten();
    let mut format = reports.next()?;
    for report in reports {
        match (&mut format, report) {
            (IndicationMessageFormat::NodeLevel(all), IndicationMessageFormat::NodeLevel(structures)) => {
                all.extend(structures);
            }
            (IndicationMessageFormat::CellLevel(all), IndicationMessageFormat::CellLevel(cells)) => {
                for cell in cells {
                    match all.iter_mut().find(|known| known.cell_global_id == cell.cell_global_id) {
                        Some(known) => known.structures.extend(cell.structures),
                        None => all.push(cell),
                    }
                }
            }
            _ => {}
        }
    }
    Some((header, IndicationMessage { format }))
}

#[cfg(test)]
mod tests;
