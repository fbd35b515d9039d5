//! `/v1/nodes/{node}/statistics/…`: the last report of each kind.

use per::Describe;
use serde_json::{Map, Value};

use super::super::node::LatestReport;
use super::{AppQueue, Read, ReportModel, reading, reported};
use per::json;
use rest::{Problem, Response, Route};

pub(super) fn routes(queue: &AppQueue) -> Vec<Route> {
    vec![reading("/v1/nodes/{node}/statistics/{model}", queue, |request| {
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
