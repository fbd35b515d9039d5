//! Requests for reports on the cells of a node.

use per::{List, PrintableString};

use super::{
    ActionDefinition, ActionDefinitionFormat1, ActionDefinitionFormats, CellObjectId, MeasurementInfoItem,
    RanFunctionDefinition, SubscriptionId,
};
use crate::Error;
use crate::kpm::{GranularityPeriod, MeasurementType, MeasurementTypeName, nearest};

/// The action definition format of measurements of a cell.
const OF_A_CELL: i64 = 1;

/// A request for reports on each cell that a node lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CellReports<'w> {
    /// The names of the measurements.
    pub measurements: &'w [&'w str],
    /// The period that one record covers, in milliseconds.
    pub granularity_period_ms: u32,
}

impl<'w> CellReports<'w> {
    /// Returns an action for each cell, in the order of the definition, whose subscription ids count from 1; one for a cell
    /// without a name if the node lists none.
    ///
    /// # Errors
    /// [`Error::EmptyRequest`], [`Error::NoReportStyle`], and [`Error::NotOffered`] with the most similar names.
    pub fn actions<'d: 'w>(
        &self,
        definition: &'d RanFunctionDefinition<'_>,
    ) -> Result<Vec<ActionDefinition<'w>>, Error> {
        if self.measurements.is_empty() || self.granularity_period_ms == 0 {
            return Err(Error::EmptyRequest);
        }
        let mut styles = definition.ric_report_style_list.iter().flatten();
        let style = styles.find(|style| style.ric_action_format_type.0 == OF_A_CELL).ok_or(Error::NoReportStyle)?;
        let offered = || style.meas_info_action_list.iter().map(|item| item.meas_name.as_str());
        if let Some(wanted) = self.measurements.iter().find(|wanted| !offered().any(|name| name == **wanted)) {
            return Err(Error::NotOffered { wanted: (*wanted).to_owned(), nearest: nearest(wanted, offered()) });
        }
        let nodes = definition.ric_kpm_node_list.iter().flatten();
        let cells = nodes.flat_map(|node| node.cell_measurement_object_list.iter().flatten());
        let mut names: Vec<&str> = cells.map(|cell| cell.cell_object_id.0.as_str()).collect();
        if names.is_empty() {
            names.push("");
        }
        let info = |name: &&'w str| {
            let meas_type = MeasurementType::MeasName(MeasurementTypeName::try_from(*name)?);
            Ok(MeasurementInfoItem { meas_type, label_info_list: None })
        };
        let measurements: List<'_, _> = self.measurements.iter().map(info).collect::<Result<_, Error>>()?;
        let action = |(id, name): (u32, &'d str)| {
            Ok(ActionDefinition {
                ric_style_type: style.ric_report_style_type,
                formats: ActionDefinitionFormats::Format1(ActionDefinitionFormat1 {
                    cell_obj_id: CellObjectId(PrintableString::try_from(name)?),
                    meas_info_list: measurements.clone(),
                    granul_period: GranularityPeriod(self.granularity_period_ms),
                    subscript_id: SubscriptionId(id),
                }),
            })
        };
        (1..).zip(names).map(action).collect()
    }
}
