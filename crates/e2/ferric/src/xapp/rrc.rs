//! Copies of RRC messages of UEs (E2SM-RC report style 1).

use std::sync::Arc;

use e2::topology::UeReference;
use e2ap::RicActionType;
use e2sm::Arena;
use e2sm::common::{RrcClassLte, RrcClassNr, RrcMessageId, RrcType, UeId};
use e2sm::rc::{self, Plan};

use super::core::{Planned, Purpose, Reader};
use super::decision::planned;
use super::error::Error;
use super::feed::{Buffer, Feed};
use super::node::NodeEntry;
use super::resolve::{IntoName, name};
use super::ric::Ric;

/// The report style of copies of messages (E2SM-RC 7.4.2).
const MESSAGE_COPY: i64 = 1;

/// The measurement report of NR among the messages of its channel (TS 38.331 6.2.1).
const MEASUREMENT_REPORT: RrcMessageId = RrcMessageId { rrc_type: RrcType::Nr(RrcClassNr::UlDcch), message_id: 0 };

/// The channels of NR by the names of TS 38.331.
const NR: [(&str, RrcClassNr); 8] = [
    ("BCCH-BCH", RrcClassNr::BcchBch),
    ("BCCH-DL-SCH", RrcClassNr::BcchDlSch),
    ("DL-CCCH", RrcClassNr::DlCcch),
    ("DL-DCCH", RrcClassNr::DlDcch),
    ("PCCH", RrcClassNr::Pcch),
    ("UL-CCCH", RrcClassNr::UlCcch),
    ("UL-CCCH1", RrcClassNr::UlCcch1),
    ("UL-DCCH", RrcClassNr::UlDcch),
];

/// The channels of E-UTRA by the names of TS 36.331.
const LTE: [(&str, RrcClassLte); 12] = [
    ("BCCH-BCH", RrcClassLte::BcchBch),
    ("BCCH-BCH-MBMS", RrcClassLte::BcchBchMbms),
    ("BCCH-DL-SCH", RrcClassLte::BcchDlSch),
    ("BCCH-DL-SCH-BR", RrcClassLte::BcchDlSchBr),
    ("BCCH-DL-SCH-MBMS", RrcClassLte::BcchDlSchMbms),
    ("MCCH", RrcClassLte::Mcch),
    ("PCCH", RrcClassLte::Pcch),
    ("DL-CCCH", RrcClassLte::DlCcch),
    ("DL-DCCH", RrcClassLte::DlDcch),
    ("UL-CCCH", RrcClassLte::UlCcch),
    ("UL-DCCH", RrcClassLte::UlDcch),
    ("SC-MCCH", RrcClassLte::ScMcch),
];

/// Reads a kind of messages: `MeasurementReport` of NR, or the radio access technology, the channel and the index of the message
/// among those of the channel: `nr:UL-DCCH:0`, `lte:UL-DCCH:1`.
pub(super) fn kind(text: &str) -> Result<RrcMessageId, Error> {
    fn channel<T: Copy>(channels: &[(&str, T)], text: &str) -> Option<T> {
        channels.iter().find(|(name, _)| name.eq_ignore_ascii_case(text)).map(|(_, channel)| *channel)
    }
    let read = || {
        let [technology, name, index] = text.split(':').collect::<Vec<_>>().try_into().ok()?;
        let rrc_type = match technology {
            "nr" => RrcType::Nr(channel(&NR, name)?),
            "lte" => RrcType::Lte(channel(&LTE, name)?),
            _ => return None,
        };
        Some(RrcMessageId { rrc_type, message_id: index.parse::<u8>().ok()?.into() })
    };
    let kind = if text == "MeasurementReport" { Some(MEASUREMENT_REPORT) } else { read() };
    kind.ok_or_else(|| {
        let expected = "MeasurementReport, or technology, channel and index of a message, such as nr:UL-DCCH:0";
        Error::invalid("kinds", text, expected)
    })
}

/// A copy of an RRC message, as the UE has sent or received it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RrcMessage {
    /// The node.
    pub node: Arc<str>,
    /// The UE.
    pub ue: UeReference,
    /// The message (TS 38.331, TS 36.331), in unaligned PER.
    pub octets: Vec<u8>,
}

impl Ric {
    /// Copies of the RRC messages of all UEs that are of one of these kinds, also of nodes that come later (E2SM-RC 7.4.2). A kind
    /// is written `MeasurementReport`, or `nr:UL-DCCH:0`, `lte:UL-DCCH:1`: the radio access technology, the channel and the index of
    /// the message among those of the channel (TS 38.331, TS 36.331).
    ///
    /// # Errors
    /// [`Error::Invalid`] without a kind, or for a text that is none; [`Error::NotOffered`], [`Error::Refused`]: if every node refuses.
    pub fn rrc_messages(
        &self,
        kinds: impl IntoIterator<Item = impl IntoName<RrcMessageId>>,
    ) -> Result<Feed<RrcMessage>, Error> {
        let kinds = kinds.into_iter().map(name).collect::<Result<Vec<_>, _>>()?;
        if kinds.is_empty() {
            return Err(Error::invalid("kinds", "", "at least one kind of message, such as the measurement report"));
        }
        let handle = self.handle().clone();
        let buffer = Arc::new(Buffer::new().map_err(|source| handle.system_error("eventfd", source))?);
        let to_core = Arc::clone(&buffer);
        let id = handle.session.ask(
            || "copies of RRC messages".into(),
            handle.deadline,
            move |core, commands, reply| {
                core.follow_ues(commands);
                core.add_stream(commands, Purpose::RrcMessages { kinds, buffer: to_core }, None, reply);
            },
        )?;
        Ok(Feed::new(buffer, id, handle.session))
    }
}

/// The subscription at a node.
pub(super) fn plan(node: &NodeEntry, kinds: &[RrcMessageId]) -> Result<Vec<Planned>, Error> {
    let Some(rc) = &node.rc else { return Err(node.lacks("E2SM-RC")) };
    let styles = rc.definition.report.iter().flat_map(|report| &report.report_style_list);
    if !styles.into_iter().any(|style| style.ric_report_style_type.0 == MESSAGE_COPY) {
        return Err(node.lacks("copies of RRC messages (E2SM-RC report style 1)"));
    }
    let reader = Reader::RrcMessages(rc.detection);
    planned(node, &Plan::report_rrc_messages(kinds), RicActionType::Report, reader)
}

/// Reads a report: the UE and the message, if it has both.
pub(super) fn read(detection: rc::Detection, message: &[u8]) -> Result<Option<(UeId<'static>, Vec<u8>)>, e2sm::Error> {
    let arena = Arena::new();
    let message = rc::IndicationMessage::decode_in(message, detection.revision, detection.wire, &arena)?;
    Ok(rc::rrc_message(&message, detection.revision)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_of_messages_are_read() {
        assert_eq!(kind("MeasurementReport").unwrap(), MEASUREMENT_REPORT);
        assert_eq!(kind("nr:UL-DCCH:0").unwrap(), MEASUREMENT_REPORT);
        let lte = RrcMessageId { rrc_type: RrcType::Lte(RrcClassLte::BcchDlSchBr), message_id: 255 };
        assert_eq!(kind("lte:bcch-dl-sch-br:255").unwrap(), lte);
        for (name, channel) in NR {
            assert_eq!(kind(&format!("nr:{name}:7")).unwrap().rrc_type, RrcType::Nr(channel));
        }
        for (name, channel) in LTE {
            assert_eq!(kind(&format!("lte:{name}:7")).unwrap().rrc_type, RrcType::Lte(channel));
        }
        for wrong in [
            "",
            "UL-DCCH:0",
            "nr:UL-DCCH",
            "nr:SC-MCCH:0",
            "nr:UL-DCCH:256",
            "nr:UL-DCCH:-1",
            "5g:UL-DCCH:0",
            "nr:UL-DCCH:0:0",
        ] {
            assert_eq!(kind(wrong).unwrap_err().parameter(), Some("kinds"), "{wrong}");
        }
    }
}
