//! The lists, the resources that they are read from, and the columns of their tables.

use serde_json::{Value, json};

use super::table::Column;
use super::{Ric, flexran};

/// What is listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resource {
    Nodes,
    Cells,
    Ues,
    Slices,
    Subscriptions,
    Xapps,
}

const NODES: &[Column] = &[Column::text("NODE"), Column::text("E2AP"), Column::number("UES"), Column::text("SLICES")];
const CELLS: &[Column] = &[
    Column::text("CELL"),
    Column::text("NODE"),
    Column::text("BASE STATION"),
    Column::text("ADMINISTRATIVE"),
    Column::text("STATE"),
    Column::text("ENERGY SAVING"),
];
const UES: &[Column] = &[
    Column::text("UE"),
    Column::text("RNTI"),
    Column::text("CELL"),
    Column::text("S-NSSAI"),
    Column::text("SLICE"),
    Column::text("ADDRESS"),
    Column::text("NODE"),
];
const SLICES: &[Column] = &[
    Column::text("NODE"),
    Column::text("DIRECTION"),
    Column::number("SLICE"),
    Column::text("LABEL"),
    Column::text("ALGORITHM"),
    Column::text("SHARE"),
    Column::text("UE SCHEDULER"),
];
const SUBSCRIPTIONS: &[Column] = &[
    Column::number("ID"),
    Column::text("NODE"),
    Column::number("FUNCTION"),
    Column::text("STATE"),
    Column::number("ACTIONS"),
    Column::text("APPS"),
    Column::number("INDICATIONS"),
    Column::number("OCTETS"),
    Column::number("DROPPED"),
    Column::number("NEWEST MS AGO"),
];
const XAPPS: &[Column] = &[
    Column::text("XAPP"),
    Column::number("NUMBER"),
    Column::number("SUBSCRIPTIONS"),
    Column::number("REQUESTS"),
    Column::number("OUTBOX OCTETS"),
    Column::number("DROPPED REPORTS"),
];

impl Resource {
    /// Its path in the REST interface.
    fn path(self) -> &'static str {
        match self {
            Resource::Nodes | Resource::Slices => "/v1/nodes",
            Resource::Cells => "/v1/cells",
            Resource::Ues => "/v1/ues",
            Resource::Subscriptions => "/v1/subscriptions",
            Resource::Xapps => "/v1/xapps",
        }
    }

    /// The member of its document with the entries.
    fn member(self) -> &'static str {
        match self {
            Resource::Nodes | Resource::Slices => "nodes",
            Resource::Cells => "cells",
            Resource::Ues => "ues",
            Resource::Subscriptions => "subscriptions",
            Resource::Xapps => "xapps",
        }
    }

    /// What to do if there is none.
    pub fn absence(self) -> &'static str {
        match self {
            Resource::Nodes => "the RIC has no node: connect a base station, or `ferric ran`, to its E2 address",
            Resource::Cells => "no node has stated its cells",
            Resource::Ues => "no node has reported a UE",
            Resource::Slices => "no node has slices",
            Resource::Subscriptions => "there are no subscriptions",
            Resource::Xapps => "no xApp is connected",
        }
    }

    pub fn columns(self) -> &'static [Column] {
        match self {
            Resource::Nodes => NODES,
            Resource::Cells => CELLS,
            Resource::Ues => UES,
            Resource::Slices => SLICES,
            Resource::Subscriptions => SUBSCRIPTIONS,
            Resource::Xapps => XAPPS,
        }
    }

    /// Reads the document: that of the REST interface with FlexRAN agents, or, for slices, the slices of each node that has them.
    pub(super) fn read(self, ric: &Ric) -> anyhow::Result<Value> {
        let path = self.path();
        let mut document = ric.get(path)?;
        let entries = ric.entries(path, &document, self.member())?;
        if self != Resource::Slices {
            // a RIC that is older, or without FlexRAN, has no such resource
            if let Some(of_agents) = flexran::entries_of(self)
                && let Some(agents) = ric.find(flexran::PATH)?
                && let Some(entries) = document[self.member()].as_array_mut()
            {
                entries.extend(agents["agents"].as_array().into_iter().flatten().flat_map(of_agents));
            }
            return Ok(document);
        }
        let mut nodes = Vec::new();
        for node in entries.iter().filter(|node| node["has_slices"] == true) {
            let id = node["id"].as_str().unwrap_or_default();
            // a node that has just connected has not reported its slices, one that is lost has none
            if let Some(slices) = ric.find(&format!("{path}/{id}/slices"))? {
                nodes.push(json!({ "id": id, "dl": slices["dl"], "ul": slices["ul"] }));
            }
        }
        Ok(json!({ "nodes": nodes }))
    }

    /// The rows of the table, with a text for each column.
    pub fn rows(self, document: &Value) -> Vec<Vec<String>> {
        let entries = document[self.member()].as_array().into_iter().flatten();
        match self {
            Resource::Nodes => entries.map(node).collect(),
            Resource::Cells => entries.map(cell).collect(),
            Resource::Ues => entries.map(ue).collect(),
            Resource::Slices => entries.flat_map(slices).collect(),
            Resource::Subscriptions => entries.map(subscription).collect(),
            Resource::Xapps => entries.map(xapp).collect(),
        }
    }
}

/// A value as text: texts without quotes, lists with commas. What is unknown is empty.
fn text(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Array(values) => values.iter().map(text).collect::<Vec<_>>().join(", "),
        value => value.to_string(),
    }
}

fn node(node: &Value) -> Vec<String> {
    let slices = if node["has_slices"] == true { "yes" } else { "no" };
    // a FlexRAN agent has no version of E2AP
    let protocol = if node["protocol"].is_null() { &node["e2ap"] } else { &node["protocol"] };
    vec![text(&node["id"]), text(protocol), text(&node["ues"]), slices.to_owned()]
}

fn cell(cell: &Value) -> Vec<String> {
    let saving = match cell["is_energy_saving"].as_bool() {
        Some(true) => "yes",
        Some(false) => "no",
        None => "",
    };
    let mut row =
        ["id", "node", "base_station", "administrative_state", "cell_state"].map(|name| text(&cell[name])).to_vec();
    row.push(saving.to_owned());
    row
}

fn ue(ue: &Value) -> Vec<String> {
    let rnti = ue["rnti"].as_u64().map(|rnti| format!("{rnti:#06x}")).unwrap_or_default();
    let s_nssai = |of: &Value| match of["sd"].as_str() {
        Some(sd) => format!("{}-{sd}", text(&of["sst"])),
        None => text(&of["sst"]),
    };
    let s_nssais: Vec<String> = ue["s_nssais"].as_array().into_iter().flatten().map(s_nssai).collect();
    let nodes: Vec<String> = ue["nodes"].as_array().into_iter().flatten().map(|of| text(&of["node"])).collect();
    // the downlink's, and the uplink's where it has another one
    let slice = match (&ue["slices"]["dl"], &ue["slices"]["ul"]) {
        (dl, Value::Null) => text(dl),
        (dl, ul) => format!("{}/{}", if dl.is_null() { "-".to_owned() } else { text(dl) }, text(ul)),
    };
    vec![text(&ue["ue"]), rnti, text(&ue["cell"]), s_nssais.join(", "), slice, text(&ue["ip"]), nodes.join(", ")]
}

fn slices(node: &Value) -> Vec<Vec<String>> {
    let of_direction = |direction: &'static str| {
        let of = &node[direction];
        of["slices"].as_array().into_iter().flatten().map(move |slice| {
            vec![
                text(&node["id"]),
                direction.to_owned(),
                text(&slice["id"]),
                text(&slice["label"]),
                text(&of["algorithm"]),
                share(slice),
                text(&slice["ue_scheduler"]),
            ]
        })
    };
    of_direction("dl").chain(of_direction("ul")).collect()
}

/// What a slice has of its cell: one of the members that REST describes.
fn share(slice: &Value) -> String {
    let number = |value: &Value| value.as_f64().map(|number| format!("{number:.1}")).unwrap_or_default();
    if let Some(percent) = slice["share_percent"].as_f64() {
        return format!("{percent:.1} %");
    }
    if let Some(rate) = slice["rate"].as_object() {
        return format!("{} of {} Mbit/s", number(&rate["required_mbps"]), number(&rate["reference_mbps"]));
    }
    if let Some(positions) = slice["positions"].as_object() {
        return format!("{} to {}", text(&positions["first"]), text(&positions["last"]));
    }
    if let Some(on_demand) = slice["on_demand"].as_object() {
        return format!("{} % on demand", number(&on_demand["share_percent"]));
    }
    if let Some(deadline) = slice["deadline"].as_object() {
        let [prbs, slots] = ["guaranteed_prbs", "deadline_slots"].map(|name| text(&deadline[name]));
        return format!("{prbs} PRBs in {slots} slots");
    }
    String::new()
}

fn subscription(subscription: &Value) -> Vec<String> {
    let names =
        ["id", "node", "function", "state", "actions", "apps", "indications", "indication_octets", "dropped_reports"];
    let mut row = names.map(|name| text(&subscription[name])).to_vec();
    row.push(subscription["newest_age_ms"].as_f64().map(|age| format!("{age:.0}")).unwrap_or_default());
    row
}

fn xapp(xapp: &Value) -> Vec<String> {
    let subscriptions = xapp["subscriptions"].as_array().map_or(0, Vec::len);
    let [name, number, requests, octets, dropped] =
        ["name", "number", "requests", "outbox_octets", "dropped_reports"].map(|name| text(&xapp[name]));
    vec![name, number, subscriptions.to_string(), requests, octets, dropped]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ue_without_names_has_empty_columns() {
        let document = json!({ "ues": [{ "ue": null, "rnti": 0x4601, "nodes": [{ "node": null, "ids": {} }] }] });
        assert_eq!(Resource::Ues.rows(&document), [["", "0x4601", "", "", "", "", ""]]);
    }

    #[test]
    fn ue_has_the_slices_of_both_directions_where_they_differ() {
        let of = |slices: Value| Resource::Ues.rows(&json!({ "ues": [{ "slices": slices }] })).remove(0).remove(4);
        assert_eq!(of(json!({ "dl": 1, "ul": null })), "1");
        assert_eq!(of(json!({ "dl": 1, "ul": 2 })), "1/2");
        assert_eq!(of(json!({ "dl": null, "ul": 2 })), "-/2");
        assert_eq!(of(Value::Null), "");
    }

    #[test]
    fn share_of_a_slice_is_what_its_algorithm_has() {
        for (slice, expected) in [
            (json!({ "share_percent": 12.5 }), "12.5 %"),
            (json!({ "rate": { "required_mbps": 5.0, "reference_mbps": 100.0 } }), "5.0 of 100.0 Mbit/s"),
            (json!({ "positions": { "first": 0, "last": 12 } }), "0 to 12"),
            (json!({ "on_demand": { "share_percent": 20.0 } }), "20.0 % on demand"),
            (json!({ "deadline": { "deadline_slots": 20, "guaranteed_prbs": 40 } }), "40 PRBs in 20 slots"),
            (json!({}), ""),
        ] {
            assert_eq!(share(&slice), expected);
        }
    }

    #[test]
    fn each_row_has_all_columns() {
        let node = json!({ "id": "a", "dl": { "slices": [{ "id": 1 }] } });
        for resource in [
            Resource::Nodes,
            Resource::Cells,
            Resource::Ues,
            Resource::Slices,
            Resource::Subscriptions,
            Resource::Xapps,
        ] {
            let document = json!({ resource.member(): [node] });
            let rows = resource.rows(&document);
            assert_eq!((rows.len(), rows[0].len()), (1, resource.columns().len()), "{resource:?}");
        }
    }
}
