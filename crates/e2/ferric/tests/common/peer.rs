//! A connection driven by the test: frames on plain sockets, independent of the library.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use e2ap::{
    E2NodeComponentConfigAdditionItem, E2NodeComponentConfiguration, E2NodeComponentId, E2NodeComponentInterfaceNg,
    E2NodeComponentInterfaceType, E2SetupRequest, GlobalE2NodeId, GnbId, Pdu, PlmnIdentity, RanFunctionId,
    RanFunctionItem, RanFunctionRevision, RicActionAdmitted, RicActionId, RicActionType, RicIndication,
    RicIndicationSn, RicIndicationType, RicRequestId, RicSubscriptionRequest, RicSubscriptionResponse, TransactionId,
    Version,
};
use ferric::e2::xapp::{RicMessage, XappMessage};
use ferric::e2::{Action, SubscriptionSpec};
use ferric::link::Address;
use per::{Gather, Octets, PrintableString};
use socket2::{Domain, Socket, Type};

use super::PATIENCE;

pub const VERSION: Version = Version::V2_03;
/// The function that every peer offers.
pub const FUNCTION: RanFunctionId = RanFunctionId(7);
pub const OID: &str = "1.3.6.1.4.1.32473.1.7";

pub struct Peer {
    pub stream: TcpStream,
    sn: u16,
}

impl Peer {
    pub fn connect(address: &Address) -> Peer {
        let Address::Tcp { host, port } = address else { panic!("{address} is not TCP") };
        Peer::of(TcpStream::connect((host.as_str(), *port)).unwrap())
    }

    /// Connects as another host: from an address of 127.0.0.0/8.
    pub fn connect_from(host: &str, address: &Address) -> Peer {
        Peer::with_socket(address, |socket| {
            let own: SocketAddr = format!("{host}:0").parse().unwrap();
            socket.bind(&own.into()).unwrap();
        })
    }

    /// Connects with a socket that `prepare` has prepared.
    pub fn with_socket(address: &Address, prepare: impl FnOnce(&Socket)) -> Peer {
        let Address::Tcp { host, port } = address else { panic!("{address} is not TCP") };
        let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
        prepare(&socket);
        let address: SocketAddr = format!("{host}:{port}").parse().unwrap();
        socket.connect(&address.into()).unwrap();
        Peer::of(socket.into())
    }

    pub fn of(stream: TcpStream) -> Peer {
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.set_write_timeout(Some(PATIENCE)).unwrap();
        stream.set_nodelay(true).unwrap();
        Peer { stream, sn: 0 }
    }

    /// Returns the same connection, for another thread to read.
    pub fn another(&self) -> Peer {
        Peer { stream: self.stream.try_clone().unwrap(), sn: 0 }
    }

    /// Writes octets without a frame. Does not fail when the peer has closed: see [`Peer::expect_closed`].
    pub fn write(&mut self, octets: &[u8]) {
        let _ = self.stream.write_all(octets);
    }

    /// Writes a frame.
    pub fn send(&mut self, pdu: &[u8]) {
        self.write(&framed(pdu));
    }

    pub fn send_pdu<'a>(&mut self, pdu: impl Into<Pdu<'a>>) {
        self.send(&encoded(pdu, VERSION));
    }

    /// Returns the next frame; `None` if the server has closed.
    pub fn try_receive(&mut self) -> Option<Vec<u8>> {
        let mut length = [0; 4];
        if !self.read(&mut length) {
            return None;
        }
        let mut frame = vec![0; u32::from_be_bytes(length) as usize];
        assert!(self.read(&mut frame), "closed in the middle of a frame");
        Some(frame)
    }

    pub fn receive(&mut self) -> Vec<u8> {
        self.try_receive().expect("a frame, not the end")
    }

    /// Returns the next PDU, which must be valid.
    pub fn receive_pdu(&mut self) -> Pdu<'static> {
        decoded(&self.receive())
    }

    /// Returns the next message to an xApp.
    pub fn receive_message<T>(&mut self, take: impl FnOnce(RicMessage<'_>) -> T) -> T {
        take(RicMessage::decode(&self.receive()).unwrap())
    }

    pub fn send_message(&mut self, message: &XappMessage) {
        let mut bytes = Vec::new();
        message.encode(&mut bytes);
        self.send(&bytes);
    }

    /// Fills `buffer`. Returns `false` at the end of the stream.
    fn read(&mut self, buffer: &mut [u8]) -> bool {
        let mut filled = 0;
        while filled < buffer.len() {
            match self.stream.read(&mut buffer[filled..]) {
                Ok(0) => return false,
                Ok(octets) => filled += octets,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if matches!(error.kind(), ErrorKind::ConnectionReset | ErrorKind::BrokenPipe) => {
                    return false;
                }
                Err(error) => panic!("no octets arrive: {error}"),
            }
        }
        true
    }

    /// Waits until the server closes. Everything that it sends before must be valid E2AP.
    pub fn expect_closed(&mut self) -> Vec<Pdu<'static>> {
        std::iter::from_fn(|| self.try_receive()).map(|frame| decoded(&frame)).collect()
    }

    /// Returns the time until the server closes, while `octets` are written one by one.
    pub fn drip(&mut self, octets: &[u8]) -> Duration {
        let begun = Instant::now();
        self.stream.set_read_timeout(Some(Duration::from_millis(5))).unwrap();
        for octet in octets.iter().cycle() {
            let written = self.stream.write_all(&[*octet]);
            let closed = match self.stream.read(&mut [0; 64]) {
                Ok(octets) => octets == 0,
                Err(error) => !matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut),
            };
            if written.is_err() || closed {
                break;
            }
            assert!(begun.elapsed() < PATIENCE, "the server does not close");
        }
        begun.elapsed()
    }

    /// Sets up as the gNB of that number.
    pub fn set_up(&mut self, number: u32) {
        self.set_up_with(number, b"definition");
    }

    /// Sets up as the gNB of that number, with a function definition of so many octets.
    pub fn set_up_with(&mut self, number: u32, definition: &[u8]) {
        self.send(&setup_request_with(number, VERSION, definition));
        match self.receive_pdu() {
            Pdu::E2SetupResponse(response) => {
                let accepted = response.ran_functions_accepted.unwrap();
                assert_eq!(accepted.iter().map(|f| f.id).collect::<Vec<_>>(), [FUNCTION]);
            }
            other => panic!("{other:?}"),
        }
    }

    /// Waits for a subscription and admits its actions.
    pub fn admit(&mut self) -> (RicRequestId, RicActionId) {
        let request = self.receive_subscription();
        let actions: Vec<_> = request.details.actions.iter().map(|a| RicActionAdmitted { id: a.id }).collect();
        let action = actions[0].id;
        self.send_pdu(RicSubscriptionResponse {
            request_id: request.request_id,
            ran_function_id: request.ran_function_id,
            actions_admitted: actions.into(),
            actions_not_admitted: None,
        });
        (request.request_id, action)
    }

    pub fn receive_subscription(&mut self) -> RicSubscriptionRequest<'static> {
        match self.receive_pdu() {
            Pdu::RicSubscriptionRequest(request) => request,
            other => panic!("{other:?}"),
        }
    }

    /// Sends a report.
    pub fn report(&mut self, request_id: RicRequestId, action_id: RicActionId, message: &[u8]) {
        let mut report = indication(request_id, action_id, message);
        report.sn = Some(RicIndicationSn(self.sn));
        self.sn = self.sn.wrapping_add(1);
        self.send_pdu(report);
    }

    /// Checks that the server is well and owes this node no answer: the next message is the answer to a reset.
    pub fn is_served(&mut self) {
        self.send_pdu(reset_request());
        match self.receive_pdu() {
            Pdu::ResetResponse(response) => assert_eq!(response.transaction_id, Some(TransactionId(9))),
            other => panic!("unexpected: {other:?}"),
        }
    }
}

pub fn framed(pdu: &[u8]) -> Vec<u8> {
    let mut frame = u32::try_from(pdu.len()).unwrap().to_be_bytes().to_vec();
    frame.extend(pdu);
    frame
}

pub fn encoded<'a>(pdu: impl Into<Pdu<'a>>, version: Version) -> Vec<u8> {
    let mut bytes = Vec::new();
    pdu.into().encode(version, &mut bytes).unwrap();
    bytes
}

/// A PDU that was received.
pub fn decoded(bytes: &[u8]) -> Pdu<'static> {
    let gather = Gather::new();
    e2ap::decode(bytes, VERSION, &gather).unwrap().pdu.into_owned()
}

pub fn node_id(number: u32) -> GlobalE2NodeId {
    GlobalE2NodeId::gnb(PlmnIdentity::from_codes(1, 1, 2), GnbId::new(number, 32))
}

pub fn setup_request(number: u32, version: Version) -> Vec<u8> {
    setup_request_with(number, version, b"definition")
}

fn setup_request_with(number: u32, version: Version, definition: &[u8]) -> Vec<u8> {
    let function = RanFunctionItem {
        id: FUNCTION,
        definition: definition.into(),
        revision: RanFunctionRevision(1),
        oid: (version > Version::V1_00).then(|| PrintableString::literal(OID)),
    };
    let request = E2SetupRequest {
        transaction_id: (version >= Version::V2_03).then_some(TransactionId(1)),
        global_e2_node_id: node_id(number),
        ran_functions_added: Some(vec![function].into()),
        component_config_update_v1: None,
        component_config_addition: (version >= Version::V2_03).then(|| vec![component()].into()),
    };
    encoded(request, version)
}

fn component() -> E2NodeComponentConfigAdditionItem<'static> {
    E2NodeComponentConfigAdditionItem {
        interface_type: E2NodeComponentInterfaceType::Ng,
        id: E2NodeComponentId::Ng(E2NodeComponentInterfaceNg { amf_name: PrintableString::literal("amf") }),
        configuration: E2NodeComponentConfiguration {
            request_part: Octets::default(),
            response_part: Octets::default(),
        },
    }
}

pub fn reset_request() -> e2ap::ResetRequest {
    e2ap::ResetRequest {
        transaction_id: Some(TransactionId(9)),
        cause: Some(e2ap::Cause::Misc(e2ap::CauseMisc::OmIntervention)),
    }
}

pub fn indication(request_id: RicRequestId, action_id: RicActionId, message: &[u8]) -> RicIndication<'_> {
    RicIndication {
        request_id,
        ran_function_id: FUNCTION,
        action_id,
        sn: None,
        kind: RicIndicationType::Report,
        header: Octets::from(b"header"),
        message: message.into(),
        call_process_id: None,
    }
}

/// Returns an indication whose PDU has exactly `octets` octets.
pub fn indication_of(request_id: RicRequestId, action_id: RicActionId, octets: usize) -> Vec<u8> {
    let mut message = octets;
    for _ in 0..8 {
        let pdu = encoded(indication(request_id, action_id, &vec![0x5E; message]), VERSION);
        if pdu.len() == octets {
            return pdu;
        }
        message = message + octets - pdu.len();
    }
    panic!("no indication has exactly {octets} octets")
}

/// One report action.
pub fn report_spec(event_trigger: &[u8]) -> SubscriptionSpec {
    let action = Action { id: RicActionId(1), kind: RicActionType::Report, definition: None, subsequent: None };
    SubscriptionSpec { event_trigger: event_trigger.to_vec(), actions: vec![action] }
}
