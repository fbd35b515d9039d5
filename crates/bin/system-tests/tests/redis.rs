//! Forwarding of statistics to a Redis server, which is killed, refuses, or is slow.

use std::collections::HashSet;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::thread;
use std::time::{Duration, Instant};

use ferric::xapp::{Xapp, XappConfig, XappEvent};
use ran::{RanConfig, Scenario};
use redis::TypedCommands;
use system_tests::{PATIENCE, RicAndRan, eventually, log};
use testkit::Redis;
use traffic::record::Record;
use traffic::{Forwarder, ForwarderStats, RedisConfig, RedisReader, RedisSource, subscription};

const NODE: &str = "gnb-00101-e00";

fn ran() -> RanConfig {
    RanConfig { scenario: Scenario::with_mixed_traffic(1, 4, 1), ..RanConfig::default() }
}

/// Starts a RIC that forwards statistics, and a RAN. Also returns the statistics of the forwarder.
fn start(config: RedisConfig) -> (RicAndRan, impl Fn() -> ForwarderStats) {
    let forwarder = Forwarder::start(config).unwrap();
    let watch = forwarder.watch();
    (RicAndRan::start(vec![Box::new(forwarder)], ran()), watch)
}

fn config(url: &str) -> RedisConfig {
    RedisConfig { period_ms: 10, ..RedisConfig::new(url.parse().unwrap()) }
}

/// Returns the next records of both models.
fn both(reader: &RedisReader) -> (Record, Record) {
    let end = Instant::now() + PATIENCE;
    let (mut rlc, mut tc) = (None, None);
    loop {
        let Some((node, record)) = reader.next(Duration::from_millis(100)) else {
            assert!(Instant::now() < end, "no records\n{}", log());
            continue;
        };
        assert_eq!(node, NODE);
        match record {
            Record::Rlc(_) => rlc = Some(record),
            Record::Tc(_) => tc = Some(record),
        }
        if let (Some(rlc), Some(tc)) = (&rlc, &tc) {
            return (rlc.clone(), tc.clone());
        }
    }
}

#[test]
fn records_are_published_and_added_to_bounded_streams() {
    let Some(redis) = Redis::start(&[]) else { return };
    let mut config = config(&redis.url());
    (config.stream_length, config.prefix, config.period_ms) = (20, "here".to_owned(), 2);
    let (_running, forwarded) = start(config);
    for via in [RedisSource::PubSub, RedisSource::Stream] {
        let (Record::Rlc(rlc), Record::Tc(tc)) =
            both(&RedisReader::start(redis.url().parse().unwrap(), "here", via).unwrap())
        else {
            panic!("the records have the wrong models")
        };
        let rntis: HashSet<_> = rlc.bearers.iter().map(|bearer| bearer.rnti).collect();
        assert_eq!(rntis, [0x4601, 0x4602, 0x4603, 0x4604].into(), "{via}");
        assert_eq!(tc.queues.len(), 1);
        assert!(tc.timestamp_us > 1_600_000_000_000_000);
    }
    eventually("more records than a stream may keep", || forwarded().records > 1000);
    let mut connection = redis::Client::open(redis.url()).unwrap().get_connection().unwrap();
    for model in ["rlc", "tc"] {
        // Redis trims whole blocks, of 100 entries by default
        let length = connection.xlen(format!("here:{model}")).unwrap();
        assert!((20..=20 + 100).contains(&length), "{model}: {length}");
    }
    // an entry contains the published JSON
    let entries = connection.xrevrange_count("here:rlc", "+", "-", 1).unwrap();
    let (node, record): (String, String) = (entries.ids[0].get("node").unwrap(), entries.ids[0].get("record").unwrap());
    let value: serde_json::Value = serde_json::from_str(&record).unwrap();
    assert_eq!((&*node, &value["node"], &value["model"]), (NODE, &NODE.into(), &"rlc".into()));
    assert!(value["bearers"][0]["tx_sdu_mean_time_to_tx_us"].is_number(), "{record}");
    assert_eq!(forwarded().unreadable, 0);
}

#[test]
fn restart_of_redis_does_not_affect_the_ric() {
    let Some(mut redis) = Redis::start(&[]) else { return };
    let (mut running, forwarded) = start(RedisConfig { queue_octets: 16_384, ..config(&redis.url()) });
    let url = || redis.url().parse().unwrap();
    let readers =
        [RedisSource::PubSub, RedisSource::Stream].map(|via| RedisReader::start(url(), "ferric", via).unwrap());
    readers.iter().for_each(|reader| drop(both(reader)));

    let mut xapp = StatisticsXapp::new(&running);
    xapp.check_reports(Duration::from_millis(200));
    redis.kill();
    let before = forwarded();
    xapp.check_reports(Duration::from_millis(500));
    eventually("reports that make room", || forwarded().dropped > before.dropped + 10);
    redis.restart();
    let restarted = forwarded();
    for reader in &readers {
        while reader.next(Duration::ZERO).is_some() {}
        both(reader);
    }
    eventually("records again", || forwarded().records > restarted.records + 10);
    xapp.check_reports(Duration::from_millis(200));

    // a node that reconnects is forwarded again
    drop(xapp);
    running.ran.restart();
    eventually("the node", || log().matches("forwarding statistics to Redis").count() > 2);
    let before = forwarded();
    eventually("its records", || forwarded().records > before.records + 10);

    let (log, url) = (log(), redis.url());
    let logged = |what: &str| log.lines().filter(|line| line.contains(&url) && line.contains(what)).count();
    assert_eq!(logged("cannot be forwarded"), 1, "{log}");
    assert!(log.contains("start a Redis there"), "{log}");
    assert_eq!(logged("accepts records again"), 1, "{log}");
}

/// An xApp that receives the same statistics over the link for xApps, and checks that none is missing.
struct StatisticsXapp {
    xapp: Xapp,
    next: Option<u16>,
    seen: u32,
}

impl StatisticsXapp {
    fn new(running: &RicAndRan) -> Self {
        let mut xapp = Xapp::connect(&running.ric.xapp, "statistics", XappConfig::default()).unwrap();
        let mut asked = false;
        eventually("a node", || {
            xapp.poll(Some(Duration::from_millis(20)), |event, ric| {
                if let XappEvent::NodeUp(node) = event {
                    let rlc = &e2sm::rlc::MODEL;
                    let function = node.functions.iter().find(|function| rlc.wire_of(&function.oid).is_some()).unwrap();
                    ric.subscribe(node.id, function.id, subscription(10, rlc.wire_of(&function.oid).unwrap()));
                    asked = true;
                }
            })
            .unwrap();
            asked
        });
        StatisticsXapp { xapp, next: None, seen: 0 }
    }

    fn check_reports(&mut self, time: Duration) {
        let (end, before) = (Instant::now() + time, self.seen);
        while Instant::now() < end || self.seen == before {
            let StatisticsXapp { xapp, next, seen } = self;
            xapp.poll(Some(Duration::from_millis(20)), |event, _| match event {
                XappEvent::Indication(indication) => {
                    let sn = indication.peek().unwrap().sn.unwrap().0;
                    assert!(next.is_none_or(|next| next == sn), "{next:?} {sn}");
                    *next = Some(sn.wrapping_add(1));
                    *seen += 1;
                }
                XappEvent::ReportsDropped(count) => panic!("{count} are dropped"),
                _ => {}
            })
            .unwrap();
        }
    }
}

#[test]
fn refusal_of_redis_is_logged_once() {
    let Some(redis) = Redis::start(&["--requirepass", "secret"]) else { return };
    let (_running, forwarded) = start(config(&redis.url()));
    eventually("what to do", || log().contains("give user and password in the URL"));
    assert_eq!(forwarded().records, 0);
    let mut admin =
        redis::Client::open(format!("redis://:secret@127.0.0.1:{}", redis.port())).unwrap().get_connection().unwrap();
    // now Redis accepts connections without a password, but one key is no stream
    admin.set("ferric:tc", "something else").unwrap();
    redis::cmd("CONFIG").arg(&["SET", "requirepass", ""]).exec(&mut admin).unwrap();
    eventually("RLC's records", || forwarded().records > 10);
    eventually("what to do", || log().contains("delete the keys that have the names of the streams"));
    assert!(forwarded().dropped > 0);
    admin.del("ferric:tc").unwrap();
    eventually("all records", || admin.xlen("ferric:tc").unwrap() > 10);
    let log = log();
    assert_eq!(log.matches("delete the keys that have the names of the streams").count(), 1, "{log}");
    assert!(!log.contains("secret"), "{log}");
}

/// The server is no Redis, or never answers: the log contains the remedy, and the queue stays bounded.
#[test]
fn other_or_mute_server_is_logged() {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let web = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = |listener: &TcpListener| format!("redis://{}", listener.local_addr().unwrap());
    let (_slow, of_slow) = start(RedisConfig { queue_octets: 8192, ..config(&address(&silent)) });
    let (_other, of_other) = start(RedisConfig { queue_octets: 8192, ..config(&address(&web)) });
    thread::spawn(move || {
        for stream in web.incoming() {
            let mut stream = stream.unwrap();
            let _ = stream.read(&mut [0; 1024]);
            let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n");
        }
    });
    eventually("reports that make room", || of_slow().dropped > 10 && of_other().dropped > 10);
    eventually("what to do", || log().contains("check the URL: the server is not Redis"));
    eventually("what to do", || log().contains("Redis does not answer in time"));
    assert_eq!((of_slow().records, of_other().records), (0, 0));
}
