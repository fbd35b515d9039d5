//! E2SM-CCC: the attributes of structures of the node and of cells.

use e2sm::ccc::ControlMessage;
use serde_json::{Map, Value};

use super::{Amount, ControlContent, Setting, Unreadable, Visit, joined};

const FORMAT: &str = "controlMessageFormat";
const STRUCTURES: &str = "listOfConfigurationStructures";
const CELLS: &str = "listOfCellsControlled";
const CELL: &str = "cellGlobalId";
const NAME: &str = "ranConfigurationStructureName";
const NEW: &str = "newValuesOfAttributes";
const VALUES: &str = "ranConfigurationStructure";

/// The attributes that identify a structure, of which a node or a cell has several.
fn keys(structure: &str) -> &'static [&'static str] {
    match structure {
        "O-RRMPolicyRatio" => &["resourceType", "rRMPolicyMemberList"],
        "O-NRCellRelation" => &["nRTCI"],
        "O-BWP" => &["bwpContext", "isInitialBwp"],
        _ => &[],
    }
}

pub(super) fn walk(header: &[u8], message: &[u8], visit: Visit<'_>) -> Result<Option<ControlContent>, Unreadable> {
    // what the node would not read is not looked at either; the JSON keeps what this revision does not know
    ControlMessage::decode(message).map_err(|error| Unreadable::Json(error.to_string()))?;
    let mut json: Value = serde_json::from_slice(message).map_err(|error| Unreadable::Json(error.to_string()))?;
    let mut is_changed = false;
    let format = json.get_mut(FORMAT);
    if let Some(format) = format {
        if let Some(Value::Array(structures)) = format.get_mut(STRUCTURES) {
            is_changed |= walk_structures("", structures, visit);
        }
        if let Some(Value::Array(cells)) = format.get_mut(CELLS) {
            for cell in cells {
                let id = cell.get(CELL).map(Value::to_string).unwrap_or_default();
                if let Some(Value::Array(structures)) = cell.get_mut(STRUCTURES) {
                    is_changed |= walk_structures(&id, structures, visit);
                }
            }
        }
    }
    Ok(is_changed.then(|| (header.to_vec(), json.to_string().into_bytes())))
}

fn walk_structures(cell: &str, structures: &mut [Value], visit: Visit<'_>) -> bool {
    let mut is_changed = false;
    for structure in structures {
        let Some(name) = structure.get(NAME).and_then(Value::as_str).map(str::to_owned) else { continue };
        let values = structure.get_mut(NEW).and_then(|new| new.get_mut(VALUES));
        let Some(Value::Object(attributes)) = values else { continue };
        if attributes.keys().all(|attribute| keys(&name).contains(&attribute.as_str())) {
            visit(Setting::new(format!("ccc/{name}"), cell.to_owned(), None));
        }
        is_changed |= walk_attributes(cell, &name, attributes, visit);
    }
    is_changed
}

fn walk_attributes(cell: &str, structure: &str, attributes: &mut Map<String, Value>, visit: Visit<'_>) -> bool {
    let keys = keys(structure);
    let identity: Vec<_> = keys.iter().filter_map(|key| attributes.get(*key)).map(Value::to_string).collect();
    let scope = joined(cell, &identity.join(" "));
    let mut is_changed = false;
    for (name, value) in attributes.iter_mut().filter(|(name, _)| !keys.contains(&name.as_str())) {
        let amount = value.as_f64().map(|number| Amount { number, unit: "" });
        let parameter = format!("ccc/{structure}/{name}");
        let other = visit(Setting::new(parameter, scope.clone(), amount));
        if let (Some(other), Some(_)) = (other, amount) {
            // all numbers of CCC are integers
            *value = Value::from(other.round() as i64);
            is_changed = true;
        }
    }
    is_changed
}
