//! The UE IDs in reports, and the smallest subscription to all of them.

use super::{
    EveryUe, IndicationMessage, IndicationMessageFormats, MeasurementRequest, Plan, RanFunctionDefinition,
    ReportRequest, Revision, Scope,
};
use crate::Error;
use crate::common::UeId;

impl Plan<'static> {
    /// Returns a subscription to reports of every UE, with the first measurement that the node offers for UEs (report style 4).
    ///
    /// # Errors
    /// [`Error::NoReportStyle`]: the node does not report each UE; [`Error::EmptyRequest`]: a period of zero.
    pub fn every_ue(
        definition: &RanFunctionDefinition<'_>,
        revision: Revision,
        how: EveryUe,
        period_ms: u32,
    ) -> Result<Self, Error> {
        let mut styles = definition.ric_report_style_list.iter().flatten();
        let style = styles.find(|style| style.ric_action_format_type.0 == 4).ok_or(Error::NoReportStyle)?;
        let first = style.meas_info_action_list.first().ok_or(Error::NoReportStyle)?;
        let measurements = [MeasurementRequest::named(first.meas_name.0.as_str())];
        let scope = Scope::EveryUe(how);
        let request = ReportRequest {
            measurements: &measurements,
            granularity_period_ms: period_ms,
            reporting_period_ms: period_ms,
            scope,
        };
        let plan = request.plan(definition, revision)?;
        Ok(Plan { trigger: plan.trigger, action: per::IntoOwned::into_owned(plan.action) })
    }
}

impl<'a> IndicationMessage<'a> {
    /// Returns the UE IDs in the report (format 3).
    pub fn ue_ids(&self) -> impl Iterator<Item = &UeId<'a>> {
        let reports = match &self.formats {
            IndicationMessageFormats::Format3(format) => Some(&format.ue_meas_report_list),
            _ => None,
        };
        reports.into_iter().flatten().map(|report| &report.ue_id)
    }
}
