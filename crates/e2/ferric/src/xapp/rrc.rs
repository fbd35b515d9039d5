//! Copies of RRC messages of UEs (E2SM-RC report style 1).

use std::sync::Arc;

use e2::topology::UeReference;
use e2ap::RicActionType;
use e2sm::Arena;
use e2sm::common::{RrcMessageId, UeId};
use e2sm::rc::{self, Plan};

use super::core::{Planned, Purpose, Reader};
use super::decision::planned;
use super::error::Error;
use super::feed::{Buffer, Feed};
use super::node::NodeEntry;
use super::ric::Ric;

/// The report style of copies of messages (E2SM-RC 7.4.2).
const MESSAGE_COPY: i64 = 1;

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
    /// Copies of the RRC messages of all UEs that are of one of these kinds, also of nodes that come later (E2SM-RC 7.4.2):
    /// measurement reports, for example.
    ///
    /// # Errors
    /// [`Error::Invalid`] without a kind; [`Error::NotOffered`], [`Error::Refused`]: if every node refuses.
    pub fn rrc_messages(&self, kinds: impl IntoIterator<Item = RrcMessageId>) -> Result<Feed<RrcMessage>, Error> {
        let kinds: Vec<_> = kinds.into_iter().collect();
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
