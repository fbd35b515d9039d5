//! Nodes of E2SM-KPM v01.00, which report fixed containers instead of chosen measurements.

use anyhow::{Context, bail};
use e2ap::{RicActionId, RicActionType};
use e2sm::common::RicStyleType;
use e2sm::kpm::v1::{
    ActionDefinition, Class, EventTriggerDefinition, IndicationMessage, RanFunctionDefinition, ReportPeriod, Row,
};
use ferric::e2::{Action, SubscriptionSpec};
use tracing::info;

use super::kpm_request::MAX_ACTIONS;

/// A subscription to the report styles of a node, with the nearest period: to all, to `style` alone, or to the first one of a
/// node that takes a single action.
pub fn subscription(definition: &[u8], period_ms: u32, style: Option<i64>) -> anyhow::Result<SubscriptionSpec> {
    let definition = RanFunctionDefinition::decode_owned(definition)?;
    let period = ReportPeriod::nearest(period_ms);
    if period.ms() != period_ms {
        info!(period_ms = period.ms(), "KPM v01.00 has no such period: using the nearest");
    }
    let mut event_trigger = Vec::new();
    EventTriggerDefinition::every(period).encode(&mut event_trigger)?;
    let offered = definition.e2sm_kpm_ran_function_item.ric_report_style_list.unwrap_or_default();
    let offered: Vec<i64> = offered.iter().map(|style| style.ric_report_style_type.0).collect();
    let styles = match (style, offered.first()) {
        (_, None) => bail!("the node offers no report style"),
        (Some(style), _) if offered.contains(&style) => vec![style],
        (Some(style), _) => bail!("the node offers no report style {style}, only {offered:?}: change --style"),
        // O-RAN SC's simulator, which leaves the short name empty, admits one action and reports under the id of the last
        (None, Some(first)) if definition.ran_function_name.short_name.is_empty() => {
            info!(
                style = first,
                "the node takes one action per subscription: requesting its first style; --style selects another"
            );
            vec![*first]
        }
        (None, Some(_)) => offered,
    };
    let mut actions = Vec::new();
    for (id, style) in (0..).zip(styles.into_iter().take(MAX_ACTIONS)) {
        let mut bytes = Vec::new();
        let action = ActionDefinition { ric_style_type: RicStyleType(style) };
        action.encode(&mut bytes).context("cannot encode the report style")?;
        let (id, kind) = (RicActionId(id), RicActionType::Report);
        actions.push(Action { id, kind, definition: Some(bytes), subsequent: None });
    }
    Ok(SubscriptionSpec { event_trigger, actions })
}

/// The rows of a report: its subject, its measurement and its value.
pub fn values(message: &[u8]) -> Result<Vec<(String, String, Option<f64>)>, per::Error> {
    let message = IndicationMessage::decode_owned(message)?;
    Ok(message.rows().iter().map(|row| (subject(row), row.counter.name().to_owned(), Some(row.value as f64))).collect())
}

fn subject(row: &Row) -> String {
    if let Some(c_rnti) = row.c_rnti {
        return format!("c-rnti-{c_rnti}");
    }
    let mut name = match (row.cell, row.interface) {
        (Some(_), _) => "cell".to_owned(),
        (None, Some(_)) => "user plane".to_owned(),
        (None, None) => "node".to_owned(),
    };
    if let Some(slice) = row.slice {
        name += &format!(" sst-{}", slice.sst.0[0]);
        if let Some(sd) = slice.sd {
            name += &format!("-{:02x}{:02x}{:02x}", sd.0[0], sd.0[1], sd.0[2]);
        }
    }
    match row.class {
        Some(Class::FiveQi(five_qi)) => name += &format!(" 5qi-{five_qi}"),
        Some(Class::Qci(qci)) => name += &format!(" qci-{qci}"),
        None => {}
    }
    name
}
