//! Controls in the form that a node describes in its RAN function definition.

use per::List;

use super::check::{ControlCheck, check_control};
use super::definition_scope::{DefinedAction, Scope};
use super::known::{KnownParameter, Shape, items_of};
use super::{
    Control, ControlAction, ControlActions, ControlHeader, ControlMessage, OtherAction, RanFunctionDefinition,
    RanParameterItem, RanParameterList, RanParameterStructure, RanParameterValueType, RanParameterValueTypeList,
    RanParameterValueTypeStructure, Revision, quota,
};
use crate::{Error, Wire};

/// A control for a certain node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeControl {
    /// The control header.
    pub header: Vec<u8>,
    /// The control message.
    pub message: Vec<u8>,
    /// Whether the node's definition describes all of it.
    pub check: ControlCheck,
}

impl Control {
    /// Encodes header and message in the form that a node's RAN function definition describes, and compares them with it: the
    /// numbers of the parameters of a slice-level PRB quota, and whether items of lists have their IDs.
    ///
    /// # Errors
    /// [`Error::Mismatch`]: the node does not offer the control, or it needs or lacks a parameter; otherwise as
    /// [`Control::encode`].
    pub fn encode_for(
        &self,
        definition: &RanFunctionDefinition<'_>,
        revision: Revision,
        wire: Wire,
    ) -> Result<NodeControl, Error> {
        let fitted = |action: &ControlAction| {
            let (id, parameters) = (action.id(), fit(definition, action));
            ControlAction::Other(OtherAction { id, parameters })
        };
        let actions = match &self.actions {
            ControlActions::One(action) => ControlActions::One(fitted(action)),
            ControlActions::Several(actions) => ControlActions::Several(actions.iter().map(fitted).collect()),
            other => other.clone(),
        };
        let control = Control { target: self.target.clone(), decision: self.decision, actions };
        let (header, message) = control.formats()?;
        let (header, message) = (ControlHeader { formats: header }, ControlMessage { formats: message });
        let check = check_control(definition, &header, &message).map_err(Error::Mismatch)?;
        let (mut header_octets, mut message_octets) = (Vec::new(), Vec::new());
        header.encode_in(revision, wire, &mut header_octets)?;
        message.encode_in(revision, wire, &mut message_octets)?;
        Ok(NodeControl { header: header_octets, message: message_octets, check })
    }
}

/// The parameters of an action as the definition numbers and nests them.
fn fit(definition: &RanFunctionDefinition<'_>, action: &ControlAction) -> Vec<RanParameterItem<'static>> {
    let items = action.to_parameters();
    let Some(defined) = DefinedAction::find(definition, action.id(), &items) else { return items };
    let items = match action {
        ControlAction::SlicePrbQuota(of) if defined.table() == quota::PARAMETERS_WITHOUT_GAP => {
            of.to_parameters_without_gap()
        }
        _ => items,
    };
    fit_items(&defined, &defined.top(), defined.table(), items)
}

fn fit_items(
    action: &DefinedAction<'_>,
    scope: &Scope<'_, '_>,
    table: &[KnownParameter],
    items: Vec<RanParameterItem<'static>>,
) -> Vec<RanParameterItem<'static>> {
    let fit = |item: RanParameterItem<'static>| {
        let id = item.ran_parameter_id;
        let known = table.iter().find(|known| known.id == id).map(|known| known.shape);
        let contents = action.contents(scope.find(id));
        let value_type = match (item.value_type, known) {
            (RanParameterValueType::Structure(value), Some(Shape::Structure(parts))) => {
                let items = fit_items(action, &contents, parts, items_of(&value.structure).to_vec());
                let structure = RanParameterStructure { parameters: Some(List::from(items)) };
                RanParameterValueType::Structure(RanParameterValueTypeStructure { structure })
            }
            (RanParameterValueType::List(value), Some(Shape::List(of))) => {
                let fit = |structure| fit_list_item(action, &contents, of, structure);
                let list = RanParameterList { list: value.list.list.iter().map(fit).collect() };
                RanParameterValueType::List(RanParameterValueTypeList { list })
            }
            (value_type, _) => value_type,
        };
        RanParameterItem { ran_parameter_id: id, value_type }
    };
    items.into_iter().map(fit).collect()
}

/// Adds the ID of an item of a list if the definition lists it, and removes it if the definition lists its contents only.
fn fit_list_item(
    action: &DefinedAction<'_>,
    scope: &Scope<'_, '_>,
    of: &KnownParameter,
    structure: &RanParameterStructure<'static>,
) -> RanParameterStructure<'static> {
    let items = items_of(structure);
    let is_named = of.among(items).is_some();
    let named = if scope.is_open() { is_named } else { scope.find(of.id).is_some() };
    let contents = if is_named { of.structure(items).to_vec() } else { items.to_vec() };
    let (table, items) = match (named, of.shape) {
        (true, _) => (core::slice::from_ref(of), vec![of.structure_of(contents)]),
        (false, Shape::Structure(parts)) => (parts, contents),
        (false, _) => (&[][..], contents),
    };
    RanParameterStructure { parameters: Some(List::from(fit_items(action, scope, table, items))) }
}
