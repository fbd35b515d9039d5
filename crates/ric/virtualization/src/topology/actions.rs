//! The control actions of E2SM-RC that a base station has in several parts: one function offers all of them, and each control goes to
//! the part that has its action.

use e2sm::rc::{ActionId, Control, ControlActions, Detection, RanFunctionDefinition, RanFunctionDefinitionControl};
use e2sm::{Arena, Error};
use per::List;

/// The control actions of a definition.
pub(super) fn offered(detection: &Detection, definition: &[u8]) -> Vec<ActionId> {
    let arena = Arena::new();
    let Ok(definition) = RanFunctionDefinition::decode_in(definition, detection.revision, detection.wire, &arena)
    else {
        return Vec::new();
    };
    let styles = definition.control.iter().flat_map(|control| &control.control_style_list);
    let of_style = styles.flat_map(|style| {
        let actions = style.control_action_list.iter().flatten();
        actions.map(|item| ActionId { style: style.ric_control_style_type, action: item.ric_control_action_id })
    });
    of_style.collect()
}

/// The actions of a control.
pub(super) fn of_control(control: &Control) -> Vec<ActionId> {
    match &control.actions {
        ControlActions::One(action) => vec![action.id()],
        ControlActions::Several(actions) => actions.iter().map(|action| action.id()).collect(),
        ControlActions::Filtered(filtered) => vec![filtered.id],
        ControlActions::Query(id, _) => vec![*id],
    }
}

/// Adds the control actions of other definitions of the same revision to a definition.
///
/// # Errors
/// A definition cannot be decoded, or what they have together cannot be encoded.
pub(super) fn merged(detection: &Detection, own: &[u8], others: &[&[u8]]) -> Result<Vec<u8>, Error> {
    let arena = Arena::new();
    let decode = |octets| RanFunctionDefinition::decode_in(octets, detection.revision, detection.wire, &arena);
    let mut definition = decode(own)?;
    let mut styles: Vec<_> =
        definition.control.iter().flat_map(|control| control.control_style_list.iter().cloned()).collect();
    for other in others {
        let Some(control) = decode(other)?.control else { continue };
        for style in control.control_style_list.iter() {
            let number = style.ric_control_style_type;
            match styles.iter_mut().find(|known| known.ric_control_style_type == number) {
                None => styles.push(style.clone()),
                Some(known) => {
                    let mut actions: Vec<_> = known.control_action_list.iter().flatten().cloned().collect();
                    for action in style.control_action_list.iter().flatten() {
                        let id = action.ric_control_action_id;
                        if !actions.iter().any(|known| known.ric_control_action_id == id) {
                            actions.push(action.clone());
                        }
                    }
                    known.control_action_list = (!actions.is_empty()).then(|| List::from(actions));
                }
            }
        }
    }
    definition.control =
        (!styles.is_empty()).then(|| RanFunctionDefinitionControl { control_style_list: styles.into() });
    let mut out = Vec::new();
    definition.encode_in(detection.revision, detection.wire, &mut out)?;
    Ok(out)
}
