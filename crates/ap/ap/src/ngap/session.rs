//! PDU session resource setup (TS 38.413 8.2.1): the tunnels and QoS flows of a UE's sessions.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ids::{AmfUeNgapId, SNssai};
use per::BitString;

use super::session_types::*;
use super::{IE_AMF_UE_NGAP_ID, IE_RAN_UE_NGAP_ID};
use crate::common::SNssaiIe;
use crate::{Criticality, MessageKind, Pdu, PduView, Protocol, ProtocolIe};

/// PDU Session Resource Setup.
pub const PROCEDURE_PDU_SESSION_RESOURCE_SETUP: u8 = 29;
/// Initial Context Setup, which may set up sessions, too.
pub const PROCEDURE_INITIAL_CONTEXT_SETUP: u8 = 14;
const IE_SETUP_LIST_CXT_REQ: u16 = 71;
const IE_SETUP_LIST_CXT_RES: u16 = 72;
const IE_SETUP_LIST_SU_REQ: u16 = 74;
const IE_SETUP_LIST_SU_RES: u16 = 75;
const IE_PDU_SESSION_TYPE: u16 = 134;
const IE_QOS_FLOW_SETUP_REQUEST_LIST: u16 = 136;
const IE_UL_NGU_UP_TNL_INFORMATION: u16 = 139;

/// An end of a GTP tunnel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GtpTunnel {
    /// Its address.
    pub address: IpAddr,
    /// Its TEID.
    pub teid: u32,
}

/// A QoS flow that is to be set up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QosFlow {
    /// Its identifier, 0 to 63.
    pub qfi: u8,
    /// Its 5QI; of a dynamic one only if it is signalled.
    pub five_qi: Option<u8>,
    /// Of GBR traffic: maximum downlink and uplink, guaranteed downlink and uplink bit rates, in bit/s.
    pub gbr_bps: Option<[u64; 4]>,
}

/// A PDU session that is to be set up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestedSession {
    /// The PDU session ID.
    pub id: u8,
    /// Its slice.
    pub s_nssai: SNssai,
    /// The end of its tunnel at the UPF.
    pub gateway: GtpTunnel,
    /// Its QoS flows, 1 to 64.
    pub flows: Vec<QosFlow>,
}

/// PDU SESSION RESOURCE SETUP REQUEST (TS 38.413 9.2.1.1), or the sessions of an INITIAL CONTEXT SETUP REQUEST.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PduSessionResourceSetupRequest {
    /// The UE at the AMF.
    pub amf_ue_ngap_id: AmfUeNgapId,
    /// The UE at the node.
    pub ran_ue_ngap_id: u32,
    /// The sessions, 1 to 256.
    pub sessions: Vec<RequestedSession>,
}

/// A PDU session that was set up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EstablishedSession {
    /// The PDU session ID.
    pub id: u8,
    /// The end of its tunnel at the base station.
    pub base_station: GtpTunnel,
    /// The QoS flows in the tunnel, 1 to 64.
    pub qfis: Vec<u8>,
}

/// PDU SESSION RESOURCE SETUP RESPONSE (TS 38.413 9.2.1.2), or the sessions of an INITIAL CONTEXT SETUP RESPONSE. Sessions that
/// failed, and additional tunnels, are not decoded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PduSessionResourceSetupResponse {
    /// The UE at the AMF.
    pub amf_ue_ngap_id: AmfUeNgapId,
    /// The UE at the node.
    pub ran_ue_ngap_id: u32,
    /// The sessions.
    pub sessions: Vec<EstablishedSession>,
}

impl PduSessionResourceSetupRequest {
    /// Returns the octets of a PDU SESSION RESOURCE SETUP REQUEST.
    ///
    /// # Errors
    /// A value outside its constraints.
    pub fn encode(&self) -> Result<Vec<u8>, per::Error> {
        let item = |session: &RequestedSession| {
            Ok(SetupItemReq {
                id: session.id,
                nas_pdu: None,
                s_nssai: SNssaiIe::from(&session.s_nssai),
                transfer: session.transfer()?.into(),
                ie_extensions: None,
            })
        };
        let items: Vec<_> = self.sessions.iter().map(item).collect::<Result<_, per::Error>>()?;
        let ies = vec![
            ProtocolIe::new(IE_AMF_UE_NGAP_ID, Criticality::Reject, &self.amf_ue_ngap_id)?,
            ProtocolIe::new(IE_RAN_UE_NGAP_ID, Criticality::Reject, &self.ran_ue_ngap_id)?,
            ProtocolIe::new(IE_SETUP_LIST_SU_REQ, Criticality::Reject, &SetupListReq(items.into()))?,
        ];
        let kind = MessageKind::InitiatingMessage;
        Pdu::new(kind, PROCEDURE_PDU_SESSION_RESOURCE_SETUP, Criticality::Reject, ies)?.encode(Protocol::Ngap)
    }

    /// Reads the sessions of a PDU SESSION RESOURCE SETUP REQUEST or an INITIAL CONTEXT SETUP REQUEST; `None` for another message,
    /// and for one without sessions.
    ///
    /// # Errors
    /// A malformed IE.
    pub fn decode(octets: &[u8]) -> Option<Result<Self, per::Error>> {
        let pdu = PduView::read(Protocol::Ngap, octets)?;
        let list = match (pdu.kind, pdu.procedure_code) {
            (MessageKind::InitiatingMessage, PROCEDURE_PDU_SESSION_RESOURCE_SETUP) => pdu.ie(IE_SETUP_LIST_SU_REQ)?,
            (MessageKind::InitiatingMessage, PROCEDURE_INITIAL_CONTEXT_SETUP) => pdu.ie(IE_SETUP_LIST_CXT_REQ)?,
            _ => return None,
        };
        let (amf, ran) = (pdu.ie(IE_AMF_UE_NGAP_ID)?, pdu.ie(IE_RAN_UE_NGAP_ID)?);
        let read = || {
            let SetupListReq(items) = per::decode(list, 0)?;
            let sessions = items.iter().map(SetupItemReq::session).collect::<Result<_, _>>()?;
            Ok(PduSessionResourceSetupRequest {
                amf_ue_ngap_id: per::decode(amf, 0)?,
                ran_ue_ngap_id: per::decode(ran, 0)?,
                sessions,
            })
        };
        Some(read())
    }
}

impl PduSessionResourceSetupResponse {
    /// Returns the octets of a PDU SESSION RESOURCE SETUP RESPONSE.
    ///
    /// # Errors
    /// A value outside its constraints.
    pub fn encode(&self) -> Result<Vec<u8>, per::Error> {
        let item = |session: &EstablishedSession| {
            let flow = |qfi: &u8| AssociatedQosFlow { qfi: Qfi(*qfi), mapping: None, ie_extensions: None };
            let flows = FlowPerTnl {
                tnl: UpTnl::GtpTunnel(session.base_station.into()),
                flows: session.qfis.iter().map(flow).collect::<Vec<_>>().into(),
                ie_extensions: None,
            };
            let transfer =
                SetupResponseTransfer { flows, additional: None, security: None, failed: None, ie_extensions: None };
            let mut octets = Vec::new();
            per::encode(&transfer, 0, &mut octets)?;
            Ok(SetupItemRes { id: session.id, transfer: octets.into(), ie_extensions: None })
        };
        let items: Vec<_> = self.sessions.iter().map(item).collect::<Result<_, per::Error>>()?;
        let ies = vec![
            ProtocolIe::new(IE_AMF_UE_NGAP_ID, Criticality::Ignore, &self.amf_ue_ngap_id)?,
            ProtocolIe::new(IE_RAN_UE_NGAP_ID, Criticality::Ignore, &self.ran_ue_ngap_id)?,
            ProtocolIe::new(IE_SETUP_LIST_SU_RES, Criticality::Ignore, &SetupListRes(items.into()))?,
        ];
        let kind = MessageKind::SuccessfulOutcome;
        Pdu::new(kind, PROCEDURE_PDU_SESSION_RESOURCE_SETUP, Criticality::Reject, ies)?.encode(Protocol::Ngap)
    }

    /// Reads the sessions of a PDU SESSION RESOURCE SETUP RESPONSE or an INITIAL CONTEXT SETUP RESPONSE; `None` for another
    /// message, and for one without sessions.
    ///
    /// # Errors
    /// A malformed IE.
    pub fn decode(octets: &[u8]) -> Option<Result<Self, per::Error>> {
        let pdu = PduView::read(Protocol::Ngap, octets)?;
        let list = match (pdu.kind, pdu.procedure_code) {
            (MessageKind::SuccessfulOutcome, PROCEDURE_PDU_SESSION_RESOURCE_SETUP) => pdu.ie(IE_SETUP_LIST_SU_RES)?,
            (MessageKind::SuccessfulOutcome, PROCEDURE_INITIAL_CONTEXT_SETUP) => pdu.ie(IE_SETUP_LIST_CXT_RES)?,
            _ => return None,
        };
        let (amf, ran) = (pdu.ie(IE_AMF_UE_NGAP_ID)?, pdu.ie(IE_RAN_UE_NGAP_ID)?);
        let read = || {
            let SetupListRes(items) = per::decode(list, 0)?;
            let sessions = items.iter().map(SetupItemRes::session).collect::<Result<_, _>>()?;
            Ok(PduSessionResourceSetupResponse {
                amf_ue_ngap_id: per::decode(amf, 0)?,
                ran_ue_ngap_id: per::decode(ran, 0)?,
                sessions,
            })
        };
        Some(read())
    }
}

/// A value that these modules do not support.
pub(super) fn unsupported() -> per::Error {
    per::Error::new(per::ErrorKind::UnknownExtension, 0)
}

impl RequestedSession {
    /// PDU Session Resource Setup Request Transfer, of a session for IPv4.
    fn transfer(&self) -> Result<Vec<u8>, per::Error> {
        let item = |flow: &QosFlow| QosFlowRequest {
            qfi: Qfi(flow.qfi),
            qos: QosParameters::of(flow),
            e_rab_id: None,
            ie_extensions: None,
        };
        let flows = QosFlowRequests(self.flows.iter().map(item).collect::<Vec<_>>().into());
        let ies = vec![
            ProtocolIe::new(IE_UL_NGU_UP_TNL_INFORMATION, Criticality::Reject, &UpTnl::GtpTunnel(self.gateway.into()))?,
            ProtocolIe::new(IE_PDU_SESSION_TYPE, Criticality::Reject, &PduSessionType::Ipv4)?,
            ProtocolIe::new(IE_QOS_FLOW_SETUP_REQUEST_LIST, Criticality::Reject, &flows)?,
        ];
        let mut octets = Vec::new();
        per::encode(&SetupRequestTransfer { ies: ies.into() }, 0, &mut octets)?;
        Ok(octets)
    }
}

impl SetupItemReq<'_> {
    fn session(&self) -> Result<RequestedSession, per::Error> {
        let octets = self.transfer.to_cow();
        let transfer: SetupRequestTransfer<'_> = per::decode(&octets, 0)?;
        let ie =
            |id: u16| transfer.ies.iter().find(|ie| ie.id == id).map(|ie| ie.value.to_cow()).ok_or_else(unsupported);
        let tnl = ie(IE_UL_NGU_UP_TNL_INFORMATION)?;
        let UpTnl::GtpTunnel(tunnel) = per::decode(&tnl, 0)? else {
            return Err(unsupported());
        };
        let gateway = tunnel.end()?;
        let list = ie(IE_QOS_FLOW_SETUP_REQUEST_LIST)?;
        let QosFlowRequests(flows) = per::decode(&list, 0)?;
        Ok(RequestedSession {
            id: self.id,
            s_nssai: self.s_nssai.s_nssai(),
            gateway,
            flows: flows.iter().map(QosFlowRequest::flow).collect(),
        })
    }
}

impl SetupItemRes<'_> {
    fn session(&self) -> Result<EstablishedSession, per::Error> {
        let octets = self.transfer.to_cow();
        let transfer: SetupResponseTransfer<'_> = per::decode(&octets, 0)?;
        let UpTnl::GtpTunnel(tunnel) = &transfer.flows.tnl else { return Err(unsupported()) };
        let qfis = transfer.flows.flows.iter().map(|flow| flow.qfi.0).collect();
        Ok(EstablishedSession { id: self.id, base_station: tunnel.end()?, qfis })
    }
}

impl QosFlowRequest<'_> {
    fn flow(&self) -> QosFlow {
        self.qos.flow(self.qfi)
    }
}

impl QosParameters<'static> {
    /// The QoS of a flow.
    pub(super) fn of(flow: &QosFlow) -> Self {
        QosParameters {
            characteristics: Characteristics::NonDynamic(NonDynamic {
                five_qi: FiveQi(flow.five_qi.unwrap_or(9)),
                priority_level: None,
                averaging_window: None,
                maximum_burst: None,
                ie_extensions: None,
            }),
            arp: Arp {
                priority_level: 8,
                pre_emption_capability: PreEmption::No,
                pre_emption_vulnerability: PreEmption::No,
                ie_extensions: None,
            },
            gbr: flow.gbr_bps.map(|rates| rates.map(BitRate::new)).map(|[mbr_dl, mbr_ul, gbr_dl, gbr_ul]| GbrQos {
                mbr_dl,
                mbr_ul,
                gbr_dl,
                gbr_ul,
                notification_control: None,
                loss_dl: None,
                loss_ul: None,
                ie_extensions: None,
            }),
            reflective: None,
            additional: None,
            ie_extensions: None,
        }
    }
}

impl QosParameters<'_> {
    /// A flow with this QoS.
    pub(super) fn flow(&self, qfi: Qfi) -> QosFlow {
        let five_qi = match &self.characteristics {
            Characteristics::NonDynamic(of) => Some(of.five_qi.0),
            Characteristics::Dynamic(of) => of.five_qi.map(|five_qi| five_qi.0),
            Characteristics::Extensions(_) => None,
        };
        let rates =
            |gbr: &GbrQos<'_>| [gbr.mbr_dl, gbr.mbr_ul, gbr.gbr_dl, gbr.gbr_ul].map(|rate| rate.0.unsigned_abs());
        QosFlow { qfi: qfi.0, five_qi, gbr_bps: self.gbr.as_ref().map(rates) }
    }
}

impl From<GtpTunnel> for GtpTunnelIe<'_> {
    fn from(end: GtpTunnel) -> Self {
        let address = match end.address {
            IpAddr::V4(address) => BitString::new(u32::from(address).into(), 32),
            IpAddr::V6(address) => BitString::Long { octets: address.octets().to_vec().into(), count: 128 },
        };
        GtpTunnelIe { address: TransportLayerAddress(address), teid: end.teid.to_be_bytes(), ie_extensions: None }
    }
}

impl GtpTunnelIe<'_> {
    /// The end of the tunnel; of one with an address of each kind (160 bits, TS 38.414 5.1) that of IPv4.
    fn end(&self) -> Result<GtpTunnel, per::Error> {
        let octets = self.address.0.to_octets();
        let address = match octets.first_chunk::<4>().zip(Some(octets.len())) {
            Some((address, 4 | 20)) => IpAddr::V4(Ipv4Addr::from(*address)),
            _ => {
                let octets: [u8; 16] = octets.try_into().map_err(|_| unsupported())?;
                IpAddr::V6(Ipv6Addr::from(octets))
            }
        };
        Ok(GtpTunnel { address, teid: u32::from_be_bytes(self.teid) })
    }
}

/// The expected octets are those of an independent encoder (pycrate 0.8).
#[cfg(test)]
mod tests {
    use ids::Sst;

    use super::*;
    use crate::test_vectors::unhex;

    const REQUEST: &str = "001d0051000003000a0005600e000003005500020007004a003b000001002035000003008b000a01f00a0000010000001100860001\
        000088001b04090000091c00140000011c004001f40010fa00200186a010c350";
    const RESPONSE: &str = "201d0035000003000a4005600e000003005540020007004b401f0000011b000fe020010db80000000000000000000000070e00000004090040";
    const CONTEXT_RESPONSE: &str =
        "200e0032000003000a400200030055400200070048401f0000011b000fe020010db80000000000000000000000070e00000004090040";

    fn request() -> PduSessionResourceSetupRequest {
        let flows = vec![
            QosFlow { qfi: 9, five_qi: Some(9), gbr_bps: None },
            QosFlow { qfi: 1, five_qi: Some(1), gbr_bps: Some([128_000, 64_000, 100_000, 50_000]) },
        ];
        let gateway = GtpTunnel { address: [10, 0, 0, 1].into(), teid: 0x11 };
        let session = RequestedSession { id: 1, s_nssai: SNssai { sst: Sst([1]), sd: None }, gateway, flows };
        PduSessionResourceSetupRequest {
            amf_ue_ngap_id: AmfUeNgapId(0xe00_0003),
            ran_ue_ngap_id: 7,
            sessions: vec![session],
        }
    }

    fn response(amf_ue_ngap_id: i64) -> PduSessionResourceSetupResponse {
        let base_station = GtpTunnel { address: "2001:db8::7".parse().unwrap(), teid: 0x0e00_0000 };
        PduSessionResourceSetupResponse {
            amf_ue_ngap_id: AmfUeNgapId(amf_ue_ngap_id),
            ran_ue_ngap_id: 7,
            sessions: vec![EstablishedSession { id: 1, base_station, qfis: vec![9, 1] }],
        }
    }

    #[test]
    fn messages_match_vectors() {
        assert_eq!(request().encode().unwrap(), unhex(REQUEST));
        assert_eq!(PduSessionResourceSetupRequest::decode(&unhex(REQUEST)), Some(Ok(request())));
        assert_eq!(response(0xe00_0003).encode().unwrap(), unhex(RESPONSE));
        assert_eq!(PduSessionResourceSetupResponse::decode(&unhex(RESPONSE)), Some(Ok(response(0xe00_0003))));
        assert_eq!(PduSessionResourceSetupResponse::decode(&unhex(CONTEXT_RESPONSE)), Some(Ok(response(3))));
        assert_eq!(PduSessionResourceSetupRequest::decode(&unhex(RESPONSE)), None, "another message");
        assert_eq!(PduSessionResourceSetupResponse::decode(&unhex(REQUEST)), None);
    }

    #[test]
    fn any_octets_decode_or_are_refused() {
        for vector in [REQUEST, RESPONSE, CONTEXT_RESPONSE] {
            let octets = unhex(vector);
            for at in 0..octets.len() {
                for bit in 0..8 {
                    let mut changed = octets.clone();
                    changed[at] ^= 1 << bit;
                    let _ = PduSessionResourceSetupRequest::decode(&changed);
                    let _ = PduSessionResourceSetupResponse::decode(&changed);
                }
                let cut = &octets[..at];
                assert!(!matches!(PduSessionResourceSetupRequest::decode(cut), Some(Ok(_))));
                assert!(!matches!(PduSessionResourceSetupResponse::decode(cut), Some(Ok(_))));
            }
        }
    }

    #[test]
    fn values_out_of_range_are_refused() {
        let mut wrong = request();
        wrong.sessions[0].flows = vec![wrong.sessions[0].flows[0]; 65];
        assert!(wrong.encode().is_err(), "65 flows");
        wrong.sessions.clear();
        assert!(wrong.encode().is_err(), "no session");
    }
}
