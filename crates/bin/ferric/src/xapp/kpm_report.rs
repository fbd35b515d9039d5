//! The values of a report of v02.00 or later.

use e2sm::common::UeId;
use e2sm::kpm::{
    ActionDefinition, CountMismatch, IndicationHeader, IndicationHeaderFormats, IndicationMessage, MeasurementType,
    Revision, TimeStamp, v2_00,
};
use e2sm::{Arena, Error, Wire};

/// The time stamp of an indication header.
pub fn time_stamp(header: &[u8], revision: Revision, wire: Wire, arena: &Arena) -> Result<TimeStamp, Error> {
    if revision == Revision::V2_00 {
        let v2_00::IndicationHeaderFormats::Format1(header) = v2_00::IndicationHeader::decode(header)?.formats;
        return Ok(header.collet_start_time);
    }
    let IndicationHeaderFormats::Format1(header) = IndicationHeader::decode_in(header, revision, wire, arena)?.formats;
    Ok(header.collet_start_time)
}

/// A report and the action that it answers.
pub struct Report<'a> {
    message: IndicationMessage<'a>,
    action: Option<ActionDefinition<'a>>,
    /// The cell that the message names (v02.00).
    cell: Option<String>,
}

impl<'a> Report<'a> {
    /// Decodes an indication message. `action` is the encoded action definition: it names values that the node sends
    /// without names.
    pub fn decode(
        message: &'a [u8],
        action: &'a [u8],
        revision: Revision,
        wire: Wire,
        arena: &'a Arena,
    ) -> Result<Self, Error> {
        if revision == Revision::V2_00 {
            let message = v2_00::IndicationMessage::decode(message, arena)?;
            let action = v2_00::ActionDefinition::decode(action, arena).ok();
            let cell = message.cell_obj_id().filter(|cell| !cell.is_empty()).map(|cell| format!("cell {cell}"));
            let action = action.and_then(|action| action.to_current());
            return Ok(Report { message: message.to_current(), action, cell });
        }
        let action = ActionDefinition::decode_in(action, revision, wire, arena).ok();
        Ok(Report { message: IndicationMessage::decode_in(message, revision, wire, arena)?, action, cell: None })
    }

    /// The first record whose values have no names.
    pub fn count_mismatch(&self) -> Option<CountMismatch> {
        self.message.count_mismatch(self.action.as_ref())
    }

    /// The UE IDs in the report.
    pub fn ue_ids(&self) -> impl Iterator<Item = &UeId<'a>> {
        self.message.ue_ids()
    }

    /// The values, each with its subject and its measurement; `?N` is the N-th of a record whose values have no names. `name`
    /// returns the name of a UE, or `None` to leave it out.
    pub fn values(&self, name: impl Fn(&UeId<'_>) -> Option<String>) -> Vec<(String, String, Option<f64>)> {
        let rows = self.message.rows(self.action.as_ref());
        let value = |row: e2sm::kpm::Row<'_>| {
            let measurement = match row.measurement {
                Some(MeasurementType::MeasName(name)) => name.0.as_str().to_owned(),
                Some(MeasurementType::MeasId(id)) => format!("#{}", id.0),
                None => format!("?{}", row.position + 1),
            };
            let subject = match row.ue {
                Some(ue) => name(ue)?,
                None => self.cell.clone().unwrap_or_else(|| "cell".to_owned()),
            };
            Some((subject, measurement, row.value.number()))
        };
        rows.filter_map(value).collect()
    }
}
