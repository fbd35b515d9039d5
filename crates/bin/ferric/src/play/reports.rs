//! The meaning of reports: what a live base station reports again, and what it measures anew.

use std::collections::HashMap;

use e2ap::{Pdu, RanFunctionId, RicIndicationType, Version};
use e2sm::{Arena, Model, kpm};
use per::{Gather, json};
use serde_json::Value;

/// The modules of FlexRIC's models, by the names of their types.
const FLEXRIC: [(&str, Model); 6] = [
    ("mac", e2sm::mac::MODEL),
    ("rlc", e2sm::rlc::MODEL),
    ("pdcp", e2sm::pdcp::MODEL),
    ("gtp", e2sm::gtp::MODEL),
    ("slice", e2sm::slice::MODEL),
    ("tc", e2sm::tc::MODEL),
];

/// What reports of a RAN function consist of.
#[derive(Clone, Debug)]
struct Reports {
    /// The types of header and message.
    header: String,
    message: String,
    /// Whether every number is measured.
    is_all_measured: bool,
}

/// The RAN functions whose reports are known, from the node's E2 Setup.
#[derive(Debug, Default)]
pub struct Functions(HashMap<RanFunctionId, Reports>);

impl Functions {
    /// Reads the functions of an E2 Setup Request.
    pub fn of_setup(pdu: &[u8], version: Version) -> Self {
        let gather = Gather::new();
        let Ok(Pdu::E2SetupRequest(setup)) = e2ap::decode(pdu, version, &gather).map(|decoded| decoded.pdu) else {
            return Functions::default();
        };
        let functions = setup.ran_functions_added.iter().flat_map(|list| list.iter()).filter_map(|function| {
            let oid = function.oid.as_ref().map_or("", |oid| oid.as_str());
            Some((function.id, reports(oid, function.revision.0, &function.definition.to_cow())?))
        });
        Functions(functions.collect())
    }

    /// Whether two reports of a function differ in times and measured values only.
    pub fn agree(&self, recorded: &[u8], now: &[u8], version: Version) -> bool {
        let gathers = [Gather::new(), Gather::new()];
        let decode = |pdu, gather| match e2ap::decode(pdu, version, gather).map(|decoded| decoded.pdu) {
            Ok(Pdu::RicIndication(indication)) if indication.kind == RicIndicationType::Report => Some(indication),
            _ => None,
        };
        let (Some(before), Some(after)) = (decode(recorded, &gathers[0]), decode(now, &gathers[1])) else {
            return false;
        };
        let Some(reports) = self.0.get(&before.ran_function_id) else { return false };
        reports.agree(&reports.header, &before.header.to_cow(), &after.header.to_cow())
            && reports.agree(&reports.message, &before.message.to_cow(), &after.message.to_cow())
    }
}

impl Reports {
    fn agree(&self, ty: &str, before: &[u8], after: &[u8]) -> bool {
        before == after || matches!((self.meaning(ty, before), self.meaning(ty, after)), (Some(a), Some(b)) if a == b)
    }

    fn meaning(&self, ty: &str, octets: &[u8]) -> Option<Value> {
        let arena = Arena::new();
        let mut value = json::of(&e2sm::registry::decode(ty, octets, &arena).ok()?);
        forget_measured(&mut value, self.is_all_measured);
        Some(value)
    }
}

fn reports(oid: &str, revision: u16, definition: &[u8]) -> Option<Reports> {
    if let Ok(detection) = kpm::Detection::from_ran_function(oid, revision, definition) {
        let suffix = if detection.wire == e2sm::Wire::Flat { "-flat" } else { "" };
        let name = |part: &str| format!("kpm-{}{suffix}:E2SM-KPM-Indication{part}", detection.revision);
        return Some(Reports { header: name("Header"), message: name("Message"), is_all_measured: false });
    }
    if let Some(wire) = e2sm::rrc::MODEL.wire_of(oid) {
        let name = |part: &str| format!("rrc-{wire}:Indication{part}");
        return Some(Reports { header: name("Header"), message: name("Message"), is_all_measured: false });
    }
    let (module, wire) = FLEXRIC.iter().find_map(|(module, model)| Some((module, model.wire_of(oid)?)))?;
    let name = |part: &str| format!("{module}-{wire}:Indication{part}");
    Some(Reports { header: name("Header"), message: name("Message"), is_all_measured: true })
}

/// Replaces times and measured values. A value of KPM may be a whole number in one report and absent in the next
/// (MeasurementRecordItem, O-RAN E2SM-KPM 8.3.11).
fn forget_measured(value: &mut Value, is_all_measured: bool) {
    match value {
        Value::Object(fields) => {
            let is_record =
                fields.len() == 1 && fields.keys().all(|key| matches!(&**key, "Integer" | "Real" | "NoValue"));
            if is_record {
                *value = Value::from("measured");
                return;
            }
            fields.remove("incomplete_flag");
            for (key, value) in fields.iter_mut() {
                if key.contains("time") || key.contains("stamp") {
                    *value = Value::Null;
                } else {
                    forget_measured(value, is_all_measured && key != "rnti");
                }
            }
        }
        Value::Array(elements) => elements.iter_mut().for_each(|value| forget_measured(value, is_all_measured)),
        Value::Number(_) if is_all_measured => *value = Value::from("measured"),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_and_times_are_forgotten_and_names_are_not() {
        let report = |time: &str, value: Value, name: &str| {
            let mut report = json!({
                "collet_start_time": time,
                "ue_id": { "amf_ue_ngap_id": 1 },
                "meas_data": [{ "meas_record": [value] }],
                "meas_info_list": [{ "name": name }],
            });
            forget_measured(&mut report, false);
            report
        };
        let first = report("00", json!({ "Integer": 5 }), "DRB.UEThpDl");
        assert_eq!(first, report("01", json!({ "NoValue": null }), "DRB.UEThpDl"));
        assert_ne!(first, report("00", json!({ "Integer": 5 }), "DRB.UEThpUl"));
        let mut of_mac = json!({ "ues": [{ "rnti": 7, "mcs": 3, "tstamp": 9 }] });
        forget_measured(&mut of_mac, true);
        assert_eq!(of_mac, json!({ "ues": [{ "rnti": 7, "mcs": "measured", "tstamp": null }] }));
    }
}
