//! A service with its REST interface, and a callback server that records what it receives.

use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rest::{Operation, Parameter, Problem, Response, Route, Server, ServerConfig, StatusCode};
use rnis::api::ApiConfig;
use rnis::{
    AssociateId, AssociateIdType, BearerQos, BearerState, Both, Broker, Cell, CellMeasurements, Delivery,
    DeliveryConfig, Embedded, Service, Sink, SubscriptionLimits, TempUeId, Tunnel, UeIds, UeMeasurements, UeState,
};
use serde_json::{Value, json};
use testkit::http::{Client, Response as Received};

/// The PLMN of the tests.
pub const PLMN: &str = "00101";

/// The cell of NR with this number.
pub fn cell(number: u64) -> Cell {
    Cell::nr(PLMN.parse().unwrap(), number)
}

/// A body with the PLMN of the tests.
pub fn plmn() -> Value {
    json!({ "mcc": "001", "mnc": "01" })
}

/// A service.
pub struct TestService {
    pub service: Arc<Service>,
    pub rest: testkit::http::Service,
    _server: Server,
}

impl TestService {
    pub fn start() -> Self {
        TestService::with(SubscriptionLimits::default(), |_| ())
    }

    pub fn with(limits: SubscriptionLimits, adapt: impl FnOnce(&mut ServerConfig)) -> Self {
        TestService::of(|sink| Box::new(Embedded::new(sink)), limits, &ApiConfig::default(), adapt)
    }

    /// A service with a broker.
    pub fn of(
        broker: impl FnOnce(Arc<dyn Sink>) -> Box<dyn Broker>,
        limits: SubscriptionLimits,
        api: &ApiConfig,
        adapt: impl FnOnce(&mut ServerConfig),
    ) -> Self {
        let service =
            Service::new(Delivery::start(DeliveryConfig::default()).unwrap(), |sink| Ok::<_, ()>(broker(sink)))
                .unwrap();
        TestService::serve(service.with_limits(limits), api, Vec::new(), adapt)
    }

    /// A service with further routes.
    pub fn serve(
        service: Service,
        api: &ApiConfig,
        further: Vec<Route>,
        adapt: impl FnOnce(&mut ServerConfig),
    ) -> Self {
        let service = Arc::new(service);
        let metrics = service.metrics().clone();
        let mut config = ServerConfig { metrics, ..ServerConfig::new("127.0.0.1:0".parse().unwrap()) };
        adapt(&mut config);
        let mut routes = rnis::api::routes(&service, api).unwrap();
        routes.extend(further);
        let server = Server::start(config, routes).unwrap();
        let rest = testkit::http::Service { address: server.address() };
        TestService { service, rest, _server: server }
    }

    /// Sends a request with further header fields, each ended by CR LF.
    pub fn request_with(&self, method: &str, path: &str, fields: &str, body: Option<&str>) -> Received {
        let mut client = Client::connect(self.rest.address);
        let content = body.map_or_else(String::new, |body| format!("content-length: {}\r\n", body.len()));
        let head = format!("{method} {path} HTTP/1.1\r\nhost: localhost\r\n{fields}{content}\r\n");
        client.write(head.as_bytes());
        // a server that refuses the head may have closed the connection
        let _ = client.try_write(body.unwrap_or_default().as_bytes());
        client.receive()
    }

    /// Two cells, of which the first has a UE with two bearers and all identities, and the second one without identities.
    pub fn fill(&self) {
        let ids = [
            (AssociateIdType::UeIpv4, "10.45.0.2"),
            (AssociateIdType::UeIpv6, "2001:db8::2"),
            (AssociateIdType::NatedIp, "192.0.2.7"),
            (AssociateIdType::GtpTeid, "0000002a"),
        ];
        let ids = ids.map(|(kind, value)| AssociateId { kind, value: value.to_owned() });
        let tunnel = |address: &str, teid: &str| Tunnel { address: address.to_owned(), teid: teid.to_owned() };
        let gbr = BearerState {
            qos: Some(BearerQos { qci: 1, rates_bps: Some([2000, 1000, 800, 400]) }),
            tunnel: Some((tunnel("10.0.0.1", "0000002a"), tunnel("10.0.0.9", "00000102"))),
        };
        let other = BearerState { qos: Some(BearerQos { qci: 9, rates_bps: None }), tunnel: None };
        let measurements = UeMeasurements {
            non_gbr_throughput_kbps: Both { dl: Some(1500), ul: Some(20) },
            gbr_delay_ms: Both { dl: Some(7), ul: None },
            ..UeMeasurements::default()
        };
        let known = UeState {
            ids: UeIds {
                associate_ids: ids.to_vec(),
                temporary: Some(TempUeId { mmec: "1".into(), mtmsi: "1234".into() }),
                slices: Vec::new(),
            },
            cell: Some(cell(0x1)),
            bearers: [(5, gbr), (6, other.clone())].into(),
            measurements,
        };
        let unknown = UeState { cell: Some(cell(0x2)), bearers: [(6, other)].into(), ..UeState::default() };
        let measured =
            CellMeasurements { total_prb_percent: Both { dl: Some(40), ul: Some(3) }, ..CellMeasurements::default() };
        self.service.update(|state| {
            state.cells = [(cell(0x1), measured), (cell(0x2), CellMeasurements::default())].into();
            state.ues = [("amf:1".to_owned(), known), ("amf:2".to_owned(), unknown)].into();
        });
    }

    /// Creates a subscription. Returns its path and its body.
    #[track_caller]
    pub fn create(&self, path: &str, body: &Value) -> (String, Value) {
        let created = self.rest.request("POST", path, body.clone());
        let document = created.expect(201);
        let location = created.header("location").unwrap();
        (location[location.find("/rni/").unwrap()..].to_owned(), document)
    }

    /// What was delivered to a subscription.
    pub fn delivery(&self, path: &str) -> Value {
        let list = self.rest.get("/rnis/v1/subscriptions");
        let found =
            list["subscriptions"].as_array().unwrap().iter().find(|it| it["href"].as_str().unwrap().ends_with(path));
        found.unwrap().clone()
    }
}

/// A server for callbacks at `/{name}`. It answers with 204, at `/broken` with 500.
pub struct Callbacks {
    server: Server,
    received: Arc<Mutex<Vec<(String, Value)>>>,
}

impl Callbacks {
    pub fn start() -> Self {
        let received: Arc<Mutex<Vec<(String, Value)>>> = Arc::default();
        let operation = Operation::post("/{name}", "", "").path(&[Parameter::text("name", "")]);
        let route = Route::new(operation, {
            let received = Arc::clone(&received);
            move |request| {
                let name = request.parameter(0).to_owned();
                if name == "broken" {
                    return Err(Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "broken"));
                }
                received.lock().unwrap().push((name, request.json()?));
                Ok(Response::no_content())
            }
        });
        let server = Server::start(ServerConfig::new("127.0.0.1:0".parse().unwrap()), vec![route]).unwrap();
        Callbacks { server, received }
    }

    /// The URL of a callback.
    pub fn url(&self, name: &str) -> String {
        format!("{}/{name}", self.server.url())
    }

    /// What a callback has received.
    pub fn received(&self, name: &str) -> Vec<Value> {
        let received = self.received.lock().unwrap();
        received.iter().filter(|(of, _)| of == name).map(|(_, body)| body.clone()).collect()
    }

    /// Waits for a number of notifications at a callback.
    #[track_caller]
    pub fn expect(&self, name: &str, count: usize) -> Vec<Value> {
        testkit::eventually(&format!("{count} notifications at {name}"), || self.received(name).len() >= count);
        let received = self.received(name);
        assert_eq!(received.len(), count, "{received:?}");
        received
    }
}

/// A time of the system's clock as a body.
pub fn deadline(after: Duration) -> Value {
    let then = SystemTime::now().duration_since(UNIX_EPOCH).unwrap() + after;
    json!({ "seconds": then.as_secs(), "nanoSeconds": then.subsec_nanos() })
}

/// The body of a subscription of v2 to each type, and the member with its criteria.
pub fn bodies(callback: &str) -> Vec<(&'static str, Value)> {
    let ecgi = json!([{ "plmn": plmn(), "cellId": "000000001" }]);
    let ue = json!([{ "type": 1, "value": "10.45.0.2" }]);
    let both = json!({ "appInstanceId": "a-1", "associateId": ue, "ecgi": ecgi });
    let with = |more: Value| {
        let mut filter = both.clone();
        filter.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        filter
    };
    let bearer = json!({ "appInstanceId": "a-1", "ecgi": ecgi, "erabId": 5, "qci": 9 });
    let criteria = [
        ("cell_change", "CellChangeSubscription", "filterCriteriaAssocHo", with(json!({ "hoStatus": [1, 3] }))),
        (
            "rab_est",
            "RabEstSubscription",
            "filterCriteriaQci",
            json!({ "appInstanceId": "a-1", "ecgi": ecgi, "qci": 9 }),
        ),
        ("rab_mod", "RabModSubscription", "filterCriteriaQci", bearer.clone()),
        ("rab_rel", "RabRelSubscription", "filterCriteriaQci", bearer),
        ("meas_rep_ue", "MeasRepUeSubscription", "filterCriteriaAssocTri", with(json!({ "trigger": [12] }))),
        (
            "nr_meas_rep_ue",
            "NrMeasRepUeSubscription",
            "filterCriteriaNrMrs",
            json!({ "appInstanceId": "a-1", "associateId": ue, "nrcgi": [{ "plmn": plmn(), "nrCellId": "000000001" }], "triggerNr": [12] }),
        ),
        ("timing_advance_ue", "MeasTaSubscription", "filterCriteriaAssoc", both.clone()),
        ("ca_reconf", "CaReconfSubscription", "filterCriteriaAssoc", both),
        (
            "s1_bearer",
            "S1BearerSubscription",
            "S1BearerSubscriptionCriteria",
            json!({ "associateId": ue, "ecgi": ecgi, "erabId": [5] }),
        ),
    ];
    let body = |(word, name, member, filter): (&'static str, &str, &str, Value)| {
        let mut body = json!({ "subscriptionType": name, "callbackReference": callback, member: filter });
        if word == "s1_bearer" {
            body["eventType"] = json!([1, 2]);
        }
        (word, body)
    };
    criteria.into_iter().map(body).collect()
}
