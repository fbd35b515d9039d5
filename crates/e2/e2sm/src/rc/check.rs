//! Controls against the RAN function definition of a node (RC 9.2.2.5): a control that the node does not describe is not sent.
//!
//! Definitions differ in how much they describe. Some nest the contents of lists and structures, some list all parameters of
//! an action beside each other, some list the outermost only or none. What is described must be met; the rest is reported as
//! [`ControlCheck::NotDescribed`].

use core::fmt;

use per::List;

use super::definition_scope::{Defined, DefinedAction, Scope};
use super::dictionary::MULTIPLE_ACTIONS;
use super::known::{KnownParameter, Shape, items_of};
use super::{
    ActionId, ControlAction, ControlHeader, ControlHeaderFormats, ControlMessage, ControlMessageFormats,
    ControlStyleItem, RanFunctionDefinition, RanParameterId, RanParameterItem, RanParameterValueType,
};
use crate::common::RicStyleType;

/// How a control differs from what the RAN function definition of a node describes.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ControlMismatch {
    /// The definition describes no controls.
    NoControls,
    /// The style is not offered.
    NoStyle(RicStyleType),
    /// The style is offered without the action.
    NoAction(ActionId),
    /// The header has another format than the style.
    HeaderFormat {
        /// The style.
        style: RicStyleType,
        /// The format of the header.
        format: i64,
        /// The format of the style.
        offered: i64,
    },
    /// The action concerns a UE and the header has none.
    NoUe(ActionId),
    /// The definition lists a parameter that the control lacks.
    Missing(MismatchedParameter),
    /// The control has a parameter that the definition does not list there.
    NotListed(MismatchedParameter),
    /// The definition lists a parameter as another type: `an element`, `a structure` or `a list`.
    NotA(MismatchedParameter, &'static str),
    /// Header and message are not of the same control.
    FormatsDoNotFit,
}

/// The RAN parameter of a [`ControlMismatch`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MismatchedParameter {
    /// The parameter.
    pub id: RanParameterId,
    /// Its name in the specification or else in the definition.
    pub name: Option<String>,
    /// The list or structure that contains it, or should.
    pub within: Option<RanParameterId>,
}

impl fmt::Display for MismatchedParameter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RAN parameter {}", self.id.0)?;
        self.name.as_ref().map_or(Ok(()), |name| write!(f, " ({name})"))?;
        self.within.map_or(Ok(()), |within| write!(f, " in {}", within.0))
    }
}

impl fmt::Display for ControlMismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ControlMismatch::NoControls => f.write_str("the node offers no controls by E2SM-RC"),
            ControlMismatch::NoStyle(style) => write!(f, "the node does not offer control style {}", style.0),
            ControlMismatch::NoAction(id) => write!(f, "the node does not offer {id}"),
            ControlMismatch::HeaderFormat { style, format, offered } => write!(
                f,
                "the node offers control style {} with header format {offered}, and the control has header format {format}",
                style.0
            ),
            ControlMismatch::NoUe(id) => write!(f, "{id} requires a UE"),
            ControlMismatch::Missing(parameter) => write!(f, "the node lists {parameter}, which the control lacks"),
            ControlMismatch::NotListed(parameter) => {
                write!(f, "the control has {parameter}, which the node does not list there")
            }
            ControlMismatch::NotA(parameter, kind) => {
                write!(f, "the node lists {parameter} as {kind}, and the control has another type")
            }
            ControlMismatch::FormatsDoNotFit => f.write_str("header and message are not of the same control"),
        }
    }
}

impl std::error::Error for ControlMismatch {}

/// What a control that meets the definition was compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ControlCheck {
    /// The definition describes all of it.
    Described,
    /// The definition does not describe a part of it.
    NotDescribed(Undescribed),
}

/// What a definition does not describe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Undescribed {
    /// The actions of a style.
    Actions(RicStyleType),
    /// The parameters of an action.
    Parameters(ActionId),
    /// The contents of a list or structure.
    Contents(RanParameterId),
}

impl fmt::Display for Undescribed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Undescribed::Actions(style) => write!(f, "the node does not list the actions of control style {}", style.0),
            Undescribed::Parameters(id) => write!(f, "the node does not list the parameters of {id}"),
            Undescribed::Contents(id) => write!(f, "the node does not list the contents of RAN parameter {}", id.0),
        }
    }
}

impl ControlCheck {
    /// Both together: what is not described first.
    #[must_use]
    fn and(self, other: ControlCheck) -> ControlCheck {
        if self == ControlCheck::Described { other } else { self }
    }
}

/// Returns whether a node offers an action; [`ControlCheck::NotDescribed`] if it offers the style and lists no actions.
///
/// # Errors
/// [`ControlMismatch::NoControls`], [`ControlMismatch::NoStyle`], [`ControlMismatch::NoAction`].
pub fn check_action(definition: &RanFunctionDefinition<'_>, action: ActionId) -> Result<ControlCheck, ControlMismatch> {
    let style = style_of(definition, action.style)?;
    let Some(actions) = &style.control_action_list else {
        return Ok(ControlCheck::NotDescribed(Undescribed::Actions(action.style)));
    };
    let offered = actions.iter().any(|offered| offered.ric_control_action_id == action.action);
    if offered { Ok(ControlCheck::Described) } else { Err(ControlMismatch::NoAction(action)) }
}

/// Compares a control with the RAN function definition of the node that it is for: style, action, formats, each parameter and
/// its nesting. A parameter that the definition lists is needed if the specification requires it, and so are the items of lists.
///
/// # Errors
/// The first difference: the control must not be sent.
pub fn check_control(
    definition: &RanFunctionDefinition<'_>,
    header: &ControlHeader<'_>,
    message: &ControlMessage<'_>,
) -> Result<ControlCheck, ControlMismatch> {
    let (format, id, decision, has_ue) = match &header.formats {
        ControlHeaderFormats::Format1(h) => {
            let id = ActionId { style: h.ric_style_type, action: h.ric_control_action_id };
            (1, Some(id), h.ric_control_decision, true)
        }
        ControlHeaderFormats::Format2(h) => (2, None, h.ric_control_decision, h.ue_id.is_some()),
        ControlHeaderFormats::Format3(h) => {
            (3, Some(ActionId { style: h.ric_style_type, action: h.ric_control_action_id }), None, true)
        }
        ControlHeaderFormats::Format4(h) => {
            let id = ActionId { style: h.ric_style_type, action: h.ric_control_action_id };
            (4, Some(id), h.ric_control_decision, true)
        }
    };
    let own = id.map_or(RicStyleType(MULTIPLE_ACTIONS), |id| id.style);
    check_header_format(style_of(definition, own)?, format)?;
    let whole = decision.is_none();
    match (id, &message.formats) {
        (Some(id), ControlMessageFormats::Format1(message)) => {
            // a decision may omit what the suspended procedure contains
            check_parameters(definition, id, &message.ran_p_list, whole || !message.ran_p_list.is_empty())
        }
        (_, ControlMessageFormats::Format2(message)) => {
            let mut check = ControlCheck::Described;
            for style in &message.control_style_list {
                for item in &style.control_action_list {
                    let id = ActionId { style: style.indicated_control_style_type, action: item.ric_control_action_id };
                    if !has_ue && is_about_ue(id) {
                        return Err(ControlMismatch::NoUe(id));
                    }
                    let items = &item.ran_p_list.ran_p_list;
                    check = check.and(check_parameters(definition, id, items, whole || !items.is_empty())?);
                }
            }
            Ok(check)
        }
        (Some(id), ControlMessageFormats::Format3(message)) => {
            // parameters for some entities complete those for all
            let filters = message.list_of_entity_filters.iter().flatten();
            let lists = filters.map(|filter| &filter.entity_specific_control_ran_p_list);
            let mut check = check_action(definition, id)?;
            for list in lists.chain(&message.entity_agnostic_control_ran_p_list) {
                check = check.and(check_parameters(definition, id, list, false)?);
            }
            Ok(check)
        }
        (Some(id), ControlMessageFormats::Format4(_) | ControlMessageFormats::Format5) => check_action(definition, id),
        (None, _) => Err(ControlMismatch::FormatsDoNotFit),
    }
}

/// Whether an action that this crate knows concerns a UE.
fn is_about_ue(id: ActionId) -> bool {
    id != ControlAction::SLICE_PRB_QUOTA && !super::dictionary::control_parameters(id.style.0, id.action.0).is_empty()
}

fn style_of<'d, 'a>(
    definition: &'d RanFunctionDefinition<'a>,
    style: RicStyleType,
) -> Result<&'d ControlStyleItem<'a>, ControlMismatch> {
    let controls = definition.control.as_ref().ok_or(ControlMismatch::NoControls)?;
    let mut styles = controls.control_style_list.iter();
    styles.find(|offered| offered.ric_control_style_type == style).ok_or(ControlMismatch::NoStyle(style))
}

/// Refuses a header of one action where the style has several, and the reverse. FlexRIC counts formats from 0.
fn check_header_format(style: &ControlStyleItem<'_>, format: i64) -> Result<(), ControlMismatch> {
    let (number, offered) = (style.ric_control_style_type, style.ric_control_header_format_type.0);
    let fits = match format {
        1 => offered != 2 || number == RicStyleType(MULTIPLE_ACTIONS),
        2 => offered != 1 || number == RicStyleType(MULTIPLE_ACTIONS),
        // groups and partial UE IDs are additions to a style, which nodes announce in different places
        _ => true,
    };
    if fits { Ok(()) } else { Err(ControlMismatch::HeaderFormat { style: number, format, offered }) }
}

fn check_parameters(
    definition: &RanFunctionDefinition<'_>,
    id: ActionId,
    items: &[RanParameterItem<'_>],
    is_whole: bool,
) -> Result<ControlCheck, ControlMismatch> {
    let check = check_action(definition, id)?;
    if check != ControlCheck::Described {
        return Ok(check);
    }
    let Some(action) = DefinedAction::find(definition, id, items) else {
        return Ok(ControlCheck::NotDescribed(Undescribed::Parameters(id)));
    };
    let mut comparison = Comparison { action: &action, is_whole, check: ControlCheck::Described };
    comparison.compare(action.top(), action.table(), items, None)?;
    Ok(comparison.check)
}

struct Comparison<'s, 'd> {
    action: &'s DefinedAction<'d>,
    /// Whether parameters may not be missing.
    is_whole: bool,
    check: ControlCheck,
}

impl Comparison<'_, '_> {
    fn compare(
        &mut self,
        scope: Scope<'_, '_>,
        table: &[KnownParameter],
        items: &[RanParameterItem<'_>],
        within: Option<RanParameterId>,
    ) -> Result<(), ControlMismatch> {
        let of = |id: RanParameterId, known: Option<&KnownParameter>, defined: Option<&Defined<'_>>| {
            let name = known.map(|known| known.name.to_owned()).or_else(|| defined.map(Defined::shown_name));
            MismatchedParameter { id, name, within }
        };
        let lacks = |known: &&KnownParameter| {
            (known.is_required || known.is_needed_if_listed)
                && scope.find(known.id).is_some()
                && known.among(items).is_none()
        };
        if let Some(known) = table.iter().find(lacks).filter(|_| self.is_whole) {
            return Err(ControlMismatch::Missing(of(known.id, Some(known), None)));
        }
        for item in items {
            let id = item.ran_parameter_id;
            let known = table.iter().find(|known| known.id == id);
            let defined = scope.find(id);
            if defined.is_none() && !scope.is_open() {
                return Err(ControlMismatch::NotListed(of(id, known, None)));
            }
            let type_of = defined.and_then(Defined::type_name).or_else(|| known.map(type_of));
            let own = match &item.value_type {
                RanParameterValueType::Structure(_) => "a structure",
                RanParameterValueType::List(_) => "a list",
                _ => "an element",
            };
            if let Some(listed) = type_of.filter(|listed| *listed != own) {
                return Err(ControlMismatch::NotA(of(id, known, defined), listed));
            }
            let scope = || self.action.contents(defined);
            match &item.value_type {
                RanParameterValueType::Structure(value) => {
                    let scope = scope();
                    self.note(&scope, id);
                    self.compare(scope, parts(known), items_of(&value.structure), Some(id))?;
                }
                RanParameterValueType::List(value) => {
                    let scope = scope();
                    self.note(&scope, id);
                    self.compare_list(&scope, known, &value.list.list, id)?;
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn compare_list(
        &mut self,
        scope: &Scope<'_, '_>,
        known: Option<&KnownParameter>,
        structures: &List<'_, super::RanParameterStructure<'_>>,
        id: RanParameterId,
    ) -> Result<(), ControlMismatch> {
        let of = match known.map(|known| known.shape) {
            Some(Shape::List(of)) => Some(of),
            _ => None,
        };
        for structure in structures {
            let items = items_of(structure);
            let is_named = |of: &&KnownParameter| match scope.is_open() {
                true => of.among(items).is_some(),
                false => scope.find(of.id).is_some(),
            };
            match of.filter(is_named) {
                Some(of) => self.compare(scope.clone(), core::slice::from_ref(of), items, Some(id))?,
                None => self.compare(scope.clone(), parts(of), items, Some(id))?,
            }
        }
        Ok(())
    }

    fn note(&mut self, scope: &Scope<'_, '_>, id: RanParameterId) {
        if scope.is_open() {
            self.check = self.check.and(ControlCheck::NotDescribed(Undescribed::Contents(id)));
        }
    }
}

fn type_of(known: &KnownParameter) -> &'static str {
    match known.shape {
        Shape::Structure(_) => "a structure",
        Shape::List(_) => "a list",
        _ => "an element",
    }
}

/// The parameters that a known structure contains.
fn parts(known: Option<&KnownParameter>) -> &'static [KnownParameter] {
    match known.map(|known| known.shape) {
        Some(Shape::Structure(parts)) => parts,
        _ => &[],
    }
}
