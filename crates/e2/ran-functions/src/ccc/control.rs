//! Setting structures, each as a whole or not at all.

use std::borrow::Cow;

use e2sm::ccc::{
    Cause, CellOutcome, ControlHeader, ControlMessage, ControlMessageFormat, ControlOutcome, ControlOutcomeFormat,
    RanConfigurationStructure, StructureAccepted, StructureControlled, StructureFailed, TimeStamp,
};
use ferric::agent::{ControlFailure, ControllerId};
use ferric::e2::{ControlRequest, Time};
use ferric::e2ap::{self, CauseProtocol, CauseRicRequest};
use tracing::{debug, info};

use super::{CccSource, ConfigLevel, ConfigScope, Refusal, SupportedStructure};

const SYNTAX: e2ap::Cause = e2ap::Cause::Protocol(CauseProtocol::TransferSyntaxError);
const INVALID: e2ap::Cause = e2ap::Cause::RicRequest(CauseRicRequest::ControlMessageInvalid);
const FAILED: e2ap::Cause = e2ap::Cause::RicRequest(CauseRicRequest::ControlFailedToExecute);

/// Carries a control out. It is a failure where nothing of it could be set; the outcome says what was and what was not.
pub(super) fn carry_out<S: CccSource>(
    source: &mut S,
    now: Time,
    origin: ControllerId,
    request: &ControlRequest,
    received: TimeStamp,
) -> Result<Vec<u8>, ControlFailure> {
    let unreadable = |error| {
        info!(%error, "a control cannot be read");
        ControlFailure::from(SYNTAX)
    };
    let header = ControlHeader::decode(&request.header).map_err(unreadable)?;
    let message = ControlMessage::decode(&request.message).map_err(unreadable)?;
    let level = match &message.format {
        ControlMessageFormat::NodeLevel(_) => ConfigLevel::Node,
        ControlMessageFormat::CellLevel(_) => ConfigLevel::Cell,
    };
    if header.format.ric_style_type != level.number() {
        info!(style = header.format.ric_style_type, ?level, "a control's style does not go with its message");
        return Err(INVALID.into());
    }
    let mut work = Work { source, now, origin, received, set: 0 };
    let format = match &message.format {
        ControlMessageFormat::NodeLevel(structures) => {
            let (accepted, failed) = work.all(ConfigScope::Node, structures);
            ControlOutcomeFormat::NodeLevel { received_timestamp: Some(received), accepted, failed }
        }
        ControlMessageFormat::CellLevel(cells) => {
            let cells = cells.iter().map(|cell| {
                let (accepted, failed) = work.all(ConfigScope::Cell(cell.cell_global_id), &cell.structures);
                CellOutcome { cell_global_id: cell.cell_global_id, accepted, failed }
            });
            let cells = cells.collect();
            ControlOutcomeFormat::CellLevel { received_timestamp: Some(received), cells }
        }
    };
    let mut outcome = Vec::new();
    let encoded = ControlOutcome { format }.encode(&mut outcome);
    if work.set == 0 {
        return Err(ControlFailure { cause: FAILED, outcome: encoded.is_ok().then_some(outcome) });
    }
    if let Err(error) = encoded {
        // what was set is set: better no outcome than a false one
        debug!(%error, "an outcome cannot be told: the source's values break a bound");
        outcome.clear();
    }
    Ok(outcome)
}

struct Work<'s, S> {
    source: &'s mut S,
    now: Time,
    origin: ControllerId,
    received: TimeStamp,
    /// Structures that were set.
    set: usize,
}

/// What came of a list of structures, both halves left out where empty.
type Outcomes = (Option<Vec<StructureAccepted>>, Option<Vec<StructureFailed>>);

impl<S: CccSource> Work<'_, S> {
    fn all(&mut self, place: ConfigScope, structures: &[StructureControlled]) -> Outcomes {
        let (mut accepted, mut failed) = (Vec::new(), Vec::new());
        for structure in structures {
            match self.one(place, structure) {
                Ok(outcome) => accepted.push(outcome),
                Err(outcome) => failed.push(*outcome),
            }
        }
        self.set += accepted.len();
        (Some(accepted).filter(|list| !list.is_empty()), Some(failed).filter(|list| !list.is_empty()))
    }

    fn one(
        &mut self,
        place: ConfigScope,
        wanted: &StructureControlled,
    ) -> Result<StructureAccepted, Box<StructureFailed>> {
        let name = wanted.new_values.name();
        let requested = wanted.new_values.attributes();
        let mut current = None;
        let written = self.check(place, wanted).and_then(|found| {
            current = found;
            self.source.write(self.now, self.origin, place, current.as_ref(), &wanted.new_values)
        });
        let of_requested = |structure: &RanConfigurationStructure| structure.only(|name| requested.contains_key(name));
        let nothing = || wanted.new_values.only(|_| false);
        let old_values = current.as_ref().map_or_else(nothing, of_requested);
        match written {
            Ok(()) => {
                let all = self.source.read(place, name);
                // what was just set is so, by the source's own word; its other attributes may have followed
                let current = all.iter().find(|structure| structure.agrees_with(&wanted.new_values));
                let current_values = current.map_or_else(|| wanted.new_values.clone(), of_requested);
                Ok(StructureAccepted { old_values, current_values, applied_timestamp: Some(self.received) })
            }
            Err(Refusal { cause, attributes, reason }) => {
                let attributes = if attributes.is_empty() { requested.keys().cloned().collect() } else { attributes };
                info!(structure = name, ?attributes, ?cause, %reason, "a control is refused");
                let requested_values =
                    wanted.new_values.only(|name| attributes.iter().any(|at_fault| at_fault == name));
                Err(Box::new(StructureFailed { old_values, requested_values, cause }))
            }
        }
    }

    /// The structure to change, if it is not a further one.
    fn check(
        &self,
        place: ConfigScope,
        wanted: &StructureControlled,
    ) -> Result<Option<RanConfigurationStructure>, Refusal> {
        let refuse = |cause, attributes: Vec<String>, reason: &'static str| {
            Err(Refusal { cause, attributes, reason: Cow::Borrowed(reason) })
        };
        let level = match place {
            ConfigScope::Node => ConfigLevel::Node,
            ConfigScope::Cell(_) => ConfigLevel::Cell,
        };
        if matches!(place, ConfigScope::Cell(cell) if !self.source.cells().contains(&cell)) {
            return refuse(Cause::NotAvailable, Vec::new(), "no such cell");
        }
        let name = wanted.new_values.name();
        let Some(offer) = self.source.structures().iter().find(|offer| offer.level == level && offer.name == name)
        else {
            return refuse(Cause::NotSupported, Vec::new(), "no such structure");
        };
        let requested = wanted.new_values.attributes();
        if requested.is_empty() {
            return refuse(Cause::SemanticError, Vec::new(), "nothing is to be set");
        }
        let is_writable = |name: &String| offer.attributes.iter().any(|known| known.name == name && known.writable);
        let others: Vec<String> = requested.keys().filter(|name| !is_writable(name)).cloned().collect();
        if !others.is_empty() {
            return refuse(Cause::NotSupported, others, "not an attribute that can be set");
        }
        self.which(place, offer, wanted)
    }

    /// Finds the structure that the control means: that which its old values describe, or the key of its new ones.
    fn which(
        &self,
        place: ConfigScope,
        offer: &SupportedStructure,
        wanted: &StructureControlled,
    ) -> Result<Option<RanConfigurationStructure>, Refusal> {
        let all = self.source.read(place, offer.name);
        let is_key = |name: &str| offer.key.contains(&name);
        let described = &wanted.old_values;
        if described.attributes().is_empty() {
            let key = wanted.new_values.only(is_key);
            return match &all[..] {
                [only] if offer.key.is_empty() => Ok(Some(only.clone())),
                _ if offer.key.is_empty() || key.attributes().is_empty() => Err(Refusal {
                    cause: Cause::SemanticError,
                    attributes: Vec::new(),
                    reason: Cow::Borrowed("neither old values nor a key say which structure is meant"),
                }),
                _ => Ok(all.iter().find(|structure| structure.agrees_with(&key)).cloned()),
            };
        }
        if let Some(found) = all.iter().find(|structure| structure.agrees_with(described)) {
            return Ok(Some(found.clone()));
        }
        // somebody else was faster, or the sender errs: it is told what is so
        let closest = all.iter().find(|structure| structure.agrees_with(&described.only(is_key)));
        let (are, were) = (closest.map(RanConfigurationStructure::attributes), described.attributes());
        let differing = were.iter().filter(|(name, value)| are.as_ref().and_then(|are| are.get(*name)) != Some(*value));
        let differing: Vec<_> = differing.map(|(name, _)| name.as_str()).collect();
        Err(Refusal {
            cause: Cause::IncompatibleState,
            attributes: Vec::new(),
            reason: Cow::Owned(format!("the old values are not the present ones: {}", differing.join(", "))),
        })
    }
}
