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

#[cfg(test)]
mod tests {
    use e2sm::common::{RanFunctionName, RicFormatType, RicStyleName, RicStyleType};
    use e2sm::rc::{ControlActionItem, ControlStyleItem, Revision};
    use per::PrintableString;

    use super::*;

    fn detection() -> Detection {
        Detection::configured(Revision::V3_00)
    }

    /// A definition with these control actions.
    fn definition(ids: &[ActionId]) -> Vec<u8> {
        let name = || PrintableString::literal("x");
        let style = |id: &ActionId| ControlStyleItem {
            ric_control_style_type: id.style,
            ric_control_style_name: RicStyleName(name()),
            control_action_list: Some(List::from(vec![ControlActionItem {
                ric_control_action_id: id.action,
                ric_control_action_name: e2sm::rc::RicControlActionName(name()),
                control_action_parameters_list: None,
                ue_group_control_action_supported: None,
            }])),
            ric_control_header_format_type: RicFormatType(1),
            ric_control_message_format_type: RicFormatType(1),
            ric_call_process_id_format_type: None,
            ric_control_outcome_format_type: RicFormatType(1),
            control_outcome_parameters_list: None,
            list_of_additional_supported_formats: None,
        };
        let styles: Vec<_> = ids.iter().map(style).collect();
        let definition = RanFunctionDefinition {
            ran_function_name: RanFunctionName {
                short_name: name(),
                e2sm_oid: name(),
                description: name(),
                instance: None,
            },
            event_trigger: None,
            report: None,
            insert: None,
            control: (!styles.is_empty()).then(|| RanFunctionDefinitionControl { control_style_list: styles.into() }),
            policy: None,
            query: None,
        };
        let mut out = Vec::new();
        definition.encode(Revision::V3_00, &mut out).unwrap();
        out
    }

    #[test]
    fn definition_has_the_actions_of_all_parts() {
        let [qos, mapping, drx, handover] =
            [(1, 2), (1, 3), (2, 1), (3, 1)].map(|(style, id)| ActionId::new(style, id));
        let own = definition(&[qos, handover]);
        let merge = |others: &[&[u8]]| offered(&detection(), &merged(&detection(), &own, others).unwrap());
        assert_eq!(merge(&[]), [qos, handover]);
        assert_eq!(merge(&[&definition(&[drx]), &definition(&[drx, mapping, qos])]), [qos, mapping, handover, drx]);
        assert_eq!(merge(&[&definition(&[])]), [qos, handover]);
        assert!(merged(&detection(), &own, &[&[1, 2, 3]]).is_err());
        assert_eq!(RicStyleType(1), qos.style);
    }
}
