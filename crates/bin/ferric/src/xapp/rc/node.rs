//! The nodes that a control is for: those whose RAN function definition offers it.

use anyhow::{Context, anyhow, bail};
use e2sm::rc::{ActionId, ControlCheck};
use e2sm::rc::{Control, Detection, NodeControl, OID, RanFunctionDefinition, Revision, check_action};
use e2sm::{Arena, Wire};
use ferric::e2::NodeId;
use ferric::e2::xapp::{FunctionInfo, NodeInfo};
use ferric::e2ap::{GlobalE2NodeId, RanFunctionId};
use per::IntoOwned;
use tracing::{info, warn};

/// A node that offers the action.
pub(super) struct OfferingNode {
    pub id: NodeId,
    pub global_id: GlobalE2NodeId,
    pub name: String,
    pub function: RanFunctionId,
    pub detection: Detection,
    /// `None` if it cannot be read and the user has given the revision.
    definition: Option<RanFunctionDefinition<'static>>,
}

impl OfferingNode {
    /// Reads what a node offers.
    ///
    /// # Errors
    /// Why the node does not offer the action, for the user.
    pub fn new(node: &NodeInfo, action: ActionId, revision: Option<Revision>) -> anyhow::Result<Self> {
        let functions = node.functions.iter();
        let function = functions.filter(|function| Wire::of(&function.oid).1 == OID).min_by_key(|f| f.id.0);
        let function = function.context("the node does not offer E2SM-RC")?;
        let name = node.global_id.to_string();
        let detection = detect(function, revision)?;
        info!(node = name, "{detection}");
        let arena = Arena::new();
        let (revision_in_use, wire) = (detection.revision, detection.wire);
        let definition = match RanFunctionDefinition::decode_in(&function.definition, revision_in_use, wire, &arena) {
            Ok(definition) => {
                let definition = definition.into_owned();
                check_action(&definition, action)?;
                Some(definition)
            }
            Err(error) if revision.is_some() => {
                warn!(node = name, %error, "cannot read the RAN function definition: the control is sent unchecked");
                None
            }
            Err(error) => bail!("cannot read its RAN function definition ({error}): give --rc"),
        };
        Ok(OfferingNode { id: node.id, global_id: node.global_id, name, function: function.id, detection, definition })
    }

    /// Encodes a control as the node describes it.
    ///
    /// # Errors
    /// How the control differs from what the node describes.
    pub fn encode(&self, control: &Control) -> anyhow::Result<(Vec<u8>, Vec<u8>)> {
        let (revision, wire) = (self.detection.revision, self.detection.wire);
        let Some(definition) = &self.definition else { return Ok(control.encode_in(revision, wire)?) };
        let NodeControl { header, message, check } = control.encode_for(definition, revision, wire)?;
        if let ControlCheck::NotDescribed(part) = check {
            warn!(node = self.name, "{part}: the control is sent unchecked in that part");
        }
        Ok((header, message))
    }
}

/// Precedence: the command line, the RIC's configuration, the node's registration.
fn detect(function: &FunctionInfo, given: Option<Revision>) -> anyhow::Result<Detection> {
    let hinted = function.model_revision.as_deref().and_then(|revision| revision.parse().ok());
    match given.or(hinted) {
        Some(revision) => Ok(Detection::configured(revision).in_wire_of(&function.oid)),
        None => Detection::from_ran_function(&function.oid, function.revision.0, &function.definition)
            .map_err(|error| anyhow!("cannot read its RAN function definition ({error}): give --rc")),
    }
}
