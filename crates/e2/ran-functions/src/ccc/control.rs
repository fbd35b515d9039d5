//! Controls: each structure is set as a whole or not at all.

use std::borrow::Cow;

use e2sm::ccc::{
    Cause, CellOutcome, ControlHeader, ControlMessage, ControlMessageFormat, ControlOutcome, ControlOutcomeFormat,
    RanConfigurationStructure, StructureAccepted, StructureControlled, StructureFailed, TimeStamp,
};
use ferric::agent::{ControlFailure, ControllerId};
use ferric::e2::{ControlRequest, Time};
use tracing::{debug, info};

use super::{CccSource, ConfigLevel, ConfigScope, Refusal, SupportedStructure};

use crate::cause::{CONTROL_FAILED, CONTROL_MESSAGE_INVALID, TRANSFER_SYNTAX_ERROR};

/// Executes a control and returns its outcome, which lists the structures that were set and those that were not. If none
/// was set, the control fails.
pub(super) fn execute<S: CccSource>(
    source: &mut S,
    now: Time,
    origin: ControllerId,
    request: &ControlRequest,
    received: TimeStamp,
) -> Result<Vec<u8>, ControlFailure> {
    let undecodable = |error| {
        info!(%error, "control refused: cannot decode it");
        ControlFailure::from(TRANSFER_SYNTAX_ERROR)
    };
    let header = ControlHeader::decode(&request.header).map_err(undecodable)?;
    let message = ControlMessage::decode(&request.message).map_err(undecodable)?;
    let level = match &message.format {
        ControlMessageFormat::NodeLevel(_) => ConfigLevel::Node,
        ControlMessageFormat::CellLevel(_) => ConfigLevel::Cell,
    };
    if header.format.ric_style_type != level.number() {
        info!(
            style = header.format.ric_style_type,
            ?level,
            "control refused: its style does not match its message format"
        );
        return Err(CONTROL_MESSAGE_INVALID.into());
    }
    let mut execution = Execution { source, now, origin, received, set_structures: 0 };
    let format = match &message.format {
        ControlMessageFormat::NodeLevel(structures) => {
            let (accepted, failed) = execution.set_all(ConfigScope::Node, structures);
            ControlOutcomeFormat::NodeLevel { received_timestamp: Some(received), accepted, failed }
        }
        ControlMessageFormat::CellLevel(cells) => {
            let cells = cells.iter().map(|cell| {
                let (accepted, failed) = execution.set_all(ConfigScope::Cell(cell.cell_global_id), &cell.structures);
                CellOutcome { cell_global_id: cell.cell_global_id, accepted, failed }
            });
            let cells = cells.collect();
            ControlOutcomeFormat::CellLevel { received_timestamp: Some(received), cells }
        }
    };
    let mut outcome = Vec::new();
    let encoded = ControlOutcome { format }.encode(&mut outcome);
    if execution.set_structures == 0 {
        return Err(ControlFailure { cause: CONTROL_FAILED, outcome: encoded.is_ok().then_some(outcome) });
    }
    if let Err(error) = encoded {
        // the structures remain set: an acknowledgement without outcome is better than a failure
        debug!(%error, "cannot encode a control outcome: a value of the source is out of range");
        outcome.clear();
    }
    Ok(outcome)
}

/// A control in execution.
struct Execution<'s, S> {
    source: &'s mut S,
    now: Time,
    origin: ControllerId,
    received: TimeStamp,
    /// The number of structures that were set.
    set_structures: usize,
}

/// The accepted and the failed structures; `None` for an empty list.
type Outcomes = (Option<Vec<StructureAccepted>>, Option<Vec<StructureFailed>>);

impl<S: CccSource> Execution<'_, S> {
    fn set_all(&mut self, scope: ConfigScope, structures: &[StructureControlled]) -> Outcomes {
        let (mut accepted, mut failed) = (Vec::new(), Vec::new());
        for structure in structures {
            match self.set(scope, structure) {
                Ok(outcome) => accepted.push(outcome),
                Err(outcome) => failed.push(*outcome),
            }
        }
        self.set_structures += accepted.len();
        (Some(accepted).filter(|list| !list.is_empty()), Some(failed).filter(|list| !list.is_empty()))
    }

    fn set(
        &mut self,
        scope: ConfigScope,
        requested: &StructureControlled,
    ) -> Result<StructureAccepted, Box<StructureFailed>> {
        let name = requested.new_values.name();
        let attributes = requested.new_values.attributes();
        let mut current = None;
        let written = self.check(scope, requested).and_then(|found| {
            current = found;
            self.source.write(self.now, self.origin, scope, current.as_ref(), &requested.new_values)
        });
        let of_requested = |structure: &RanConfigurationStructure| structure.only(|name| attributes.contains_key(name));
        let nothing = || requested.new_values.only(|_| false);
        let old_values = current.as_ref().map_or_else(nothing, of_requested);
        match written {
            Ok(()) => {
                let all = self.source.read(scope, name);
                // the source may have adapted other attributes: report its values, not the requested ones
                let current = all.iter().find(|structure| structure.agrees_with(&requested.new_values));
                let current_values = current.map_or_else(|| requested.new_values.clone(), of_requested);
                Ok(StructureAccepted { old_values, current_values, applied_timestamp: Some(self.received) })
            }
            Err(Refusal { cause, attributes: rejected, reason }) => {
                let rejected = if rejected.is_empty() { attributes.keys().cloned().collect() } else { rejected };
                info!(structure = name, attributes = ?rejected, ?cause, %reason, "control refused");
                let requested_values =
                    requested.new_values.only(|name| rejected.iter().any(|attribute| attribute == name));
                Err(Box::new(StructureFailed { old_values, requested_values, cause }))
            }
        }
    }

    /// Checks a requested structure, and returns the existing structure to change; `None` to add a further one.
    fn check(
        &self,
        scope: ConfigScope,
        requested: &StructureControlled,
    ) -> Result<Option<RanConfigurationStructure>, Refusal> {
        let refuse = |cause, attributes: Vec<String>, reason: &'static str| {
            Err(Refusal { cause, attributes, reason: Cow::Borrowed(reason) })
        };
        let level = match scope {
            ConfigScope::Node => ConfigLevel::Node,
            ConfigScope::Cell(_) => ConfigLevel::Cell,
        };
        if matches!(scope, ConfigScope::Cell(cell) if !self.source.cells().contains(&cell)) {
            return refuse(Cause::NotAvailable, Vec::new(), "unknown cell");
        }
        let name = requested.new_values.name();
        let mut structures = self.source.structures().iter();
        let Some(supported) = structures.find(|supported| supported.level == level && supported.name == name) else {
            return refuse(Cause::NotSupported, Vec::new(), "structure not supported");
        };
        let attributes = requested.new_values.attributes();
        if attributes.is_empty() {
            return refuse(Cause::SemanticError, Vec::new(), "no attributes to set");
        }
        let is_writable =
            |name: &String| supported.attributes.iter().any(|known| known.name == *name && known.writable);
        let others: Vec<String> = attributes.keys().filter(|name| !is_writable(name)).cloned().collect();
        if !others.is_empty() {
            return refuse(Cause::NotSupported, others, "attributes not writable");
        }
        self.find(scope, supported, requested)
    }

    /// Finds the structure that the old values describe; without old values, the one with the key of the new values.
    fn find(
        &self,
        scope: ConfigScope,
        supported: &SupportedStructure,
        requested: &StructureControlled,
    ) -> Result<Option<RanConfigurationStructure>, Refusal> {
        let all = self.source.read(scope, &supported.name);
        let is_key = |name: &str| supported.key.iter().any(|key| key == name);
        let described = &requested.old_values;
        if described.attributes().is_empty() {
            let key = requested.new_values.only(is_key);
            return match &all[..] {
                [only] if supported.key.is_empty() => Ok(Some(only.clone())),
                _ if supported.key.is_empty() || key.attributes().is_empty() => Err(Refusal {
                    cause: Cause::SemanticError,
                    attributes: Vec::new(),
                    reason: Cow::Borrowed("neither old values nor a key identify the structure"),
                }),
                _ => Ok(all.iter().find(|structure| structure.agrees_with(&key)).cloned()),
            };
        }
        if let Some(found) = all.iter().find(|structure| structure.agrees_with(described)) {
            return Ok(Some(found.clone()));
        }
        // the structure has changed since the sender read it
        let closest = all.iter().find(|structure| structure.agrees_with(&described.only(is_key)));
        let (current, old) = (closest.map(RanConfigurationStructure::attributes), described.attributes());
        let is_outdated =
            |(name, value): &(&String, &_)| current.as_ref().and_then(|current| current.get(*name)) != Some(*value);
        let outdated: Vec<_> = old.iter().filter(is_outdated).map(|(name, _)| name.as_str()).collect();
        Err(Refusal {
            cause: Cause::IncompatibleState,
            attributes: Vec::new(),
            reason: Cow::Owned(format!("old values differ from the current ones: {}", outdated.join(", "))),
        })
    }
}
