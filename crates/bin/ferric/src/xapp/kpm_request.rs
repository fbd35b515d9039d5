//! The subscription to a node's KPM function: what to request of what the node offers.

use anyhow::bail;
use e2ap::{RicActionId, RicActionType};
use e2sm::Arena;
use e2sm::common::{SNssai, Sst};
use e2sm::kpm::v2_00::{self, CellReports};
use e2sm::kpm::{
    Detection, EventTriggerDefinition, EveryUe, MeasurementRequest, RanFunctionDefinition, ReportRequest, Revision,
    RicReportStyleItem, Scope,
};
use ferric::e2::{Action, SubscriptionSpec};
use tracing::info;

use super::kpm::Args;

/// The default measurements of UEs, and of the UEs of a slice.
const OF_UES: &[&str] = &[
    "DRB.UEThpDl",
    "DRB.UEThpUl",
    "DRB.RlcSduDelayDl",
    "RRU.PrbTotDl",
    "RRU.PrbTotUl",
    "CQI",
    "DRB.PdcpSduVolumeDL",
    "DRB.PdcpSduVolumeUL",
];
/// The default measurements of a cell, or of a central unit, which has no cell.
const OF_NODE: &[&str] = &[
    "DRB.UEThpDl",
    "DRB.UEThpUl",
    "DRB.RlcSduDelayDl",
    "RRU.PrbTotDl",
    "RRU.PrbTotUl",
    "DRB.MeanActiveUeDl",
    "RRC.ConnMean",
    "RRC.ConnMax",
    "DRB.PdcpSduVolumeDL",
    "DRB.PdcpSduVolumeUL",
];
/// The most measurements that are requested of a node that offers none of the default ones, and that a warning names.
const MAX_OTHERS: usize = 8;
/// The most actions of one subscription (E2AP: maxofRICactionID).
pub const MAX_ACTIONS: usize = 16;

/// A subscription, and the encoded action definition that names the values of its reports.
pub struct Request {
    pub spec: SubscriptionSpec,
    pub action: Vec<u8>,
}

/// The subscription to a function of v02.00 or later.
pub fn subscription(args: &Args, detection: &Detection, definition: &[u8]) -> anyhow::Result<Request> {
    match detection.revision {
        Revision::V2_00 => of_cells(args, definition),
        _ => of_ues_or_node(args, detection, definition),
    }
}

fn of_ues_or_node(args: &Args, detection: &Detection, definition: &[u8]) -> anyhow::Result<Request> {
    let arena = Arena::new();
    let (revision, wire) = (detection.revision, detection.wire);
    let definition = RanFunctionDefinition::decode_in(definition, revision, wire, &arena)?;
    let every = args.sst.map_or(EveryUe::AnySignal, |sst| EveryUe::InSlice(SNssai { sst: Sst([sst]), sd: None }));
    // a node without measurements by UE may offer those of the cell
    let scopes = [(4, Scope::EveryUe(every), OF_UES), (1, Scope::Node, OF_NODE)];
    let mut refused = None;
    for (format, scope, usual) in scopes.into_iter().filter(|(_, scope, _)| !args.cell || *scope == Scope::Node) {
        let styles = definition.ric_report_style_list.iter().flatten();
        let fitting = styles.filter(|style| style.ric_action_format_type.0 == format);
        let offered =
            fitting.map(|style| style.meas_info_action_list.iter().map(|item| item.meas_name.as_str()).collect());
        let names = choose(args, usual, offered);
        let measurements: Vec<_> = names.into_iter().map(MeasurementRequest::named).collect();
        let request = ReportRequest {
            measurements: &measurements,
            granularity_period_ms: args.period_ms,
            reporting_period_ms: args.period_ms,
            scope,
        };
        let plan = match request.plan(&definition, revision) {
            Ok(plan) => plan,
            Err(error) => {
                refused.get_or_insert(error);
                continue;
            }
        };
        let (mut event_trigger, mut action) = (Vec::new(), Vec::new());
        plan.trigger.encode_in(revision, wire, &mut event_trigger)?;
        plan.action.encode_in(revision, wire, &mut action)?;
        let actions = vec![report(1, action.clone())];
        return Ok(Request { spec: SubscriptionSpec { event_trigger, actions }, action });
    }
    let styles = definition.ric_report_style_list.iter().flatten();
    let offers: Vec<String> = styles.map(offer).collect();
    bail!(refusal(args, refused.as_ref(), &offers))
}

/// The subscription to each cell that a node of v02.00 lists.
fn of_cells(args: &Args, definition: &[u8]) -> anyhow::Result<Request> {
    let arena = Arena::new();
    let definition = v2_00::RanFunctionDefinition::decode(definition, &arena)?;
    let styles = || definition.ric_report_style_list.iter().flatten();
    let offered = styles()
        .filter(|style| style.ric_action_format_type.0 == 1)
        .map(|style| style.meas_info_action_list.iter().map(|item| item.meas_name.as_str()).collect());
    let names = choose(args, OF_NODE, offered);
    let reports = CellReports { measurements: &names, granularity_period_ms: args.period_ms };
    let cells = match reports.actions(&definition) {
        Ok(cells) => cells,
        Err(error) => {
            let names = |style: &v2_00::RicReportStyleItem<'_>| {
                let names = style.meas_info_action_list.iter().map(|item| item.meas_name.to_string()).collect();
                offer_of(style.ric_report_style_type.0, &style.ric_report_style_name.0, names)
            };
            bail!(refusal(args, Some(&error), &styles().map(names).collect::<Vec<_>>()))
        }
    };
    if cells.len() > MAX_ACTIONS {
        info!(cells = cells.len(), requested = MAX_ACTIONS, "a subscription has at most {MAX_ACTIONS} cells");
    }
    let mut event_trigger = Vec::new();
    EventTriggerDefinition::every(args.period_ms).encode(Revision::V2_01, &mut event_trigger)?;
    let mut actions = Vec::new();
    for (id, cell) in (1..).zip(cells.iter().take(MAX_ACTIONS)) {
        let mut action = Vec::new();
        cell.encode(&mut action)?;
        actions.push(report(id, action));
    }
    // the measurements are the same for all cells
    let action = actions.first().and_then(|action| action.definition.clone()).unwrap_or_default();
    Ok(Request { spec: SubscriptionSpec { event_trigger, actions }, action })
}

fn report(id: u8, definition: Vec<u8>) -> Action {
    Action { id: RicActionId(id), kind: RicActionType::Report, definition: Some(definition), subsequent: None }
}

/// The measurements to request: those of the command line, or the usual ones that a report style offers, of the style that has most
/// of them, or the first ones of a style without any. Each item of `offered` is a style with the required format.
fn choose<'d>(args: &'d Args, usual: &[&str], offered: impl Iterator<Item = Vec<&'d str>>) -> Vec<&'d str> {
    if !args.measurements.is_empty() {
        return args.measurements.iter().map(String::as_str).collect();
    }
    let mut best = (Vec::new(), Vec::new());
    for names in offered {
        let found: Vec<&str> =
            usual.iter().filter_map(|wanted| names.iter().find(|name| *name == wanted)).copied().collect();
        if best.1.is_empty() || found.len() > best.0.len() {
            best = (found, names);
        }
    }
    let (found, names) = best;
    if found.is_empty() { names.into_iter().take(MAX_OTHERS).collect() } else { found }
}

fn offer(style: &RicReportStyleItem<'_>) -> String {
    let names = style.meas_info_action_list.iter().map(|item| item.meas_name.to_string()).collect();
    offer_of(style.ric_report_style_type.0, &style.ric_report_style_name.0, names)
}

/// `style 1 (E2 Node Measurement): RRC.ConnMean, RRC.ConnMax`
fn offer_of(style: i64, name: &str, mut names: Vec<String>) -> String {
    let more = names.len().saturating_sub(MAX_OTHERS);
    names.truncate(MAX_OTHERS);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("style {style} ({name}): {}{more}", names.join(", "))
}

/// What was requested, what the node offers, and what to do.
fn refusal(args: &Args, error: Option<&e2sm::Error>, offers: &[String]) -> String {
    let scope = if args.cell { "of the cell" } else { "of each UE or of the cell" };
    let requested = match args.measurements.as_slice() {
        [] => format!("measurements {scope}"),
        names => format!("{} {scope}", names.join(", ")),
    };
    let error = match error {
        Some(e2sm::Error::EmptyRequest | e2sm::Error::NoReportStyle) | None => String::new(),
        Some(error) => format!(": {error}"),
    };
    match offers {
        [] => {
            format!("cannot request {requested}{error}: the node offers no report style, so it has nothing to report")
        }
        offers => format!(
            "cannot request {requested}{error}; the node offers {}; request what it offers with --measurement NAME{}",
            offers.join("; "),
            if args.cell { ", or without --cell" } else { "" }
        ),
    }
}

#[cfg(test)]
mod tests {
    use e2sm::common::{RanFunctionName, RicFormatType, RicStyleName, RicStyleType};
    use e2sm::kpm::{
        ActionDefinition, ActionDefinitionFormats, MeasurementInfoActionItem, MeasurementType, MeasurementTypeName,
    };
    use per::{List, PrintableString};

    use super::*;

    fn definition(styles: &[(i64, i64, &'static [&'static str])]) -> Vec<u8> {
        let item = |name: &&'static str| MeasurementInfoActionItem {
            meas_name: MeasurementTypeName(PrintableString::literal(name)),
            meas_id: None,
            bin_range_def: None,
        };
        let style = |(number, format, names): &(i64, i64, &'static [&'static str])| RicReportStyleItem {
            ric_report_style_type: RicStyleType(*number),
            ric_report_style_name: RicStyleName(PrintableString::literal("a style")),
            ric_action_format_type: RicFormatType(*format),
            meas_info_action_list: names.iter().map(item).collect(),
            ric_indication_header_format_type: RicFormatType(1),
            ric_indication_message_format_type: RicFormatType(1),
        };
        let definition = RanFunctionDefinition {
            ran_function_name: RanFunctionName {
                short_name: PrintableString::literal("ORAN-E2SM-KPM"),
                e2sm_oid: PrintableString::literal("1.3.6.1.4.1.53148.1.2.2.2"),
                description: PrintableString::literal("KPM"),
                instance: None,
            },
            ric_event_trigger_style_list: None,
            ric_report_style_list: (!styles.is_empty()).then(|| styles.iter().map(style).collect::<List<'_, _>>()),
        };
        let mut bytes = Vec::new();
        definition.encode(Revision::V3_00, &mut bytes).unwrap();
        bytes
    }

    /// The style and the measurements of the request.
    fn requested(args: &Args, definition: &[u8]) -> Result<(i64, Vec<String>), String> {
        let request = subscription(args, &Detection::configured(Revision::V3_00), definition);
        let action = request.map_err(|error| format!("{error:#}"))?.action;
        let action = ActionDefinition::decode_owned(&action, Revision::V3_00).unwrap();
        let format1 = match &action.formats {
            ActionDefinitionFormats::Format1(format1) => format1,
            ActionDefinitionFormats::Format4(format4) => &format4.subscription_info,
            other => panic!("{other:?}"),
        };
        let name = |info: &e2sm::kpm::MeasurementInfoItem<'_>| match &info.meas_type {
            MeasurementType::MeasName(name) => name.to_string(),
            MeasurementType::MeasId(id) => panic!("{id:?}"),
        };
        Ok((action.ric_style_type.0, format1.meas_info_list.iter().map(name).collect()))
    }

    #[test]
    fn node_without_usual_measurements_is_asked_for_its_own() {
        // as a CU-CP
        let cu_cp = definition(&[(1, 1, &["RRC.ConnMean", "RRC.ConnMax"])]);
        let expected = vec!["RRC.ConnMean".to_owned(), "RRC.ConnMax".to_owned()];
        assert_eq!(requested(&Args::default(), &cu_cp), Ok((1, expected)));
        // measurements of the UEs go first, the usual ones before others
        let du = definition(&[(1, 1, &["RRU.PrbTotDl", "X.Y"]), (4, 4, &["A.B", "CQI"])]);
        assert_eq!(requested(&Args::default(), &du), Ok((4, vec!["CQI".to_owned()])));
        let cell = Args { cell: true, ..Args::default() };
        assert_eq!(requested(&cell, &du), Ok((1, vec!["RRU.PrbTotDl".to_owned()])));
    }

    /// The defaults are those of the scope, and of one report style: no request mixes the names of two.
    #[test]
    fn defaults_are_those_of_the_scope_and_of_one_style() {
        let node = definition(&[
            (1, 1, &["RRU.PrbTotDl", "DRB.UEThpDl", "DRB.MeanActiveUeDl", "A.B"]),
            (4, 4, &["CQI", "DRB.UEThpDl", "RSRP"]),
            (7, 1, &["CQI", "RRC.ConnMean"]),
        ]);
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let cell = Args { cell: true, ..Args::default() };
        let of_cell = names(&["DRB.UEThpDl", "RRU.PrbTotDl", "DRB.MeanActiveUeDl"]);
        assert_eq!(requested(&cell, &node), Ok((1, of_cell)));
        let of_ues = names(&["DRB.UEThpDl", "CQI"]);
        assert_eq!(requested(&Args::default(), &node), Ok((4, of_ues.clone())));
        let slice = Args { sst: Some(1), ..Args::default() };
        assert_eq!(requested(&slice, &node), Ok((4, of_ues)));
    }

    #[test]
    fn refusal_says_what_was_requested_what_is_offered_and_what_to_do() {
        let cu_cp = definition(&[(1, 1, &["RRC.ConnMean", "RRC.ConnMax"])]);
        let args = Args { measurements: vec!["DRB.UEThpDl".to_owned()], ..Args::default() };
        let error = requested(&args, &cu_cp).unwrap_err();
        for piece in
            ["DRB.UEThpDl of each UE or of the cell", "style 1 (a style): RRC.ConnMean, RRC.ConnMax", "--measurement"]
        {
            assert!(error.contains(piece), "{piece} in: {error}");
        }
        let none = requested(&Args::default(), &definition(&[])).unwrap_err();
        assert!(none.contains("the node offers no report style"), "{none}");
        // style 2 alone: of one UE by its identity
        let other = requested(&Args::default(), &definition(&[(2, 2, &["CQI"])])).unwrap_err();
        assert!(other.contains("style 2 (a style): CQI"), "{other}");
    }
}
