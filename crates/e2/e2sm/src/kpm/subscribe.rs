//! Requests for reports: selects one of a node's report styles and builds the definitions of a subscription.
//!
//! ```
//! use e2sm::kpm::{EveryUe, MeasurementRequest, ReportRequest, Scope};
//!
//! let request = ReportRequest {
//!     measurements: &[MeasurementRequest::named("DRB.UEThpDl"), MeasurementRequest::named("DRB.UEThpUl")],
//!     granularity_period_ms: 100,
//!     reporting_period_ms: 1000,
//!     scope: Scope::EveryUe(EveryUe::default()),
//! };
//! # let definition = e2sm::kpm::RanFunctionDefinition {
//! #     ran_function_name: e2sm::common::RanFunctionName {
//! #         short_name: per::PrintableString::literal("ORAN-E2SM-KPM"),
//! #         e2sm_oid: per::PrintableString::literal("1.3.6.1.4.1.53148.1.2.2.2"),
//! #         description: per::PrintableString::literal("KPM monitor"),
//! #         instance: None,
//! #     },
//! #     ric_event_trigger_style_list: None,
//! #     ric_report_style_list: None,
//! # };
//! match request.plan(&definition, e2sm::kpm::Revision::V3_00) {
//!     Ok(plan) => println!("subscribe to {:?} with {:?}", plan.trigger, plan.action),
//!     Err(error) => println!("{error}"),
//! }
//! ```

use per::{List, Octets};

use super::{
    ActionDefinition, ActionDefinitionFormat1, ActionDefinitionFormat2, ActionDefinitionFormat3,
    ActionDefinitionFormat4, ActionDefinitionFormat5, ActionDefinitionFormats, EventTriggerDefinition,
    GranularityPeriod, LabelInfoItem, LabelInfoList, MatchingCondItem, MatchingUeCondPerSubItem,
    MatchingUeidPerSubItem, MeasurementCondItem, MeasurementInfoItem, MeasurementType, MeasurementTypeName,
    RanFunctionDefinition, Revision, RicReportStyleItem, TestCondExpression, TestCondInfo, TestCondType, TestCondValue,
};
use crate::Error;
use crate::common::{Cgi, SNssai, True, UeId};

/// The number of names that an error suggests.
const SUGGESTIONS: usize = 3;

/// A request for periodic reports of measurements.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ReportRequest<'w> {
    /// The measurements.
    pub measurements: &'w [MeasurementRequest<'w>],
    /// The period that one record covers, in milliseconds.
    pub granularity_period_ms: u32,
    /// The reporting period in milliseconds; a multiple of the granularity period.
    pub reporting_period_ms: u32,
    /// What the measurements are taken of.
    pub scope: Scope<'w>,
}

/// A requested measurement.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MeasurementRequest<'w> {
    /// Its name in the RAN function definition of the node.
    pub name: &'w str,
    /// The requested subcounters; if empty, the measurement as a whole.
    pub labels: &'w [LabelInfoItem],
}

impl<'w> MeasurementRequest<'w> {
    /// Returns a request for a measurement as a whole.
    #[must_use]
    pub const fn named(name: &'w str) -> Self {
        MeasurementRequest { name, labels: &[] }
    }
}

/// What measurements are taken of.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Scope<'w> {
    /// The node as a whole (report style 1).
    Node,
    /// One cell (report style 1).
    Cell(Cgi),
    /// Each of these UEs (report style 2 for one, 5 for several).
    Ues(&'w [UeId<'w>]),
    /// Each UE (report style 4).
    EveryUe(EveryUe),
    /// Each UE that meets conditions (report style 4).
    MatchingUes(&'w [MatchingUeCondPerSubItem<'w>]),
    /// The UEs that meet conditions, as a group (report style 3).
    Group(&'w [MatchingCondItem<'w>]),
}

/// The condition that every UE meets: report style 4 requires one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EveryUe {
    /// An uplink RSRP below 1000 (downlink in v02.01, which has no other), as in srsRAN's xApps.
    #[default]
    AnySignal,
    /// A slice that all UEs belong to. OAI's base stations support no other test.
    InSlice(SNssai),
}

/// The definitions of a subscription.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan<'w> {
    /// The event trigger.
    pub trigger: EventTriggerDefinition,
    /// The action, including the report style.
    pub action: ActionDefinition<'w>,
}

impl<'w> ReportRequest<'w> {
    /// Selects the report style and builds the definitions.
    ///
    /// # Errors
    /// [`Error::EmptyRequest`], [`Error::NoReportStyle`], and [`Error::NotOffered`] with the most similar names.
    pub fn plan(&self, definition: &RanFunctionDefinition<'_>, revision: Revision) -> Result<Plan<'w>, Error> {
        let is_empty = match self.scope {
            Scope::Ues(ues) => ues.is_empty(),
            Scope::MatchingUes(conditions) => conditions.is_empty(),
            Scope::Group(conditions) => conditions.is_empty(),
            Scope::Node | Scope::Cell(_) | Scope::EveryUe(_) => false,
        };
        if is_empty || self.measurements.is_empty() || self.granularity_period_ms == 0 || self.reporting_period_ms == 0
        {
            return Err(Error::EmptyRequest);
        }
        let style = self.style(definition)?;
        Ok(Plan {
            trigger: EventTriggerDefinition::every(self.reporting_period_ms),
            action: ActionDefinition { ric_style_type: style.ric_report_style_type, formats: self.formats(revision)? },
        })
    }

    /// The number of the action definition format. It identifies the report style (KPM 7.4.1), whose own number may
    /// differ.
    fn action_format(&self) -> i64 {
        match self.scope {
            Scope::Node | Scope::Cell(_) => 1,
            Scope::Ues([_]) => 2,
            Scope::Group(_) => 3,
            Scope::EveryUe(_) | Scope::MatchingUes(_) => 4,
            Scope::Ues(_) => 5,
        }
    }

    /// Returns the first report style of the required format that offers all measurements.
    ///
    /// A node may list a measurement of UEs in one of the styles for UEs only, since the definition repeats the list for each: it
    /// is requested in another one if no style of the format offers all.
    fn style<'d>(&self, definition: &'d RanFunctionDefinition<'_>) -> Result<&'d RicReportStyleItem<'d>, Error> {
        let styles = definition.ric_report_style_list.iter().flatten();
        let format = self.action_format();
        let fitting = || styles.clone().filter(|style| style.ric_action_format_type.0 == format);
        let offers = |style: &RicReportStyleItem<'_>, wanted: &MeasurementRequest<'_>| {
            style.meas_info_action_list.iter().any(|item| *item.meas_name == *wanted.name)
        };
        if let Some(style) = fitting().find(|style| self.measurements.iter().all(|wanted| offers(style, wanted))) {
            return Ok(style);
        }
        let first = fitting().next().ok_or(Error::NoReportStyle)?;
        let is_of_ues = |format: i64| (2..=5).contains(&format);
        let of_ues = || styles.clone().filter(|style| is_of_ues(style.ric_action_format_type.0));
        let is_known = |wanted: &MeasurementRequest<'_>| of_ues().any(|style| offers(style, wanted));
        if is_of_ues(format) && self.measurements.iter().all(is_known) {
            return Ok(first);
        }
        // reports what the first style lacks, even if another style offers it: no style offers all
        let wanted = self.measurements.iter().find(|wanted| !offers(first, wanted)).map_or("", |wanted| wanted.name);
        let offered = fitting().flat_map(|style| &style.meas_info_action_list).map(|item| item.meas_name.as_str());
        Err(Error::NotOffered { wanted: wanted.to_owned(), nearest: nearest(wanted, offered) })
    }

    fn formats(&self, revision: Revision) -> Result<ActionDefinitionFormats<'w>, Error> {
        Ok(match self.scope {
            Scope::Node => ActionDefinitionFormats::Format1(self.format1(None)?),
            Scope::Cell(cell) => ActionDefinitionFormats::Format1(self.format1(Some(cell))?),
            Scope::Ues([ue]) => ActionDefinitionFormats::Format2(ActionDefinitionFormat2 {
                ue_id: ue.clone(),
                subscript_info: self.format1(None)?,
            }),
            Scope::Ues(ues) => ActionDefinitionFormats::Format5(ActionDefinitionFormat5 {
                matching_ueid_list: ues.iter().map(|ue| MatchingUeidPerSubItem { ue_id: ue.clone() }).collect(),
                subscription_info: self.format1(None)?,
            }),
            Scope::EveryUe(how) => ActionDefinitionFormats::Format4(ActionDefinitionFormat4 {
                matching_ue_cond_list: List::from(vec![MatchingUeCondPerSubItem {
                    test_cond_info: how.condition(revision),
                    logical_or: None,
                }]),
                subscription_info: self.format1(None)?,
            }),
            Scope::MatchingUes(conditions) => ActionDefinitionFormats::Format4(ActionDefinitionFormat4 {
                matching_ue_cond_list: List::from(conditions),
                subscription_info: self.format1(None)?,
            }),
            Scope::Group(conditions) => ActionDefinitionFormats::Format3(ActionDefinitionFormat3 {
                meas_cond_list: self
                    .measurements
                    .iter()
                    .map(|wanted| {
                        Ok(MeasurementCondItem {
                            meas_type: wanted.meas_type()?,
                            matching_cond: List::from(conditions),
                            bin_range_def: None,
                        })
                    })
                    .collect::<Result<_, Error>>()?,
                granul_period: GranularityPeriod(self.granularity_period_ms),
                cell_global_id: None,
            }),
        })
    }

    fn format1(&self, cell_global_id: Option<Cgi>) -> Result<ActionDefinitionFormat1<'w>, Error> {
        let info = |wanted: &MeasurementRequest<'w>| {
            Ok(MeasurementInfoItem {
                meas_type: wanted.meas_type()?,
                label_info_list: match wanted.labels {
                    [] => LabelInfoList::NO_LABEL,
                    labels => LabelInfoList(List::from(labels)),
                },
                match_cond_report_list: None,
            })
        };
        Ok(ActionDefinitionFormat1 {
            meas_info_list: self.measurements.iter().map(info).collect::<Result<_, Error>>()?,
            granul_period: GranularityPeriod(self.granularity_period_ms),
            cell_global_id,
            dist_meas_bin_range_info: None,
        })
    }
}

impl<'w> MeasurementRequest<'w> {
    fn meas_type(&self) -> Result<MeasurementType<'w>, Error> {
        Ok(MeasurementType::MeasName(MeasurementTypeName::try_from(self.name)?))
    }
}

impl EveryUe {
    /// Returns the condition.
    #[must_use]
    pub fn condition(self, revision: Revision) -> TestCondInfo<'static> {
        match self {
            EveryUe::AnySignal => TestCondInfo {
                test_type: match revision {
                    Revision::V2_01 => TestCondType::Rsrp(True),
                    _ => TestCondType::UlRsrp(True),
                },
                test_expr: Some(TestCondExpression::LessThan),
                test_value: Some(TestCondValue::ValueInt(1000)),
            },
            EveryUe::InSlice(slice) => {
                let octets: Vec<u8> = slice.sst.0.into_iter().chain(slice.sd.into_iter().flat_map(|sd| sd.0)).collect();
                TestCondInfo {
                    test_type: TestCondType::SNssai(True),
                    test_expr: Some(TestCondExpression::Equal),
                    test_value: Some(TestCondValue::ValueOctS(Octets::from(octets))),
                }
            }
        }
    }
}

/// Returns the offered names most similar to `wanted`, best match first.
pub fn nearest<'d>(wanted: &str, offered: impl Iterator<Item = &'d str>) -> Vec<String> {
    let mut ranked: Vec<(usize, &str)> = offered.map(|name| (distance(wanted, name), name)).collect();
    ranked.sort_unstable();
    ranked.dedup();
    ranked.into_iter().take(SUGGESTIONS).map(|(_, name)| name.to_owned()).collect()
}

/// The edit distance, ignoring case.
fn distance(a: &str, b: &str) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.bytes().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.bytes().enumerate() {
            let changed = diagonal + usize::from(!x.eq_ignore_ascii_case(&y));
            diagonal = row[j + 1];
            row[j + 1] = changed.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}
