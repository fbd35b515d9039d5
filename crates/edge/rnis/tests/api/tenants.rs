//! Tenants: subscriptions of their own, rights when subscribing, when matching and in queries, quotas, and callbacks.

use std::collections::BTreeSet;

use rnis::oauth::{Issuer, IssuerConfig, TokenSource};
use rnis::{AllowList, AssociateId, CallbackPolicy, Cell, Change, Event, HandoverStatus, Slice, UeIds};
use serde_json::{Value, json};

use crate::support::{Callbacks, bodies, cell, plmn};
use crate::tenancy::{OPERATOR, Tenancy, tenant};

const LIST: &str = "/rni/v2/subscriptions";
const CALLBACK: &str = "http://127.0.0.1:9/x";

fn cell_change(callback: &str, filter: Value) -> Value {
    json!({ "subscriptionType": "CellChangeSubscription", "callbackReference": callback, "filterCriteriaAssocHo": filter })
}

fn address(text: &str) -> AssociateId {
    AssociateId::ip(text.parse().unwrap())
}

fn handover(number: u64, ue: UeIds, from: Cell, to: Cell) -> Event {
    let change = Change::CellChange { targets: vec![to], status: HandoverStatus::Completed };
    Event { received_ns: number, cell: from, ue, change }
}

fn ue(address: AssociateId) -> UeIds {
    UeIds { associate_ids: vec![address], ..UeIds::default() }
}

/// The hrefs of a list of v2, v1 or of deliveries.
fn links(list: &Value) -> Vec<String> {
    let of = |pointer: &str| list.pointer(pointer).and_then(Value::as_array).cloned().unwrap_or_default();
    let items = ["/_links/subscription", "/subscriptions", "/subscriptionLinkList/subscription"].map(of).concat();
    let all = items.iter().filter_map(|item| item["href"].as_str());
    all.map(|href| href[href.find("/rni/").unwrap()..].to_owned()).collect()
}

#[test]
fn tenant_sees_changes_and_deletes_its_own_subscriptions_only() {
    let rnis = Tenancy::start(&(tenant("a", "") + &tenant("b", "")));
    let (a, b) = (rnis.token("a"), rnis.token("b"));
    let body = cell_change(CALLBACK, json!({}));
    let v1 = json!({ "callbackReference": CALLBACK, "filterCriteria": {} });
    let mut websocket = cell_change("", json!({}));
    websocket.as_object_mut().unwrap().remove("callbackReference");
    websocket["websockNotifConfig"] = json!({ "requestWebsocketUri": true });
    let of_a = [
        rnis.create(&a, LIST, &body),
        rnis.create(&a, LIST, &websocket),
        rnis.create(&a, "/rni/v1/subscriptions/cell_change", &v1),
    ];
    let of_b = rnis.create(&b, LIST, &body);
    for (path, body) in of_a.iter().zip([&body, &websocket, &v1]) {
        for stranger in [&*b, OPERATOR] {
            rnis.request(stranger, "GET", path, None).expect_problem(404, &["no subscription"]);
            rnis.request(stranger, "PUT", path, Some(body)).expect_problem(404, &["no subscription"]);
            rnis.request(stranger, "DELETE", path, None).expect_problem(404, &["no subscription"]);
        }
        assert_eq!(rnis.request(&a, "GET", path, None).status, 200);
    }
    let listed = |token: &str, path: &str| links(&rnis.request(token, "GET", path, None).expect(200));
    assert_eq!(listed(&a, LIST), of_a[..2]);
    assert_eq!(listed(&b, LIST), [&*of_b]);
    assert_eq!(listed(&a, "/rnis/v1/subscriptions"), of_a);
    assert_eq!(listed(&b, "/rnis/v1/subscriptions"), [of_b]);
    assert_eq!(listed(OPERATOR, "/rnis/v1/subscriptions"), [""; 0]);
    assert_eq!(listed(&b, "/rni/v1/subscriptions/"), [""; 0]);
    let socket = of_a[1].replace("subscriptions", "notifications");
    let handshake = |token: &str| {
        let fields = format!(
            "authorization: Bearer {token}\r\nconnection: upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\n\
             sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
        );
        rnis.rnis.request_with("GET", &socket, &fields, None).status
    };
    assert_eq!((handshake(&b), handshake(OPERATOR), handshake(&a)), (404, 404, 101));
    assert_eq!(rnis.request(&a, "DELETE", &of_a[0], None).status, 204);
}

#[test]
fn criteria_that_no_event_can_meet_are_refused_by_their_member() {
    let rights = "event_types = [\"cell_change\", \"nr_meas_rep_ue\", \"s1_bearer\", \"rab_est\"]\ncells = [\"00101-000000001\"]\n\
                  plmns = [\"00101\"]\nues = [\"10.45.0.0/24\"]";
    let rnis = Tenancy::start(&tenant("a", rights));
    let token = rnis.token("a");
    let of = |word: &str| bodies(CALLBACK).into_iter().find(|(it, _)| *it == word).unwrap().1;
    let edited = |word: &str, member: &str, criterion: &str, value: Value| {
        let mut body = of(word);
        body[member][criterion] = value;
        body
    };
    let other_cell = json!([{ "plmn": plmn(), "cellId": "000000002" }]);
    let other_ue = json!([{ "type": 1, "value": "10.46.0.1" }]);
    let nr = json!([{ "plmn": { "mcc": "001", "mnc": "02" }, "nrCellId": "000000001" }]);
    let v1 = |filter: Value| json!({ "callbackReference": CALLBACK, "filterCriteria": filter });
    let (ho, mrs, s1) = ("filterCriteriaAssocHo", "filterCriteriaNrMrs", "S1BearerSubscriptionCriteria");
    let in_v1 = "/rni/v1/subscriptions/cell_change";
    for (path, body, at) in [
        (LIST, of("meas_rep_ue"), "subscriptionType"),
        (LIST, edited("cell_change", ho, "ecgi", other_cell.clone()), "filterCriteriaAssocHo.ecgi"),
        (LIST, edited("cell_change", ho, "associateId", other_ue.clone()), "filterCriteriaAssocHo.associateId"),
        (LIST, edited("nr_meas_rep_ue", mrs, "nrcgi", nr), "filterCriteriaNrMrs.nrcgi"),
        (LIST, edited("s1_bearer", s1, "associateId", other_ue.clone()), "S1BearerSubscriptionCriteria.associateId"),
        (LIST, edited("rab_est", "filterCriteriaQci", "ecgi", other_cell), "filterCriteriaQci.ecgi"),
        (in_v1, v1(json!({ "plmn": { "mcc": "001", "mnc": "02" } })), "filterCriteria.plmn"),
        (in_v1, v1(json!({ "plmn": plmn(), "cellId": ["000000002"] })), "filterCriteria.cellId"),
        (
            in_v1,
            json!({ "CellChangeSubscription": v1(json!({ "associateId": other_ue })) }),
            "CellChangeSubscription.filterCriteria.associateId",
        ),
        ("/rni/v1/subscriptions/ta", v1(json!({})), "subscriptionType"),
    ] {
        let problem = rnis.request(&token, "POST", path, Some(&body)).expect_problem(403, &["no right"]);
        assert_eq!(problem["at"], at, "{body}");
    }
    // what is permitted, and wildcards, which are narrowed when events are matched
    for body in [of("cell_change"), of("nr_meas_rep_ue"), of("s1_bearer"), cell_change(CALLBACK, json!({}))] {
        let path = rnis.create(&token, LIST, &body);
        let changed = edited("meas_rep_ue", "filterCriteriaAssocTri", "trigger", json!([]));
        assert_eq!(rnis.request(&token, "PUT", &path, Some(&changed)).status, 403);
    }
    rnis.create(&token, in_v1, &v1(json!({})));
}

#[test]
fn queries_show_only_what_the_tenant_may_see() {
    let all = tenant("all", "")
        + &tenant("one", "cells = [\"00101-000000001\"]\nqueries = [\"rab_info\", \"plmn_info\", \"layer2_meas\"]");
    let file = all + &tenant("two", "ues = [\"10.46.0.0/16\"]") + &tenant("none", "plmns = [\"00102\"]");
    let rnis = Tenancy::start(&file);
    rnis.rnis.fill();
    let tokens = ["all", "one", "two", "none"].map(|name| rnis.token(name));
    let cells = |answer: &Value, pointer: &str| -> BTreeSet<String> {
        let list = answer.pointer(pointer).and_then(Value::as_array).cloned().unwrap_or_default();
        list.iter()
            .map(|it| it["ecgi"]["cellId"].as_str().unwrap_or_else(|| it["cellId"].as_str().unwrap()).to_owned())
            .collect()
    };
    let seen = |token: &str, path: &str, pointer: &str| {
        let answer = rnis.request(token, "GET", path, None);
        if answer.status == 200 { Ok(cells(&answer.json(), pointer)) } else { Err(answer.status) }
    };
    let (first, second) = ("000000001".to_owned(), "000000002".to_owned());
    for (path, pointer, expected) in [
        (
            "/rni/v2/queries/rab_info",
            "/cellUserInfo",
            [Ok([&first, &second].map(Clone::clone).into()), Ok([first.clone()].into()), Err(404), Err(404)],
        ),
        (
            "/rni/v2/queries/rab_info?cell_id=000000002",
            "/cellUserInfo",
            [Ok([second.clone()].into()), Err(404), Err(404), Err(404)],
        ),
        (
            "/rni/v2/queries/layer2_meas",
            "/cellInfo",
            [
                Ok([&first, &second].map(Clone::clone).into()),
                Ok([first.clone()].into()),
                Ok([&first, &second].map(Clone::clone).into()),
                Err(404),
            ],
        ),
        (
            "/rni/v2/queries/layer2_meas",
            "/cellUEInfo",
            [Ok([first.clone()].into()), Ok([first.clone()].into()), Ok(BTreeSet::new()), Err(404)],
        ),
        (
            "/rni/v2/queries/s1_bearer_info",
            "/s1UeInfo/0/ecgi",
            [Ok([first.clone()].into()), Err(403), Err(404), Err(404)],
        ),
        (
            "/rni/v1/queries/plmn_info",
            "/PlmnInfo/ecgi",
            [
                Ok([&first, &second].map(Clone::clone).into()),
                Ok([first.clone()].into()),
                Ok([&first, &second].map(Clone::clone).into()),
                Err(404),
            ],
        ),
        ("/rni/v1/queries/s1_bearer_info", "", [Ok(BTreeSet::new()), Err(403), Err(404), Err(404)]),
    ] {
        for (token, expected) in tokens.iter().zip(expected) {
            assert_eq!(seen(token, path, pointer), expected, "{path}");
        }
    }
    let plmns = |token: &str| rnis.request(token, "GET", "/rni/v2/queries/plmn_info", None).status;
    assert_eq!(tokens.each_ref().map(|token| plmns(token)), [200, 200, 200, 404]);
}

#[test]
fn events_reach_tenants_within_their_rights_also_after_a_change() {
    let callbacks = Callbacks::start();
    let slice = |lines: &str| tenant("a", lines) + &tenant("b", "");
    let rnis = Tenancy::start(&slice("slices = [\"1-0000ab\"]\nues = [\"10.45.0.0/24\"]"));
    let (a, b) = (rnis.token("a"), rnis.token("b"));
    rnis.create(&a, LIST, &cell_change(&callbacks.url("a"), json!({})));
    rnis.create(&b, LIST, &cell_change(&callbacks.url("b"), json!({})));
    let publish = |number: u64, address_of: &str, slices: &[&str]| {
        let slices = slices.iter().map(|it| Slice::try_from((*it).to_owned()).unwrap()).collect();
        let ue = UeIds { associate_ids: vec![address(address_of)], slices, temporary: None };
        rnis.rnis.service.publish(handover(number, ue, cell(1), cell(2)));
    };
    publish(1, "10.45.0.2", &["2", "1-0000ab"]);
    publish(2, "10.45.0.2", &["2"]);
    publish(3, "10.46.0.2", &["1-0000ab"]);
    publish(4, "10.45.0.2", &[]);
    publish(5, "10.45.0.3", &["1-0000ab"]);
    let numbers = |name: &str, count| -> Vec<u64> {
        callbacks.expect(name, count).iter().map(|it| it["timeStamp"]["nanoSeconds"].as_u64().unwrap()).collect()
    };
    assert_eq!(numbers("b", 5), [1, 2, 3, 4, 5]);
    assert_eq!(numbers("a", 2), [1, 5]);
    rnis.change(&slice("cells = [\"00101-000000001\"]"), || {
        let tenants = rnis.rnis.service.tenants().unwrap().table();
        tenants.get("a").unwrap().rights.cells.is_some()
    });
    publish(6, "10.45.0.2", &["1-0000ab"]); // its target is not among the cells
    rnis.rnis.service.publish(handover(7, ue(address("10.45.0.2")), cell(1), cell(1)));
    assert_eq!(numbers("b", 7).len(), 7);
    assert_eq!(numbers("a", 3), [1, 5, 7]);
}

#[test]
fn removed_tenant_loses_its_subscriptions_and_quotas_hold() {
    let callbacks = Callbacks::start();
    let (a, b) = (tenant("a", "max_subscriptions = 2"), tenant("b", ""));
    let rnis = Tenancy::start(&(a + &b));
    let (of_a, of_b) = (rnis.token("a"), rnis.token("b"));
    rnis.create(&of_a, LIST, &cell_change(&callbacks.url("a"), json!({})));
    rnis.create(&of_a, LIST, &cell_change(&callbacks.url("a"), json!({})));
    let third = cell_change(&callbacks.url("a"), json!({}));
    rnis.request(&of_a, "POST", LIST, Some(&third)).expect_problem(403, &["2 subscriptions, which is the limit"]);
    rnis.create(&of_b, LIST, &cell_change(&callbacks.url("b"), json!({})));
    rnis.create(&of_b, LIST, &cell_change(&callbacks.url("b"), json!({})));
    rnis.create(&of_b, LIST, &cell_change(&callbacks.url("b"), json!({})));
    rnis.change(&b, || rnis.rnis.service.find(|subscription| &*subscription.owner == "a").is_empty());
    rnis.rnis.service.publish(handover(1, ue(address("10.45.0.2")), cell(1), cell(2)));
    callbacks.expect("b", 3);
    assert_eq!(callbacks.received("a").len(), 0);
    rnis.request(&of_a, "GET", LIST, None).expect_problem(401, &["not known here any more"]);
}

#[test]
fn share_of_the_delivery_follows_the_file() {
    let callbacks = Callbacks::start();
    let file = |quota: &str| tenant("a", quota) + &tenant("b", "weight = 3");
    let rnis = Tenancy::start(&file("notifications_per_s = 0"));
    for name in ["a", "b"] {
        rnis.create(&rnis.token(name), LIST, &cell_change(&callbacks.url(name), json!({})));
    }
    let publish = |number| rnis.rnis.service.publish(handover(number, ue(address("10.45.0.2")), cell(1), cell(2)));
    (0..20).for_each(publish);
    callbacks.expect("b", 20);
    assert_eq!(callbacks.received("a").len(), 0, "its quota is 0");
    rnis.change(&file(""), || callbacks.received("a").len() == 20);
}

#[test]
fn callback_outside_the_allow_list_is_refused() {
    let file = tenant("a", "") + &tenant("b", "callbacks = [\"127.0.0.1:9000-9100\", \"*.b.example\"]");
    let rnis = Tenancy::with(&file, CallbackPolicy::new(AllowList::public()), |_, tenants| {
        let config = IssuerConfig { name: "ferric-rnis".into(), audience: "rni".into(), lifetime_s: 60, key: None };
        TokenSource::Embedded(std::sync::Arc::new(Issuer::new(config, std::sync::Arc::clone(tenants)).unwrap()))
    });
    let (a, b) = (rnis.token("a"), rnis.token("b"));
    let post = |token: &str, url: &str| rnis.request(token, "POST", LIST, Some(&cell_change(url, json!({}))));
    for inward in [
        "http://127.0.0.1:9000/",
        "http://169.254.169.254/latest/",
        "http://[::1]/",
        "http://[::ffff:10.0.0.1]/",
        "http://localhost/",
        "http://2130706433/",
    ] {
        let problem = post(&a, inward).expect_problem(422, &["callbackReference", "not allowed"]);
        assert_eq!(problem["at"], "callbackReference");
        let v1 = json!({ "callbackReference": inward, "filterCriteria": {} });
        assert_eq!(rnis.request(&a, "POST", "/rni/v1/subscriptions/cell_change", Some(&v1)).status, 422);
    }
    for (token, url, status) in [
        (&a, "http://app.example/", 201),
        (&a, "http://1.1.1.1/", 201),
        (&b, "http://127.0.0.1:9000/", 201),
        (&b, "http://x.b.example/", 201),
        (&b, "http://127.0.0.1:80/", 422),
        (&b, "http://1.1.1.1/", 422),
    ] {
        let answer = post(token, url);
        assert_eq!(answer.status, status, "{url}: {answer:?}");
        if status == 201 {
            let path = answer.header("location").unwrap();
            let path = path[path.find("/rni/").unwrap()..].to_owned();
            assert_eq!(
                rnis.request(token, "PUT", &path, Some(&cell_change("http://10.0.0.1/", json!({})))).status,
                422
            );
            assert_eq!(rnis.request(token, "DELETE", &path, None).status, 204);
        }
    }
}

/// Random numbers of a seed (xorshift).
struct Random(u64);

impl Random {
    fn below(&mut self, most: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % most
    }

    /// Some of a few numbers; `None` for no restriction.
    fn right(&mut self, most: u64) -> Option<BTreeSet<u64>> {
        (self.below(3) > 0).then(|| (0..most).filter(|_| self.below(2) == 0).collect())
    }
}

/// What the test knows of a tenant: cells by number, PLMNs by number, UEs by the last octet, and whether cell changes.
struct Known {
    cells: Option<BTreeSet<u64>>,
    plmns: Option<BTreeSet<u64>>,
    ues: Option<BTreeSet<u64>>,
    has_type: bool,
}

fn cell_of(plmn: u64, number: u64) -> Cell {
    Cell::nr(format!("0010{plmn}").parse().unwrap(), number)
}

fn texts(set: &Option<BTreeSet<u64>>, name: &str, write: impl Fn(u64) -> Vec<String>) -> String {
    let Some(set) = set else { return String::new() };
    let values: Vec<_> = set.iter().flat_map(|it| write(*it)).map(|it| format!("\"{it}\"")).collect();
    format!("{name} = [{}]\n", values.join(", "))
}

#[test]
fn no_notification_is_outside_the_rights_of_random_tenants() {
    let seed = std::env::var("FERRIC_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(42);
    println!("FERRIC_SEED={seed}");
    let mut random = Random(seed);
    let callbacks = Callbacks::start();
    let known: Vec<Known> = (0..12)
        .map(|_| Known {
            cells: random.right(4),
            plmns: random.right(2),
            ues: random.right(4),
            has_type: random.below(4) > 0,
        })
        .collect();
    let file: String = known
        .iter()
        .enumerate()
        .map(|(at, known)| {
            let types = if known.has_type { "" } else { "event_types = [\"ca_reconf\"]\n" };
            let cells = texts(&known.cells, "cells", |it| [1, 2].map(|plmn| String::from(cell_of(plmn, it))).into());
            let plmns = texts(&known.plmns, "plmns", |it| vec![format!("0010{}", it + 1)]);
            let ues = texts(&known.ues, "ues", |it| vec![format!("10.0.0.{it}")]);
            tenant(&format!("t{at}"), &format!("{types}{cells}{plmns}{ues}"))
        })
        .collect();
    let rnis = Tenancy::start(&file);
    // two subscriptions of each: to everything, and to some cells
    let mut narrow = Vec::new();
    for (at, tenant) in known.iter().enumerate() {
        let token = rnis.token(&format!("t{at}"));
        let plmn = |number: u64| json!({ "mcc": "001", "mnc": format!("0{number}") });
        let wanted: BTreeSet<(u64, u64)> = (0..3).map(|_| (1 + random.below(2), random.below(4))).collect();
        let ecgi: Vec<_> =
            wanted.iter().map(|(of, cell)| json!({ "plmn": plmn(*of), "cellId": format!("{cell:09x}") })).collect();
        for (name, filter) in [("all", json!({})), ("some", json!({ "ecgi": ecgi }))] {
            let body = cell_change(&callbacks.url(&format!("t{at}-{name}")), filter);
            let status = rnis.request(&token, "POST", LIST, Some(&body)).status;
            let may_have = tenant.has_type
                && (name == "all"
                    || wanted.iter().any(|(of, cell)| {
                        tenant.cells.as_ref().is_none_or(|it| it.contains(cell))
                            && tenant.plmns.as_ref().is_none_or(|it| it.contains(&(of - 1)))
                    }));
            assert_eq!(status, if may_have { 201 } else { 403 }, "t{at}-{name}");
        }
        narrow.push(wanted);
    }
    let mut expected: Vec<[Vec<u64>; 2]> = vec![Default::default(); known.len()];
    for number in 0..300 {
        let ((from_plmn, from), (to_plmn, to)) =
            ((1 + random.below(2), random.below(4)), (1 + random.below(2), random.below(4)));
        let last = random.below(4);
        let ids = ue(address(&format!("10.0.0.{last}")));
        rnis.rnis.service.publish(handover(number, ids, cell_of(from_plmn, from), cell_of(to_plmn, to)));
        for (at, tenant) in known.iter().enumerate() {
            let has = |set: &Option<BTreeSet<u64>>, values: &[u64]| {
                set.as_ref().is_none_or(|set| values.iter().all(|value| set.contains(value)))
            };
            let is_permitted = tenant.has_type
                && has(&tenant.cells, &[from, to])
                && has(&tenant.plmns, &[from_plmn - 1, to_plmn - 1])
                && has(&tenant.ues, &[last]);
            if is_permitted {
                expected[at][0].push(number);
                if [(from_plmn, from), (to_plmn, to)].iter().any(|cell| narrow[at].contains(cell)) {
                    expected[at][1].push(number);
                }
            }
        }
    }
    for (at, [all, some]) in expected.iter().enumerate() {
        for (name, expected) in [("all", all), ("some", some)] {
            let received = callbacks.expect(&format!("t{at}-{name}"), expected.len());
            let numbers: Vec<u64> =
                received.iter().map(|it| it["timeStamp"]["nanoSeconds"].as_u64().unwrap()).collect();
            assert_eq!(numbers, *expected, "t{at}-{name}");
        }
    }
    assert!(expected.iter().flatten().map(Vec::len).sum::<usize>() > 300, "the rights permit enough to compare");
}
