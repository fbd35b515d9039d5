//! The RAN parameters that a RAN function definition lists for an action, and where it lists them.

use std::borrow::Cow;

use per::List;

use super::known::{KnownParameter, Shape, items_of};
use super::{
    ActionId, ControlAction, RanFunctionDefinition, RanParameterDefinition, RanParameterDefinitionChoice,
    RanParameterDefinitionItem, RanParameterId, RanParameterItem, RanParameterValueType, dictionary, quota,
};

/// The most characters shown of a name from a definition.
const SHOWN_NAME: usize = 64;

/// A listed parameter.
#[derive(Clone, Copy, Debug)]
pub(super) struct Defined<'d> {
    id: RanParameterId,
    name: &'d str,
    contents: Option<&'d RanParameterDefinition<'d>>,
}

impl Defined<'_> {
    /// Its name in the definition, with escapes for what a terminal may interpret.
    pub fn shown_name(&self) -> String {
        self.name.chars().take(SHOWN_NAME).flat_map(char::escape_default).collect()
    }

    /// The type that its contents imply.
    pub fn type_name(&self) -> Option<&'static str> {
        self.contents.map(|contents| match contents.definition_choice {
            RanParameterDefinitionChoice::List(_) => "a list",
            RanParameterDefinitionChoice::Structure(_) => "a structure",
        })
    }
}

/// What a definition says about the contents of an action, a list or a structure.
#[derive(Clone, Debug)]
pub(super) enum Scope<'s, 'd> {
    /// It lists these parameters.
    Listed(Cow<'s, [Defined<'d>]>),
    /// It does not describe them.
    Open,
}

impl<'d> Scope<'_, 'd> {
    pub fn is_open(&self) -> bool {
        matches!(self, Scope::Open)
    }

    pub fn find(&self, id: RanParameterId) -> Option<&Defined<'d>> {
        match self {
            Scope::Listed(listed) => listed.iter().find(|defined| defined.id == id),
            Scope::Open => None,
        }
    }
}

/// The parameters of an action in a definition.
#[derive(Debug)]
pub(super) struct DefinedAction<'d> {
    top: Vec<Defined<'d>>,
    /// Whether the parameters inside of lists and structures are listed beside them.
    is_flat: bool,
    table: &'static [KnownParameter],
}

impl<'d> DefinedAction<'d> {
    /// Finds the parameters that a definition lists for an action; `items` are those of the control.
    pub fn find(
        definition: &'d RanFunctionDefinition<'d>,
        id: ActionId,
        items: &[RanParameterItem<'_>],
    ) -> Option<DefinedAction<'d>> {
        let mut styles = definition.control.as_ref()?.control_style_list.iter();
        let style = styles.find(|style| style.ric_control_style_type == id.style)?;
        let mut actions = style.control_action_list.as_ref()?.iter();
        let action = actions.find(|action| action.ric_control_action_id == id.action)?;
        let listed = action.control_action_parameters_list.as_ref()?.iter();
        let defined = listed.map(|item| Defined {
            id: item.ran_parameter_id,
            name: item.ran_parameter_name.0.as_str(),
            contents: item.ran_parameter_definition.as_ref(),
        });
        let top: Vec<_> = defined.collect();
        let has_gap_number =
            id == ControlAction::SLICE_PRB_QUOTA && top.iter().any(|defined| lists(defined, quota::GAP));
        let table = match has_gap_number {
            true => quota::PARAMETERS_WITHOUT_GAP,
            false => dictionary::control_parameters(id.style.0, id.action.0),
        };
        let is_top = |id: RanParameterId| match table {
            [] => items.iter().any(|item| item.ran_parameter_id == id),
            _ => table.iter().any(|known| known.id == id),
        };
        let mut inner = Vec::new();
        match table {
            [] => items.iter().for_each(|item| inner_ids(item, &mut inner)),
            _ => table.iter().for_each(|known| known_inner_ids(known, &mut inner)),
        }
        let is_flat = top.iter().any(|defined| inner.contains(&defined.id) && !is_top(defined.id));
        Some(DefinedAction { top, is_flat, table })
    }

    /// The parameters of the action in the specification, with the numbers of the definition.
    pub fn table(&self) -> &'static [KnownParameter] {
        self.table
    }

    /// The outermost parameters.
    pub fn top(&self) -> Scope<'_, 'd> {
        Scope::Listed(Cow::Borrowed(&self.top))
    }

    /// The contents of a parameter.
    pub fn contents(&self, defined: Option<&Defined<'d>>) -> Scope<'_, 'd> {
        match defined.and_then(|defined| defined.contents) {
            Some(contents) => Scope::Listed(nested(contents).iter().map(defined_item).collect()),
            None if self.is_flat => self.top(),
            None => Scope::Open,
        }
    }
}

fn nested<'d>(contents: &'d RanParameterDefinition<'d>) -> &'d List<'d, RanParameterDefinitionItem<'d>> {
    match &contents.definition_choice {
        RanParameterDefinitionChoice::List(list) => &list.list,
        RanParameterDefinitionChoice::Structure(structure) => &structure.structure,
    }
}

fn defined_item<'d>(item: &'d RanParameterDefinitionItem<'d>) -> Defined<'d> {
    Defined {
        id: item.ran_parameter_id,
        name: item.ran_parameter_name.0.as_str(),
        contents: item.ran_parameter_definition.as_ref(),
    }
}

/// Whether a definition lists a parameter, or it is inside of a listed one. The decoder bounds the depth.
fn lists(defined: &Defined<'_>, id: RanParameterId) -> bool {
    let inside = |contents| nested(contents).iter().any(|item| lists(&defined_item(item), id));
    defined.id == id || defined.contents.is_some_and(inside)
}

/// Adds the parameters inside of a parameter. The decoder bounds the depth.
fn inner_ids(item: &RanParameterItem<'_>, ids: &mut Vec<RanParameterId>) {
    let mut add = |items: &[RanParameterItem<'_>]| {
        for item in items {
            ids.push(item.ran_parameter_id);
            inner_ids(item, ids);
        }
    };
    match &item.value_type {
        RanParameterValueType::Structure(value) => add(items_of(&value.structure)),
        RanParameterValueType::List(value) => value.list.list.iter().for_each(|structure| add(items_of(structure))),
        _ => {}
    }
}

fn known_inner_ids(known: &KnownParameter, ids: &mut Vec<RanParameterId>) {
    match known.shape {
        Shape::Structure(parts) => {
            for part in parts {
                ids.push(part.id);
                known_inner_ids(part, ids);
            }
        }
        Shape::List(of) => {
            ids.push(of.id);
            known_inner_ids(of, ids);
        }
        _ => {}
    }
}
