//! PDU session resource modify and release (TS 38.413 8.2.3 and 8.2.2): the QoS of flows changes, and sessions end.

use ids::AmfUeNgapId;

use super::session::{QosFlow, unsupported};
use super::session_types::*;
use super::{IE_AMF_UE_NGAP_ID, IE_RAN_UE_NGAP_ID};
use crate::{Criticality, MessageKind, Pdu, PduView, Protocol, ProtocolIe};

/// PDU Session Resource Modify.
pub const PROCEDURE_PDU_SESSION_RESOURCE_MODIFY: u8 = 26;
/// PDU Session Resource Release.
pub const PROCEDURE_PDU_SESSION_RESOURCE_RELEASE: u8 = 28;
const IE_MODIFY_LIST_REQ: u16 = 64;
const IE_MODIFY_LIST_RES: u16 = 65;
const IE_RELEASED_LIST: u16 = 70;
const IE_TO_RELEASE_LIST: u16 = 79;
const IE_FLOW_ADD_OR_MODIFY_LIST: u16 = 135;

/// What a message says of the sessions of a UE.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SessionChange {
    /// PDU SESSION RESOURCE MODIFY REQUEST (TS 38.413 9.2.1.5): QoS flows of each session are added or have this QoS. Flows whose QoS
    /// stays are left out.
    Modify(Vec<(u8, Vec<QosFlow>)>),
    /// PDU SESSION RESOURCE MODIFY RESPONSE (9.2.1.6): the QFIs of each session that were added or modified.
    Modified(Vec<(u8, Vec<u8>)>),
    /// PDU SESSION RESOURCE RELEASE COMMAND (9.2.1.3), with normal release as the cause.
    Release(Vec<u8>),
    /// PDU SESSION RESOURCE RELEASE RESPONSE (9.2.1.4): the sessions are released.
    Released(Vec<u8>),
}

/// A message that changes sessions of a UE.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionChangeMessage {
    /// The UE at the AMF.
    pub amf_ue_ngap_id: AmfUeNgapId,
    /// The UE at the node.
    pub ran_ue_ngap_id: u32,
    /// What it says.
    pub change: SessionChange,
}

impl SessionChange {
    /// The procedure, and the kind of the message in it.
    #[must_use]
    pub fn procedure(&self) -> (u8, MessageKind) {
        match self {
            SessionChange::Modify(_) => (PROCEDURE_PDU_SESSION_RESOURCE_MODIFY, MessageKind::InitiatingMessage),
            SessionChange::Modified(_) => (PROCEDURE_PDU_SESSION_RESOURCE_MODIFY, MessageKind::SuccessfulOutcome),
            SessionChange::Release(_) => (PROCEDURE_PDU_SESSION_RESOURCE_RELEASE, MessageKind::InitiatingMessage),
            SessionChange::Released(_) => (PROCEDURE_PDU_SESSION_RESOURCE_RELEASE, MessageKind::SuccessfulOutcome),
        }
    }

    fn list(&self) -> Result<ProtocolIe<'static>, per::Error> {
        let item = |id: u8, transfer: Vec<u8>| SessionItem { id, transfer: transfer.into(), ie_extensions: None };
        match self {
            SessionChange::Modify(sessions) => {
                let item = |(id, flows): &(u8, Vec<QosFlow>)| {
                    let transfer = modify_transfer(flows)?.into();
                    Ok(ModifyItemReq { id: *id, nas_pdu: None, transfer, ie_extensions: None })
                };
                let items: Vec<_> = sessions.iter().map(item).collect::<Result<_, per::Error>>()?;
                ProtocolIe::new(IE_MODIFY_LIST_REQ, Criticality::Reject, &ModifyListReq(items.into()))
            }
            SessionChange::Modified(sessions) => {
                let item = |(id, qfis): &(u8, Vec<u8>)| {
                    let flow = |qfi: &u8| ChangedFlow { qfi: Qfi(*qfi), ie_extensions: None };
                    let flows = Some(ChangedFlows(qfis.iter().map(flow).collect::<Vec<_>>().into()));
                    let transfer = ModifyResponseTransfer {
                        downlink: None,
                        uplink: None,
                        flows,
                        additional: None,
                        failed: None,
                        ie_extensions: None,
                    };
                    Ok(item(*id, encoded(&transfer)?))
                };
                let items: Vec<_> = sessions.iter().map(item).collect::<Result<_, per::Error>>()?;
                ProtocolIe::new(IE_MODIFY_LIST_RES, Criticality::Ignore, &SessionList(items.into()))
            }
            SessionChange::Release(sessions) => {
                let transfer =
                    ReleaseCommandTransfer { cause: Cause::Nas(NasCause::NormalRelease), ie_extensions: None };
                let transfer = encoded(&transfer)?;
                let items: Vec<_> = sessions.iter().map(|id| item(*id, transfer.clone())).collect();
                ProtocolIe::new(IE_TO_RELEASE_LIST, Criticality::Reject, &SessionList(items.into()))
            }
            SessionChange::Released(sessions) => {
                let transfer = encoded(&ReleaseResponseTransfer { ie_extensions: None })?;
                let items: Vec<_> = sessions.iter().map(|id| item(*id, transfer.clone())).collect();
                ProtocolIe::new(IE_RELEASED_LIST, Criticality::Ignore, &SessionList(items.into()))
            }
        }
    }
}

fn encoded(value: &impl per::Encode) -> Result<Vec<u8>, per::Error> {
    let mut octets = Vec::new();
    per::encode(value, 0, &mut octets)?;
    Ok(octets)
}

/// PDU Session Resource Modify Request Transfer.
fn modify_transfer(flows: &[QosFlow]) -> Result<Vec<u8>, per::Error> {
    let item = |flow: &QosFlow| FlowChange {
        qfi: Qfi(flow.qfi),
        qos: Some(QosParameters::of(flow)),
        e_rab_id: None,
        ie_extensions: None,
    };
    let flows = FlowChanges(flows.iter().map(item).collect::<Vec<_>>().into());
    let ies = vec![ProtocolIe::new(IE_FLOW_ADD_OR_MODIFY_LIST, Criticality::Reject, &flows)?];
    encoded(&SetupRequestTransfer { ies: ies.into() })
}

/// The flows of a PDU Session Resource Modify Request Transfer whose QoS it has.
fn modified_flows(octets: &[u8]) -> Result<Vec<QosFlow>, per::Error> {
    let transfer: SetupRequestTransfer<'_> = per::decode(octets, 0)?;
    let Some(ie) = transfer.ies.iter().find(|ie| ie.id == IE_FLOW_ADD_OR_MODIFY_LIST) else { return Ok(Vec::new()) };
    let list = ie.value.to_cow();
    let FlowChanges(flows) = per::decode(&list, 0)?;
    Ok(flows.iter().filter_map(|flow| Some(flow.qos.as_ref()?.flow(flow.qfi))).collect())
}

/// The flows of a PDU Session Resource Modify Response Transfer.
fn changed_flows(octets: &[u8]) -> Result<Vec<u8>, per::Error> {
    let transfer: ModifyResponseTransfer<'_> = per::decode(octets, 0)?;
    let ChangedFlows(flows) = transfer.flows.ok_or_else(unsupported)?;
    Ok(flows.iter().map(|flow| flow.qfi.0).collect())
}

impl SessionChangeMessage {
    /// Returns the octets of the message.
    ///
    /// # Errors
    /// A value outside its constraints.
    pub fn encode(&self) -> Result<Vec<u8>, per::Error> {
        let (procedure_code, kind) = self.change.procedure();
        let criticality = match kind {
            MessageKind::InitiatingMessage => Criticality::Reject,
            _ => Criticality::Ignore,
        };
        let ies = vec![
            ProtocolIe::new(IE_AMF_UE_NGAP_ID, criticality, &self.amf_ue_ngap_id)?,
            ProtocolIe::new(IE_RAN_UE_NGAP_ID, criticality, &self.ran_ue_ngap_id)?,
            self.change.list()?,
        ];
        Pdu::new(kind, procedure_code, Criticality::Reject, ies)?.encode(Protocol::Ngap)
    }

    /// Reads a message; `None` for another one.
    ///
    /// # Errors
    /// A malformed IE.
    pub fn decode(octets: &[u8]) -> Option<Result<Self, per::Error>> {
        let pdu = PduView::read(Protocol::Ngap, octets)?;
        let (amf, ran) = (pdu.ie(IE_AMF_UE_NGAP_ID)?, pdu.ie(IE_RAN_UE_NGAP_ID)?);
        let ids = |list: &[u8]| -> Result<Vec<u8>, per::Error> {
            let SessionList(items) = per::decode(list, 0)?;
            Ok(items.iter().map(|item| item.id).collect())
        };
        let change = match (pdu.procedure_code, pdu.kind) {
            (PROCEDURE_PDU_SESSION_RESOURCE_MODIFY, MessageKind::InitiatingMessage) => {
                let list = pdu.ie(IE_MODIFY_LIST_REQ)?;
                let read = || {
                    let ModifyListReq(items) = per::decode(list, 0)?;
                    let session = |item: &ModifyItemReq<'_>| Ok((item.id, modified_flows(&item.transfer.to_cow())?));
                    Ok(SessionChange::Modify(items.iter().map(session).collect::<Result<_, per::Error>>()?))
                };
                read()
            }
            (PROCEDURE_PDU_SESSION_RESOURCE_MODIFY, MessageKind::SuccessfulOutcome) => {
                let list = pdu.ie(IE_MODIFY_LIST_RES)?;
                let read = || {
                    let SessionList(items) = per::decode(list, 0)?;
                    let session = |item: &SessionItem<'_>| Ok((item.id, changed_flows(&item.transfer.to_cow())?));
                    Ok(SessionChange::Modified(items.iter().map(session).collect::<Result<_, per::Error>>()?))
                };
                read()
            }
            (PROCEDURE_PDU_SESSION_RESOURCE_RELEASE, MessageKind::InitiatingMessage) => {
                ids(pdu.ie(IE_TO_RELEASE_LIST)?).map(SessionChange::Release)
            }
            (PROCEDURE_PDU_SESSION_RESOURCE_RELEASE, MessageKind::SuccessfulOutcome) => {
                ids(pdu.ie(IE_RELEASED_LIST)?).map(SessionChange::Released)
            }
            _ => return None,
        };
        let read = |change| {
            Ok(SessionChangeMessage {
                amf_ue_ngap_id: per::decode(amf, 0)?,
                ran_ue_ngap_id: per::decode(ran, 0)?,
                change,
            })
        };
        Some(change.and_then(read))
    }
}

/// The expected octets are those of an independent encoder (pycrate 0.8).
#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_vectors::unhex;

    fn messages() -> [(SessionChange, &'static str); 4] {
        let flow = QosFlow { qfi: 9, five_qi: Some(2), gbr_bps: None };
        [
            (
                SessionChange::Modify(vec![(1, vec![flow])]),
                "001a0028000003000a0005600e000003005500020007004000120000010e0000010087000701048000021c00",
            ),
            (
                SessionChange::Modified(vec![(1, vec![9])]),
                "201a001d000003000a4005600e0000030055400200070041400700000103100024",
            ),
            (SessionChange::Release(vec![1]), "001c001b000003000a0005600e000003005500020007004f00050000010110"),
            (SessionChange::Released(vec![1]), "201c001b000003000a4005600e000003005540020007004640050000010100"),
        ]
    }

    #[test]
    fn messages_match_vectors() {
        for (change, octets) in messages() {
            let message = SessionChangeMessage { amf_ue_ngap_id: AmfUeNgapId(0xe00_0003), ran_ue_ngap_id: 7, change };
            assert_eq!(message.encode().unwrap(), unhex(octets), "{message:?}");
            assert_eq!(SessionChangeMessage::decode(&unhex(octets)), Some(Ok(message)));
        }
    }

    #[test]
    fn any_octets_decode_or_are_refused() {
        for (_, vector) in messages() {
            let octets = unhex(vector);
            for at in 0..octets.len() {
                assert!(!matches!(SessionChangeMessage::decode(&octets[..at]), Some(Ok(_))));
                for bit in 0..8 {
                    let mut changed = octets.clone();
                    changed[at] ^= 1 << bit;
                    let _ = SessionChangeMessage::decode(&changed);
                }
            }
        }
    }
}
