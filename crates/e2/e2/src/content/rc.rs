//! E2SM-RC: the RAN parameters of actions, whatever the action.
//!
//! In an item of a list, elements with the key flag and all that are no numbers say what the item is: those of a slice's quota
//! are its PLMN and S-NSSAI. Outside of lists, elements with the key flag do.

use std::fmt::Write;
use std::sync::Arc;

use e2sm::Arena;
use e2sm::common::{RicStyleType, UeId};
use e2sm::rc::{
    ActionId, ControlAction, ControlHeader, ControlHeaderFormats, ControlMessage, ControlMessageFormats, Detection,
    RanParameterItem, RanParameterList, RanParameterStructure, RanParameterValue, RanParameterValueType,
    RicControlActionId,
};
use per::List;

use super::{Amount, ControlContent, Setting, TargetUe, Unreadable, Visit, joined};

/// The deepest nesting of RAN parameters that is looked at; what is deeper counts as one setting.
const MAX_DEPTH: usize = 16;

pub(super) fn walk(
    detection: &Detection,
    header: &[u8],
    message: &[u8],
    visit: Visit<'_>,
) -> Result<Option<ControlContent>, Unreadable> {
    let Detection { revision, wire, .. } = *detection;
    let arena = Arena::new();
    let decoded = ControlHeader::decode_in(header, revision, wire, &arena)?;
    let (target, of_header) = match &decoded.formats {
        ControlHeaderFormats::Format1(format) => {
            (Target::of_ue(&format.ue_id), Some((format.ric_style_type, format.ric_control_action_id)))
        }
        ControlHeaderFormats::Format2(format) => (format.ue_id.as_ref().map(Target::of_ue).unwrap_or_default(), None),
        ControlHeaderFormats::Format3(format) => (
            Target::of_others(format!("group {}", format.ue_group_id.0)),
            Some((format.ric_style_type, format.ric_control_action_id)),
        ),
        ControlHeaderFormats::Format4(format) => (
            Target::of_others(format!("ue {:?}", format.partial_ueid)),
            Some((format.ric_style_type, format.ric_control_action_id)),
        ),
    };
    let arena = Arena::new();
    let decoded = ControlMessage::decode_in(message, revision, wire, &arena)?;
    let mut changed: ControlMessage<'static> = per::IntoOwned::into_owned(decoded);
    let mut is_changed = false;
    match (&mut changed.formats, of_header) {
        (ControlMessageFormats::Format1(format), Some(id)) => {
            is_changed |= walk_action(id, &target, &mut format.ran_p_list, visit);
        }
        (ControlMessageFormats::Format2(format), _) => {
            let mut styles = format.control_style_list.to_vec();
            for style in &mut styles {
                let mut actions = style.control_action_list.to_vec();
                for action in &mut actions {
                    let id = (style.indicated_control_style_type, action.ric_control_action_id);
                    is_changed |= walk_action(id, &target, &mut action.ran_p_list.ran_p_list, visit);
                }
                style.control_action_list = List::from(actions);
            }
            format.control_style_list = List::from(styles);
        }
        (ControlMessageFormats::Format3(format), Some(id)) => {
            // which entities pass a filter is known to the node only
            let target = &target.filtered();
            let mut filters = format.list_of_entity_filters.take().map(|filters| filters.to_vec()).unwrap_or_default();
            for filter in &mut filters {
                is_changed |= walk_action(id, target, &mut filter.entity_specific_control_ran_p_list, visit);
            }
            format.list_of_entity_filters = (!filters.is_empty()).then(|| List::from(filters));
            if let Some(for_all) = &mut format.entity_agnostic_control_ran_p_list {
                is_changed |= walk_action(id, target, for_all, visit);
            }
        }
        (ControlMessageFormats::Format5, Some(id)) => {
            is_changed |= walk_action(id, &target, &mut List::default(), visit);
        }
        // a query changes nothing
        (ControlMessageFormats::Format4(_), _) => {}
        (_, None) => return Err(Unreadable::Codec(e2sm::Error::FormatsDoNotFit)),
    }
    if !is_changed {
        return Ok(None);
    }
    let mut out = Vec::new();
    changed.encode_in(revision, wire, &mut out)?;
    Ok(Some((header.to_vec(), out)))
}

/// Whom the header of a control concerns.
#[derive(Default)]
struct Target {
    ue: Option<Arc<TargetUe>>,
    /// Others than one UE.
    others: String,
}

impl Target {
    /// The UE of a control. A control that does not concern a UE contains UE 0 of the F1 interface.
    fn of_ue(ue: &UeId<'_>) -> Self {
        if matches!(ue, UeId::GnbDu(id) if id.gnb_cu_ue_f1ap_id.0 == 0) {
            return Target::default();
        }
        Target { ue: Some(Arc::new(TargetUe::of(ue))), others: String::new() }
    }

    /// Entities that filters select.
    fn filtered(&self) -> Self {
        let of = self.ue.as_ref().map_or(&self.others, |ue| &ue.text);
        Target::of_others(joined("filtered", of))
    }

    fn of_others(others: String) -> Self {
        Target { ue: None, others }
    }
}

type Items = List<'static, RanParameterItem<'static>>;

/// Visits the parameters of an action. Returns whether one is changed.
fn walk_action(
    (style, action): (RicStyleType, RicControlActionId),
    target: &Target,
    items: &mut Items,
    visit: Visit<'_>,
) -> bool {
    let parameter = format!("rc/{}/{}", style.0, action.0);
    // a quota concerns no UE: nodes ignore the one that each header has
    let is_of_cell = (ActionId { style, action }) == ControlAction::SLICE_PRB_QUOTA;
    let of_cell = Target::default();
    let target = if is_of_cell { &of_cell } else { target };
    let mut keys = String::new();
    items.iter().for_each(|item| key_elements(item, 0, false, &mut keys));
    let scope = joined(&target.others, &keys);
    let ue = target.ue.as_ref();
    let mut walk = Walk { parameter: &parameter, ue, has_number: false, is_changed: false, visit };
    if let Some(changed) = walk.items(&scope, items, 0) {
        *items = changed;
    }
    let Walk { has_number, is_changed, visit, .. } = walk;
    if !has_number {
        visit(Setting { parameter, ue: ue.cloned(), scope, amount: None });
    }
    is_changed
}

/// Appends what identifies an item: its elements with the key flag, and, in a list, those that are no numbers.
fn key_elements(item: &RanParameterItem<'_>, depth: usize, is_in_list: bool, out: &mut String) {
    if depth > MAX_DEPTH {
        return;
    }
    match &item.value_type {
        RanParameterValueType::ElementTrue(element) => write_value(item, &element.value, out),
        RanParameterValueType::ElementFalse(element) => {
            if let Some(value) = element.value.as_ref().filter(|value| is_in_list && number(value).is_none()) {
                write_value(item, value, out);
            }
        }
        RanParameterValueType::Structure(structure) => {
            for item in structure.structure.parameters.iter().flatten() {
                key_elements(item, depth + 1, is_in_list, out);
            }
        }
        // the lists in an item of a list identify it, too; others have items of their own
        RanParameterValueType::List(list) if is_in_list => {
            for item in list.list.list.iter().flat_map(|structure| structure.parameters.iter().flatten()) {
                key_elements(item, depth + 1, is_in_list, out);
            }
        }
        RanParameterValueType::List(_) => {}
    }
}

fn write_value(item: &RanParameterItem<'_>, value: &RanParameterValue<'_>, out: &mut String) {
    if !out.is_empty() {
        out.push(' ');
    }
    // writing to a string does not fail
    let _ = match value {
        RanParameterValue::ValueOctS(octets) => {
            let _ = write!(out, "{}=", item.ran_parameter_id.0);
            octets.to_cow().iter().try_for_each(|octet| write!(out, "{octet:02x}"))
        }
        RanParameterValue::ValueInt(number) => write!(out, "{}={number}", item.ran_parameter_id.0),
        value => write!(out, "{}={value:?}", item.ran_parameter_id.0),
    };
}

fn number(value: &RanParameterValue<'_>) -> Option<i64> {
    match value {
        RanParameterValue::ValueInt(number) => Some(*number),
        _ => None,
    }
}

struct Walk<'p, 'v> {
    parameter: &'p str,
    ue: Option<&'p Arc<TargetUe>>,
    has_number: bool,
    is_changed: bool,
    visit: Visit<'v>,
}

impl Walk<'_, '_> {
    /// Visits items. Returns them if one of them is changed.
    fn items(&mut self, scope: &str, items: &[RanParameterItem<'static>], depth: usize) -> Option<Items> {
        let mut changed: Option<Vec<_>> = None;
        for (at, item) in items.iter().enumerate() {
            if let Some(value_type) = self.item(scope, item, depth) {
                let all = changed.get_or_insert_with(|| items.to_vec());
                all[at].value_type = value_type;
            }
        }
        changed.map(List::from)
    }

    fn item(
        &mut self,
        scope: &str,
        item: &RanParameterItem<'static>,
        depth: usize,
    ) -> Option<RanParameterValueType<'static>> {
        if depth > MAX_DEPTH {
            return None;
        }
        match &item.value_type {
            RanParameterValueType::ElementTrue(_) => None,
            RanParameterValueType::ElementFalse(element) => {
                let number = number(element.value.as_ref()?)?;
                self.has_number = true;
                let parameter = format!("{}/{}", self.parameter, item.ran_parameter_id.0);
                let amount = Some(Amount { number: number as f64, unit: "" });
                let other = (self.visit)(Setting { parameter, ue: self.ue.cloned(), scope: scope.to_owned(), amount })?;
                self.is_changed = true;
                let mut element = element.clone();
                element.value = Some(RanParameterValue::ValueInt(other.round() as i64));
                Some(RanParameterValueType::ElementFalse(element))
            }
            RanParameterValueType::Structure(structure) => {
                let items = structure.structure.parameters.as_deref()?;
                let changed = self.items(scope, items, depth + 1)?;
                let mut structure = structure.clone();
                structure.structure.parameters = Some(changed);
                Some(RanParameterValueType::Structure(structure))
            }
            RanParameterValueType::List(list) => {
                let mut changed: Option<Vec<RanParameterStructure<'static>>> = None;
                for (at, structure) in list.list.list.iter().enumerate() {
                    let Some(items) = structure.parameters.as_deref() else { continue };
                    let mut keys = String::new();
                    items.iter().for_each(|item| key_elements(item, depth, true, &mut keys));
                    if let Some(items) = self.items(&joined(scope, &keys), items, depth + 1) {
                        let all = changed.get_or_insert_with(|| list.list.list.to_vec());
                        all[at].parameters = Some(items);
                    }
                }
                let mut list = list.clone();
                list.list = RanParameterList { list: List::from(changed?) };
                Some(RanParameterValueType::List(list))
            }
        }
    }
}
