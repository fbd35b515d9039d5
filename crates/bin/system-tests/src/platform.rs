//! The interfaces of the O-RAN reference platform, and xApps as they see them.
#![allow(clippy::missing_panics_doc, reason = "a test fails by a panic")]

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};

use e2sm::common::{PlmnIdentity, SNssai, Sst};
use e2sm::kpm::{self, MeasurementRequest, ReportRequest, Scope};
use e2sm::rc::{Control, ControlAction, SlicePrbQuota};
use ferric::e2ap::{
    Pdu, RanFunctionId, RicActionId, RicActionToBeSetup, RicActionType, RicControlAckRequest, RicControlRequest,
    RicRequestId, RicSubscriptionDeleteRequest, RicSubscriptionDetails, RicSubscriptionRequest, Version, decode,
};
use ferric::link::Address;
use per::Gather;
use ran::{RanConfig, Scenario};
use ric::RicConfig;
use ric::oran_host::RmrRightsHandle;
use rmr::{Header, MessageType};
use serde_json::{Value, json};
use testkit::http::Service;

use crate::rmr_peer::{Connection, Received};
use crate::{Platform, TestRan, TestRic};

/// The node of the emulated RAN, as xApps of the platform call it.
pub const NODE: &str = "gnb_001_001_000e00";
/// The version of E2AP of the emulated RAN.
pub const VERSION: Version = Version::V2_03;

/// A RIC with the interfaces of the platform, and an emulated RAN.
pub struct Network {
    /// The RIC.
    pub ric: TestRic,
    /// Where RMR is spoken.
    pub rmr: SocketAddr,
    /// The REST interfaces of the platform.
    pub rest: Service,
    /// Replaces the rights of xApps.
    pub rights: RmrRightsHandle,
    /// The RAN.
    pub ran: TestRan,
}

/// The configuration of the RAN: a gNB with two UEs.
#[must_use]
pub fn ran_config() -> RanConfig {
    RanConfig { scenario: Scenario::with_mixed_traffic(1, 2, 1), e2ap_version: VERSION, ..RanConfig::default() }
}

impl Network {
    /// Starts both, after `adapt` has edited the configuration of the RIC, and waits until they are connected.
    pub fn start(adapt: impl FnOnce(&mut RicConfig)) -> Network {
        let (ric, platform) = TestRic::with_platform(adapt);
        let Platform { rmr: Address::Tcp { host, port }, rest, rights } = platform else { panic!("RMR is over TCP") };
        let ran = TestRan::start(&ric.e2, ran_config());
        rest.eventually(&format!("/v1/nodeb/{NODE}"), |_| true);
        Network { ric, rmr: SocketAddr::new(host.parse().unwrap(), port), rest, rights, ran }
    }

    /// KPM of the node, for each UE.
    #[must_use]
    pub fn kpm(&self) -> Kpm {
        kpm(&self.rest)
    }

    /// KPM of the node, for a part of it.
    #[must_use]
    pub fn kpm_of(&self, scope: Scope<'_>) -> Kpm {
        kpm_of(&self.rest, scope)
    }

    /// A control of E2SM-RC: a quota of PRBs for a slice. Its RAN function, header and message.
    #[must_use]
    pub fn quota(&self, min_percent: u8) -> (u16, Vec<u8>, Vec<u8>) {
        quota_of(&self.rest, min_percent)
    }
}

/// The RAN function of a service model of the node, with its definition.
#[must_use]
pub fn function(rest: &Service, oid: &str) -> Option<(u16, Vec<u8>)> {
    let node = rest.get(&format!("/v1/nodeb/{NODE}"));
    let functions = node["gnb"]["ranFunctions"].as_array().unwrap();
    let function = functions.iter().find(|function| function["ranFunctionOid"] == oid)?;
    let digits = function["ranFunctionDefinition"].as_str().unwrap();
    let octets = (0..digits.len()).step_by(2).map(|at| u8::from_str_radix(&digits[at..at + 2], 16).unwrap());
    Some((function["ranFunctionId"].as_u64().unwrap() as u16, octets.collect()))
}

/// KPM of the node: its id, an event trigger of 50 ms, and an action for a measurement of each UE.
#[must_use]
pub fn kpm(rest: &Service) -> Kpm {
    kpm_of(rest, Scope::EveryUe(kpm::EveryUe::default()))
}

/// The same for a part of the node.
#[must_use]
pub fn kpm_of(rest: &Service, scope: Scope<'_>) -> Kpm {
    let (function, definition) = kpm::OIDS.iter().find_map(|oid| function(rest, oid)).expect("KPM");
    let revision = RanConfig::default().kpm_revision;
    let arena = e2sm::Arena::new();
    let definition = kpm::RanFunctionDefinition::decode(&definition, revision, &arena).unwrap();
    let request = ReportRequest {
        measurements: &[MeasurementRequest::named("DRB.UEThpDl")],
        granularity_period_ms: 50,
        reporting_period_ms: 50,
        scope,
    };
    let plan = request.plan(&definition, revision).unwrap();
    let (mut trigger, mut action) = (Vec::new(), Vec::new());
    plan.trigger.encode(revision, &mut trigger).unwrap();
    plan.action.encode(revision, &mut action).unwrap();
    Kpm { function, trigger, action }
}

/// A control of E2SM-RC: a quota of PRBs for a slice. Its RAN function, header and message.
#[must_use]
pub fn quota_of(rest: &Service, min_percent: u8) -> (u16, Vec<u8>, Vec<u8>) {
    let (function, _) = function(rest, e2sm::rc::OID).expect("RC");
    let (plmn, slice) = (PlmnIdentity::from_codes(1, 1, 2), SNssai { sst: Sst([1]), sd: None });
    let quota = SlicePrbQuota::of_slice(plmn, slice, min_percent, 100);
    let control = Control::of_cell(ControlAction::SlicePrbQuota(quota));
    let (header, message) = control.encode(RanConfig::default().rc_revision).unwrap();
    (function, header, message)
}

/// A subscription to KPM.
pub struct Kpm {
    /// The RAN function.
    pub function: u16,
    /// The event trigger definition.
    pub trigger: Vec<u8>,
    /// The action definition.
    pub action: Vec<u8>,
}

impl Kpm {
    /// A request to subscribe, as the platform writes it.
    #[must_use]
    pub fn request(&self, xapp: &Xapp, instance: u16) -> Value {
        json!({
            "ClientEndpoint": { "Host": "127.0.0.1", "HTTPPort": xapp.http_port(), "RMRPort": xapp.rmr_port() },
            "Meid": NODE,
            "RANFunctionID": self.function,
            "SubscriptionDetails": [{
                "XappEventInstanceId": instance,
                "EventTriggers": self.trigger,
                "ActionToBeSetupList": [{
                    "ActionID": 1,
                    "ActionType": "report",
                    "ActionDefinition": self.action,
                    "SubsequentAction": { "SubsequentActionType": "continue", "TimeToWait": "w10ms" },
                }],
            }],
        })
    }

    /// A RIC Subscription Request.
    #[must_use]
    pub fn subscription_request(&self) -> Vec<u8> {
        let action = RicActionToBeSetup {
            id: RicActionId(1),
            kind: RicActionType::Report,
            definition: Some(self.action.as_slice().into()),
            subsequent_action: None,
            execution_order: None,
        };
        let request = RicSubscriptionRequest {
            request_id: RicRequestId { requestor: 123, instance: 0 },
            ran_function_id: RanFunctionId(self.function),
            details: RicSubscriptionDetails {
                event_trigger_definition: self.trigger.as_slice().into(),
                actions: [action].into_iter().collect(),
            },
            start_time: None,
            end_time: None,
        };
        let mut octets = Vec::new();
        Pdu::from(request).encode(VERSION, &mut octets).unwrap();
        octets
    }

    /// A RIC Subscription Delete Request.
    #[must_use]
    pub fn delete_request(&self, request_id: RicRequestId) -> Vec<u8> {
        let mut octets = Vec::new();
        let request = RicSubscriptionDeleteRequest { request_id, ran_function_id: RanFunctionId(self.function) };
        Pdu::from(request).encode(VERSION, &mut octets).unwrap();
        octets
    }
}

/// The listeners of an xApp.
pub struct Xapp {
    rmr: TcpListener,
    http: TcpListener,
}

impl Xapp {
    /// Listens.
    #[must_use]
    #[allow(clippy::new_without_default, reason = "it takes ports")]
    pub fn new() -> Xapp {
        Xapp { rmr: TcpListener::bind("127.0.0.1:0").unwrap(), http: TcpListener::bind("127.0.0.1:0").unwrap() }
    }

    /// The port at which it receives.
    #[must_use]
    pub fn rmr_port(&self) -> u16 {
        self.rmr.local_addr().unwrap().port()
    }

    /// The port for notifications.
    #[must_use]
    pub fn http_port(&self) -> u16 {
        self.http.local_addr().unwrap().port()
    }

    /// Waits for the connection of the RIC.
    #[must_use]
    pub fn accept(&self) -> Connection {
        Connection(self.rmr.accept().unwrap().0)
    }

    /// Waits for a notification, and answers it. Returns its path and document.
    #[must_use]
    pub fn notification(&self) -> (String, Value) {
        self.http.set_nonblocking(true).unwrap();
        let mut accepted = None;
        testkit::eventually("a notification arrives", || {
            accepted = self.http.accept().ok();
            accepted.is_some()
        });
        let (mut stream, _) = accepted.unwrap();
        stream.set_nonblocking(false).unwrap();
        let mut octets = Vec::new();
        let mut buffer = [0; 4096];
        loop {
            let read = stream.read(&mut buffer).unwrap();
            assert!(read > 0, "{}", String::from_utf8_lossy(&octets));
            octets.extend_from_slice(&buffer[..read]);
            let text = String::from_utf8_lossy(&octets).into_owned();
            let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
            let length = head.lines().find_map(|line| {
                let (name, value) = line.split_once(':')?;
                name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse::<usize>().unwrap())
            });
            if body.len() < length.unwrap() {
                continue;
            }
            stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n").unwrap();
            let path = head.split(' ').nth(1).unwrap().to_owned();
            return (path, serde_json::from_str(body).unwrap());
        }
    }

    /// Waits for the notification of a subscription that is active. Returns the subscription id of its indications.
    pub fn subscribed(&self, id: &Value, instance: u16) -> i32 {
        let (path, document) = self.notification();
        assert_eq!(path, "/ric/v1/subscriptions/response");
        assert_eq!(&document["SubscriptionId"], id);
        let outcome = &document["SubscriptionInstances"][0];
        assert_eq!(
            (&outcome["XappEventInstanceId"], &outcome["ErrorCause"]),
            (&json!(instance), &json!("")),
            "{document}"
        );
        i32::try_from(outcome["E2EventInstanceId"].as_i64().unwrap()).unwrap()
    }
}

/// The header of a message of an xApp.
#[must_use]
pub fn header<'a>(kind: MessageType, source: &'a str) -> Header<'a> {
    Header { kind, meid: NODE, source, source_address: source, transaction: b"transaction", ..Header::default() }
}

/// Checks that a message is an indication of KPM of the node.
pub fn check_indication(message: &Received, subscription_id: i32) {
    assert_eq!(
        (message.kind, message.subscription_id, &*message.meid),
        (MessageType::INDICATION, subscription_id, NODE)
    );
    let gather = Gather::new();
    let Pdu::RicIndication(indication) = decode(&message.payload, VERSION, &gather).unwrap().pdu else {
        panic!("{message:?}")
    };
    assert_eq!(i32::from(indication.request_id.instance), subscription_id);
    let arena = e2sm::Arena::new();
    let octets = indication.message.to_cow();
    kpm::IndicationMessage::decode(&octets, RanConfig::default().kpm_revision, &arena).unwrap();
}

/// A RIC Control Request.
#[must_use]
pub fn control_request(function: u16, control_header: &[u8], message: &[u8], ack: RicControlAckRequest) -> Vec<u8> {
    let request = RicControlRequest {
        request_id: RicRequestId { requestor: 123, instance: 9 },
        ran_function_id: RanFunctionId(function),
        call_process_id: None,
        header: control_header.into(),
        message: message.into(),
        ack_request: Some(ack),
    };
    let mut octets = Vec::new();
    Pdu::from(request).encode(VERSION, &mut octets).unwrap();
    octets
}
