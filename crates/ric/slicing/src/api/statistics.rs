//! `/v1/nodes/{node}/statistics/…`: the last report of each kind.

use per::Describe;
use schemars::JsonSchema;
use serde_json::{Map, Value};

use super::super::node::LatestReport;
use super::{AppQueue, NODE, Read, ReportModel, reading, reported};
use per::json;
use rest::{Operation, Parameter, Problem, Response, Route};

const MODEL: Parameter = Parameter::choice("model", "The kind of statistics.", &["mac", "rlc", "pdcp", "tc"]);

/// The content depends on the model: `ues` for mac, `bearers` for rlc and pdcp, the configuration and counters of TC for tc.
#[derive(JsonSchema)]
#[schemars(extend("additionalProperties" = true))]
#[allow(dead_code, reason = "the schema of what the service models describe")]
struct Statistics {
    /// The time of the report, in microseconds of Unix time.
    timestamp_us: i64,
    #[schemars(skip_serializing_if = "Option::is_none", with = "Vec<Map<String, Value>>")]
    ues: Option<Vec<Map<String, Value>>>,
    #[schemars(skip_serializing_if = "Option::is_none", with = "Vec<Map<String, Value>>")]
    bearers: Option<Vec<Map<String, Value>>>,
    /// The number of omitted records.
    #[schemars(skip_serializing_if = "Option::is_none", with = "u64")]
    omitted: Option<u64>,
}

pub(super) fn routes(queue: &AppQueue) -> Vec<Route> {
    const PATH: &str = "/v1/nodes/{node}/statistics/{model}";
    let operation =
        Operation::get(PATH, "getStatistics", "The last report of one kind of statistics").tag("statistics");
    let operation = operation.path(&[NODE, MODEL]).describe("503: there is no report yet.");
    let operation = operation.returns::<Statistics>("The report, with the field names and units of the service model.");
    vec![reading(operation, queue, |request| {
        let read: Read = match request.parameter(1) {
            "mac" => Box::new(|node| latest("ues", reported(node, ReportModel::Mac, node.mac.as_ref())?)),
            "rlc" => Box::new(|node| latest("bearers", reported(node, ReportModel::Rlc, node.rlc.as_ref())?)),
            "pdcp" => Box::new(|node| latest("bearers", reported(node, ReportModel::Pdcp, node.pdcp.as_ref())?)),
            "tc" => Box::new(|node| {
                let report = reported(node, ReportModel::Tc, node.tc.as_ref())?.clone();
                Ok(Response::lazy(move || json::of(&report)))
            }),
            other => {
                return Err(Problem::not_found(format!(
                    "there are statistics of mac, rlc, pdcp and tc, not of `{other}`"
                )));
            }
        };
        Ok(read)
    })]
}

/// Returns a report: its time, its records, and the number of omitted records.
fn latest<T: Clone + Describe + Send + 'static>(
    list: &'static str,
    latest: &LatestReport<T>,
) -> Result<Response, Problem> {
    let LatestReport { timestamp_us, records, omitted } = latest.clone();
    Ok(Response::lazy(move || {
        let records = records.iter().map(|record| json::of(record)).collect();
        let mut document = Map::new();
        document.insert("timestamp_us".to_owned(), timestamp_us.into());
        document.insert(list.to_owned(), Value::Array(records));
        document.insert("omitted".to_owned(), omitted.into());
        Value::Object(document)
    }))
}
