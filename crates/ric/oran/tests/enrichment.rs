//! A1-EI: jobs of xApps at a service that has the interface of a non-RT RIC, over links that keep what they were given.

use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use log_lines::LogBudget;
use oran::a1::enrichment::{
    EiMessageKind, Enrichment, EnrichmentConfig, JobLink, JobOwner, JobStatus, MAX_JOBS, MAX_JOBS_PER_XAPP,
    MAX_OF_HOST_PERCENT, MAX_RESULT_OCTETS, RequestThread, routes,
};
use rest::ServerConfig;
use rest::client::ClientConfig;
use sdl::{Config, Sdl};
use serde_json::{Value, json};
use testkit::http::{Client, Service};
use testkit::non_rt_ric::{Mood, NonRtRic};
use testkit::{PATIENCE, eventually};

/// A way to xApps that keeps what it was given.
#[derive(Clone, Default)]
struct Given(Arc<Mutex<GivenState>>);

#[derive(Default)]
struct GivenState {
    is_busy: bool,
    messages: Vec<(String, EiMessageKind, Value)>,
    watched: Vec<String>,
}

impl JobLink for Given {
    fn way(&self) -> &'static str {
        "rmr"
    }

    fn deliver(&self, address: &str, kind: EiMessageKind, _: &str, document: Vec<u8>) -> bool {
        let mut state = self.0.lock().unwrap();
        if !state.is_busy {
            state.messages.push((address.to_owned(), kind, serde_json::from_slice(&document).unwrap()));
        }
        !state.is_busy
    }

    fn watch(&self, addresses: Vec<String>) {
        self.0.lock().unwrap().watched = addresses;
    }
}

impl Given {
    fn take(&self) -> Vec<(String, EiMessageKind, Value)> {
        std::mem::take(&mut self.0.lock().unwrap().messages)
    }

    fn watched(&self) -> Vec<String> {
        self.0.lock().unwrap().watched.clone()
    }
}

/// Enrichment information with REST.
struct Host {
    enrichment: Enrichment,
    given: Given,
    service: Service,
    _rest: rest::Server,
    _thread: RequestThread,
}

impl Host {
    fn start(non_rt_ric: &str, sdl: Option<&Sdl>) -> Host {
        let given = Given::default();
        let config = EnrichmentConfig { non_rt_ric: ClientConfig::new(non_rt_ric), ric: "ric-1".to_owned() };
        let links: Vec<Box<dyn JobLink>> = vec![Box::new(given.clone())];
        let enrichment = Enrichment::new(config, links, sdl.map(Sdl::handle), LogBudget::new(1000)).unwrap();
        let rest = ServerConfig::new("127.0.0.1:0".parse().unwrap());
        let rest = rest::Server::start(rest, routes(&enrichment)).unwrap();
        let thread = enrichment.start(&rest.url()).unwrap();
        let service = Service { address: rest.address() };
        Host { enrichment, given, service, _rest: rest, _thread: thread }
    }

    fn ask(&self, xapp: &str, request: &str) -> Receiver<(EiMessageKind, Value)> {
        let (sender, answers) = channel();
        let answer = Box::new(move |kind, document: Vec<u8>| {
            // the test may have ended
            let _ = sender.send((kind, serde_json::from_slice(&document).unwrap()));
        });
        self.enrichment.handle_request(JobOwner::new("rmr", xapp), host_of(xapp), request.as_bytes(), answer);
        answers
    }

    /// The answer to a request about a job.
    fn request(&self, xapp: &str, request: &Value) -> Value {
        let (kind, answer) = self.ask(xapp, &request.to_string()).recv_timeout(PATIENCE).expect("an answer");
        assert_eq!(kind, EiMessageKind::Job);
        answer
    }

    fn types(&self) -> Value {
        let (sender, answers) = channel();
        let answer = Box::new(move |kind, document: Vec<u8>| sender.send((kind, document)).unwrap());
        self.enrichment.handle_query(log_lines::Host::Local, answer);
        let (kind, document) = answers.recv_timeout(PATIENCE).expect("an answer");
        assert_eq!(kind, EiMessageKind::Types);
        serde_json::from_slice(&document).unwrap()
    }

    fn jobs(&self) -> Value {
        self.service.get("/A1-EI/v1/eijobs")
    }

    fn post(&self, path: &str, body: &Value) -> testkit::http::Response {
        self.service.request("POST", path, body.clone())
    }
}

/// The host of an xApp `HOST:PORT`: one of its own for each name.
fn host_of(xapp: &str) -> log_lines::Host {
    let name = xapp.split(':').next().unwrap();
    let digest = name.bytes().fold(0, |digest: u64, octet| digest * 31 + u64::from(octet));
    log_lines::Host::V6(digest)
}

fn non_rt_ric() -> NonRtRic {
    let schema = json!({
        "type": "object", "properties": { "cell": { "type": "string" } }, "required": ["cell"], "additionalProperties": false,
    });
    NonRtRic::with_types(&[("load", json!({ "eiJobDefinitionSchema": schema })), ("any", json!({}))])
}

fn job(id: &str, ei_type: &str, definition: Value) -> Value {
    json!({ "job-id": id, "eiTypeId": ei_type, "jobOwner": "me", "jobDefinition": definition })
}

#[test]
fn job_is_created_its_results_are_delivered_and_it_is_deleted() {
    let non_rt_ric = non_rt_ric();
    let host = Host::start(&non_rt_ric.url(), None);
    assert_eq!(host.types(), json!(["any", "load"]));
    let request = job("7", "load", json!({ "cell": "a" }));
    assert_eq!(host.request("x:1", &request), json!({ "ei_job_id": "7" }));
    let created = non_rt_ric.jobs()["7"].clone();
    let base = format!("http://{}/A1-EI/v1/eijobs/7", host.service.address);
    let expected = json!({
        "eiTypeId": "load", "jobOwner": "me", "jobDefinition": { "cell": "a" },
        "jobResultUri": format!("{base}/result"), "jobStatusNotificationUri": format!("{base}/status"),
    });
    assert_eq!(created, expected);
    assert_eq!(host.given.watched(), ["x:1"]);
    assert_eq!(host.post("/A1-EI/v1/eijobs/7/result", &json!({ "load": 5 })).status, 204);
    let delivery = json!({ "ei_job_id": "7", "payload": { "load": 5 } });
    assert_eq!(host.given.take(), [("x:1".to_owned(), EiMessageKind::Result, delivery)]);
    // the form of the platform's mediator, and a second xApp with the same job
    assert_eq!(host.request("y:1", &request), json!({ "ei_job_id": "7" }));
    assert_eq!(host.post("/data-delivery", &json!({ "job": "7", "payload": "text" })).status, 204);
    let delivery = json!({ "ei_job_id": "7", "payload": "text" });
    let to = |xapp: &str| (xapp.to_owned(), EiMessageKind::Result, delivery.clone());
    assert_eq!(host.given.take(), [to("x:1"), to("y:1")]);
    assert_eq!(host.post("/A1-EI/v1/eijobs/7/status", &json!({ "eiJobStatus": "DISABLED" })).status, 204);
    assert_eq!(host.post("/A1-EI/v1/eijobs/7/status", &json!({ "eiJobStatus": "DISABLED" })).status, 204);
    let status = json!({ "ei_job_id": "7", "eiJobStatus": "DISABLED" });
    let to = |xapp: &str| (xapp.to_owned(), EiMessageKind::Job, status.clone());
    assert_eq!(host.given.take(), [to("x:1"), to("y:1")], "once");
    let shown = &host.jobs()[0];
    assert_eq!(
        (&shown["status"], &shown["results"], &shown["isEstablished"]),
        (&json!("DISABLED"), &json!(2), &json!(true))
    );
    // the last xApp ends it
    let delete = json!({ "job-id": "7", "operation": "DELETE" });
    assert_eq!(host.request("x:1", &delete), json!({ "ei_job_id": "7", "operation": "DELETE" }));
    assert_eq!(host.request("x:1", &delete)["status"], 404);
    assert_eq!(non_rt_ric.jobs().len(), 1);
    host.request("y:1", &delete);
    eventually("the job is deleted", || non_rt_ric.jobs().is_empty());
    host.post("/A1-EI/v1/eijobs/7/result", &json!({})).expect_problem(404, &["no EI job `7`"]);
    assert_eq!((host.given.watched(), host.jobs()), (vec![], json!([])));
}

#[test]
fn update_that_is_refused_leaves_the_job_as_it_was() {
    let non_rt_ric = non_rt_ric();
    let host = Host::start(&non_rt_ric.url(), None);
    host.request("x:1", &job("7", "load", json!({ "cell": "a" })));
    assert_eq!(host.request("x:1", &job("7", "load", json!({ "cell": "b" }))), json!({ "ei_job_id": "7" }));
    assert_eq!(non_rt_ric.jobs()["7"]["jobDefinition"], json!({ "cell": "b" }));
    let refusal = host.request("x:1", &job("7", "load", json!({ "cell": 7 })));
    assert_eq!((&refusal["status"], &refusal["mistakes"][0]["at"]), (&json!(400), &json!("/cell")), "{refusal}");
    assert_eq!(host.jobs()[0]["jobDefinition"], json!({ "cell": "b" }));
    host.post("/A1-EI/v1/eijobs/7/result", &json!(1)).expect(204);
}

#[test]
fn bad_requests_are_answered_and_change_nothing() {
    let non_rt_ric = non_rt_ric();
    let host = Host::start(&non_rt_ric.url(), None);
    let refusal = |request: &Value, status: u16, why: &str| {
        let refusal = host.request("x:1", request);
        assert_eq!(refusal["status"], status, "{refusal}");
        assert!(refusal["detail"].as_str().unwrap().contains(why), "{refusal}");
        assert!(refusal.get("ei_job_id").is_none(), "an xApp of the platform would take it for a job: {refusal}");
        refusal
    };
    refusal(&job("1", "none", json!({})), 404, "no EI type `none`");
    let violation = refusal(&job("1", "load", json!({ "other": 1 })), 400, "does not conform");
    assert!(!violation["mistakes"].as_array().unwrap().is_empty(), "{violation}");
    for id in ["", "a/b", "..", "a b", "ä", &"x".repeat(129)] {
        refusal(&job(id, "any", json!({})), 400, "job-id has 1 to 128");
        refusal(&job("1", id, json!({})), 400, "eiTypeId has 1 to 128");
    }
    refusal(&job("1", "any", json!([])), 400, "not a JSON object");
    refusal(&json!({ "eiTypeId": "any" }), 400, "job-id");
    refusal(&json!({ "job-id": "1", "operation": "RENAME" }), 400, "RENAME");
    for nonsense in ["", "nonsense", "[]", "\u{0}", &" ".repeat(20_000)] {
        let (_, answer) = host.ask("x:1", nonsense).recv_timeout(PATIENCE).unwrap();
        assert_eq!(answer["status"], 400, "{nonsense:?}: {answer}");
    }
    assert_eq!((host.jobs(), non_rt_ric.jobs().len()), (json!([]), 0));
    // an id that another xApp has
    host.request("x:1", &job("1", "any", json!({ "of": "x" })));
    let other = host.request("y:1", &job("1", "any", json!({ "of": "y" })));
    assert_eq!(other["status"], 409, "{other}");
    assert_eq!(host.request("x:1", &job("1", "load", json!({ "cell": "a" })))["status"], 409);
    assert_eq!(host.request("y:1", &json!({ "job-id": "1", "operation": "DELETE" }))["status"], 404);
    assert_eq!(host.jobs()[0]["jobDefinition"], json!({ "of": "x" }));
}

#[test]
fn bad_results_are_refused() {
    let non_rt_ric = non_rt_ric();
    let host = Host::start(&non_rt_ric.url(), None);
    host.request("x:1", &job("1", "any", json!({})));
    let result = "/A1-EI/v1/eijobs/1/result";
    host.post("/A1-EI/v1/eijobs/2/result", &json!({})).expect_problem(404, &["no EI job `2`"]);
    host.post("/data-delivery", &json!({ "job": "2", "payload": {} })).expect_problem(404, &["no EI job `2`"]);
    host.post("/data-delivery", &json!({ "payload": {} })).expect_problem(422, &["job"]);
    host.post(result, &json!("x".repeat(MAX_RESULT_OCTETS))).expect_problem(413, &["at most 65536 octets"]);
    host.post("/A1-EI/v1/eijobs/1/status", &json!({ "eiJobStatus": "MAYBE" })).expect_problem(422, &["MAYBE"]);
    let head = |length: usize| {
        format!(
            "POST {result} HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n",
            host.service.address
        )
    };
    // a length that lies: more than may come is refused before it comes, more than comes is not a result
    let mut client = Client::connect(host.service.address);
    client.write(head(1 << 30).as_bytes());
    assert_eq!(client.receive().status, 413);
    let mut client = Client::connect(host.service.address);
    client.write(format!("{}{{\"load\":5}}", head(100)).as_bytes());
    client.close_write();
    assert!(client.try_receive().is_none_or(|response| response.status == 400));
    // less than comes: the rest is not a request
    let mut client = Client::connect(host.service.address);
    client.write(format!("{}{{\"load\":5}}", head(2)).as_bytes());
    assert!(client.try_receive().is_none_or(|response| (400..500).contains(&response.status)));
    assert_eq!(host.given.take(), []);
    host.given.0.lock().unwrap().is_busy = true;
    host.post(result, &json!(1)).expect_problem(503, &["do not take results now"]);
    let shown = &host.jobs()[0];
    assert_eq!((&shown["results"], &shown["lostResults"]), (&json!(0), &json!(2)), "{shown}");
}

#[test]
fn jobs_of_an_xapp_and_of_all_are_bounded() {
    let non_rt_ric = non_rt_ric();
    let host = Host::start(&non_rt_ric.url(), None);
    // nothing is created meanwhile: the jobs wait
    non_rt_ric.set_mood(Mood::Status(500));
    let owner = |at: usize| format!("x:{}", at / MAX_JOBS_PER_XAPP);
    let of_host = MAX_JOBS * MAX_OF_HOST_PERCENT / 100;
    for at in 0..of_host {
        assert_eq!(host.request(&owner(at), &job(&at.to_string(), "any", json!({})))["status"], 503);
    }
    let detail = |xapp: &str| host.request(xapp, &job("more", "any", json!({})))["detail"].as_str().unwrap().to_owned();
    assert!(detail("x:0").contains("an xApp has at most"), "{}", detail("x:0"));
    assert!(detail("x:99").contains("the xApps of a host have at most"), "{}", detail("x:99"));
    // others take the rest, one each
    for at in of_host..MAX_JOBS {
        assert_eq!(host.request(&format!("y{at}:1"), &job(&at.to_string(), "any", json!({})))["status"], 503);
    }
    assert_eq!(host.request("other:1", &job("more", "any", json!({})))["status"], 507);
    assert_eq!(host.enrichment.owner_gone(&JobOwner::new("rmr", "x:0")), MAX_JOBS_PER_XAPP);
    assert_eq!(host.jobs().as_array().unwrap().len(), MAX_JOBS - MAX_JOBS_PER_XAPP);
    assert_eq!(host.given.watched().len(), of_host / MAX_JOBS_PER_XAPP - 1 + MAX_JOBS - of_host);
}

#[test]
fn non_rt_ric_that_fails_is_asked_again() {
    let non_rt_ric = non_rt_ric();
    let host = Host::start(&non_rt_ric.url(), None);
    non_rt_ric.set_mood(Mood::Status(500));
    let answer = host.request("x:1", &job("1", "any", json!({})));
    assert_eq!((&answer["status"], &answer["retrying"], &answer["job-id"]), (&json!(503), &json!(true), &json!("1")));
    assert_eq!(host.types()["status"], 503);
    let requests = non_rt_ric.requests().len();
    for at in 0..20 {
        assert_eq!(host.request("x:1", &job(&format!("more-{at}"), "any", json!({})))["status"], 503);
    }
    assert!(non_rt_ric.requests().len() <= requests + 2, "it is not asked for each");
    assert!(host.jobs()[0]["fault"].as_str().unwrap().contains("500"), "{}", host.jobs());
    non_rt_ric.set_mood(Mood::Well);
    eventually("the jobs are created", || non_rt_ric.jobs().len() == 21);
    eventually("the xApp is told", || {
        let told = (EiMessageKind::Job, json!({ "ei_job_id": "1" }));
        host.given.0.lock().unwrap().messages.iter().any(|(_, kind, document)| (*kind, document.clone()) == told)
    });
    assert_eq!(host.types(), json!(["any", "load"]));
}

#[test]
fn non_rt_ric_that_never_answers_is_given_up_after_a_time() {
    // it accepts, and says nothing
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let host = Host::start(&format!("http://{}", silent.local_addr().unwrap()), None);
    let answer = host.request("x:1", &job("1", "any", json!({})));
    assert_eq!((&answer["status"], &answer["retrying"]), (&json!(503), &json!(true)));
    // at once: it is known to be away
    assert_eq!(host.types()["status"], 503);
}

#[test]
fn slow_non_rt_ric_delays_nothing_else() {
    let non_rt_ric = non_rt_ric();
    let host = Host::start(&non_rt_ric.url(), None);
    host.request("x:1", &job("1", "any", json!({})));
    non_rt_ric.set_mood(Mood::Slow(Duration::from_millis(700)));
    let answers = host.ask("x:1", &job("2", "any", json!({})).to_string());
    let begun = std::time::Instant::now();
    host.post("/A1-EI/v1/eijobs/1/result", &json!(1)).expect(204);
    assert!(begun.elapsed() < Duration::from_millis(600), "a result waits for the non-RT RIC");
    assert_eq!(answers.recv_timeout(PATIENCE).unwrap().1, json!({ "ei_job_id": "2" }));
}

#[test]
fn answer_that_is_none_is_refused() {
    let refuses = |document: Value, why: &str| {
        let non_rt_ric = NonRtRic::with_types(&[("odd", document)]);
        let host = Host::start(&non_rt_ric.url(), None);
        let answer = host.request("x:1", &job("1", "odd", json!({})));
        assert_eq!(answer["status"], 502, "{answer}");
        assert!(answer["detail"].as_str().unwrap().contains(why), "{answer}");
    };
    refuses(json!({ "eiJobDefinitionSchema": { "$ref": "http://other.example/" } }), "not supported");
    refuses(json!({ "eiJobDefinitionSchema": 7 }), "not supported");
}

#[test]
fn jobs_survive_a_restart_and_are_created_again_where_they_were_lost() {
    let file = std::env::temp_dir().join(format!("ferric-ei-{}.redb", std::process::id()));
    let _ = std::fs::remove_file(&file); // of an earlier run
    let start = |file: PathBuf| {
        let config = Config { file: Some(file), ..Config::new("tcp://127.0.0.1:0".parse().unwrap()) };
        Sdl::start(config, LogBudget::new(1000)).unwrap()
    };
    let non_rt_ric = non_rt_ric();
    let sdl = start(file.clone());
    let host = Host::start(&non_rt_ric.url(), Some(&sdl));
    host.request("x:1", &job("1", "load", json!({ "cell": "a" })));
    host.request("y:1", &job("1", "load", json!({ "cell": "a" })));
    host.request("x:1", &job("2", "any", json!({})));
    host.request("x:1", &json!({ "job-id": "2", "operation": "DELETE" }));
    eventually("the second is deleted", || non_rt_ric.jobs().len() == 1);
    drop((host, sdl));
    non_rt_ric.forget_jobs();
    let sdl = start(file.clone());
    let host = Host::start(&non_rt_ric.url(), Some(&sdl));
    assert_eq!(host.given.watched(), ["x:1", "y:1"]);
    eventually("the first is created again", || {
        let expected = format!("http://{}/A1-EI/v1/eijobs/1/result", host.service.address);
        non_rt_ric.jobs().get("1").is_some_and(|job| job["jobResultUri"] == expected)
    });
    host.post("/A1-EI/v1/eijobs/1/result", &json!(1)).expect(204);
    assert_eq!(host.given.take().len(), 2);
    host.enrichment.set_status("1", JobStatus::Enabled).unwrap();
    for xapp in ["x:1", "y:1"] {
        assert_eq!(host.enrichment.owner_gone(&JobOwner::new("rmr", xapp)), 1);
    }
    eventually("nobody wants it", || non_rt_ric.jobs().is_empty());
    drop((host, sdl));
    let sdl = start(file.clone());
    let host = Host::start(&non_rt_ric.url(), Some(&sdl));
    assert_eq!(host.jobs(), json!([]));
    drop((host, sdl));
    std::fs::remove_file(&file).unwrap();
}

#[test]
fn non_rt_ric_that_comes_later_has_the_jobs() {
    let address: SocketAddr = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let host = Host::start(&format!("http://{address}"), None);
    let answer = host.request("x:1", &job("1", "any", json!({})));
    assert_eq!((&answer["status"], &answer["retrying"]), (&json!(503), &json!(true)));
    let non_rt_ric = NonRtRic::start(address, &[("any", json!({}))]);
    eventually("the job is created", || non_rt_ric.jobs().contains_key("1"));
}
