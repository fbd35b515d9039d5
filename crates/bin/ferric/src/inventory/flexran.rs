//! FlexRAN agents of a RIC among its nodes, cells and UEs, with the names that the REST interface has for those of E2 nodes.

use serde_json::{Value, json};

use super::Resource;

/// Where a RIC lists its FlexRAN agents.
pub const PATH: &str = "/v1/flexran-agents";

/// What an agent has as entries of a list; `None` if the list has no such entries.
pub fn entries_of(resource: Resource) -> Option<fn(&Value) -> Vec<Value>> {
    match resource {
        Resource::Nodes => Some(nodes),
        Resource::Cells => Some(cells),
        Resource::Ues => Some(ues),
        Resource::Slices | Resource::Subscriptions | Resource::Xapps => None,
    }
}

fn list<'a>(agent: &'a Value, member: &str) -> impl Iterator<Item = &'a Value> {
    agent[member].as_array().into_iter().flatten()
}

fn nodes(agent: &Value) -> Vec<Value> {
    let ues = list(agent, "ues").count();
    vec![
        json!({ "id": agent["id"], "protocol": "FlexRAN", "ues": ues, "has_slices": false, "reports": agent["reports"] }),
    ]
}

fn cells(agent: &Value) -> Vec<Value> {
    let cell =
        |of: &Value| json!({ "id": of["id"], "plmn": of["plmn"], "base_station": agent["id"], "node": agent["id"] });
    list(agent, "cells").map(cell).collect()
}

fn ues(agent: &Value) -> Vec<Value> {
    let ue = |of: &Value| {
        let name = of["imsi"].as_str().map(|imsi| format!("imsi:{imsi}"));
        json!({ "ue": name, "rnti": of["rnti"], "cell": of["cell"], "nodes": [{ "node": agent["id"] }] })
    };
    list(agent, "ues").map(ue).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agent_is_a_node_with_cells_and_ues() {
        let agent = json!({
            "id": "enb-00101-e00", "reports": 3,
            "cells": [{ "id": "0000e0000", "plmn": "00101" }],
            "ues": [{ "rnti": 0x4601, "imsi": "001010000000001", "cell": "0000e0000" }, { "rnti": 7, "imsi": null }],
        });
        let rows = |resource: Resource| {
            let entries = entries_of(resource).unwrap()(&agent);
            let document = match resource {
                Resource::Nodes => json!({ "nodes": entries }),
                Resource::Cells => json!({ "cells": entries }),
                _ => json!({ "ues": entries }),
            };
            resource.rows(&document)
        };
        assert_eq!(rows(Resource::Nodes), [["enb-00101-e00", "FlexRAN", "2", "no"]]);
        assert_eq!(rows(Resource::Cells)[0][..3], ["0000e0000", "enb-00101-e00", "enb-00101-e00"]);
        let ues = rows(Resource::Ues);
        assert_eq!(ues[0][..3], ["imsi:001010000000001", "0x4601", "0000e0000"]);
        assert_eq!((&*ues[1][0], &*ues[1][6]), ("", "enb-00101-e00"));
        assert!(entries_of(Resource::Xapps).is_none());
    }
}
