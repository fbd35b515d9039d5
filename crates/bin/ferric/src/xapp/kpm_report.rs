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

    /// The values, each with its subject and its measurement; `?N` is the N-th of a record whose values have no names.
    pub fn values(&self) -> Vec<(String, String, Option<f64>)> {
        let rows = self.message.rows(self.action.as_ref());
        let value = |row: e2sm::kpm::Row<'_>| {
            let measurement = match row.measurement {
                Some(MeasurementType::MeasName(name)) => name.0.as_str().to_owned(),
                Some(MeasurementType::MeasId(id)) => format!("#{}", id.0),
                None => format!("?{}", row.position + 1),
            };
            let subject = row.ue.map_or_else(|| self.cell.clone().unwrap_or_else(|| "cell".to_owned()), ue_name);
            (subject, measurement, row.value.number())
        };
        rows.map(value).collect()
    }
}

/// The name of a UE: the first id of its UEID.
fn ue_name(ue: &UeId<'_>) -> String {
    match ue {
        UeId::Gnb(id) => format!("amf-{}", id.amf_ue_ngap_id.0),
        UeId::GnbDu(id) => format!("f1ap-{}", id.gnb_cu_ue_f1ap_id.0),
        UeId::GnbCuUp(id) => format!("e1ap-{}", id.gnb_cu_cp_ue_e1ap_id.0),
        UeId::NgEnb(id) => format!("amf-{}", id.amf_ue_ngap_id.0),
        UeId::NgEnbDu(id) => format!("w1ap-{}", id.ng_enb_cu_ue_w1ap_id.0),
        UeId::EnGnb(id) => format!("x2ap-{}", id.m_enb_ue_x2ap_id.0),
        UeId::Enb(id) => format!("s1ap-{}", id.mme_ue_s1ap_id.0),
    }
}
