//! The quota of controls for a node that another RIC has: it counts them until they have an outcome.

use std::time::Duration;

use ferric::e2ap::RicControlAckRequest;
use rmr::{Header, MessageType};
use serde_json::json;
use system_tests::eventually;
use system_tests::platform::{NODE, Xapp, control_request, header};
use system_tests::rmr_peer::{Connection, Received, SILENCE};
use testkit::{PATIENCE, Redis};

use crate::group::{Member, share};

/// Controls of a burst, of which 1 MiB at most may wait.
const BURST: usize = 1700;
/// How long the outcome of a control is awaited: 15 s, looked at each second.
const ANSWER_WITHIN: Duration = Duration::from_secs(17);

/// A RIC that passes controls on to one that has a node, and answers when a test does so.
struct Pair {
    member: Member,
    other: Connection,
    _redis: Redis,
}

impl Pair {
    /// `None` where there is no Redis.
    fn start() -> Option<Pair> {
        let redis = Redis::start(&[])?;
        let member = Member::start(&redis, 0);
        let other = Xapp::new();
        share(&redis, "ric/other", &json!({ "rmr": format!("127.0.0.1:{}", other.rmr_port()) }).to_string());
        let of_node = json!({ "ric": "other", "e2ap": 2, "identity": {}, "info": {} });
        share(&redis, &format!("node/{NODE}"), &of_node.to_string());
        let mut pair = Pair { member, other: other.accept(), _redis: redis };
        let mut connection = pair.open();
        eventually("the RIC has the node", || {
            let octets = control_request(3, b"h", &[0; 700], RicControlAckRequest::NoAck);
            connection.send(&header(MessageType::CONTROL_REQUEST, "127.0.0.1:8"), &octets);
            connection.receive_within(Duration::from_millis(50)).is_none()
        });
        pair.other.await_silence();
        Some(pair)
    }

    fn open(&self) -> Connection {
        Connection::open(self.member.rmr)
    }

    /// Has an xApp send a burst. Returns what the other RIC has received; the xApp has a refusal for each other one.
    fn burst(&mut self, xapp: &mut Connection, ack: RicControlAckRequest) -> Vec<Received> {
        // the rate has a burst of one second
        std::thread::sleep(Duration::from_millis(1200));
        let octets = control_request(3, b"h", &[0; 700], ack);
        let other = &mut self.other;
        std::thread::scope(|scope| {
            let reading = scope.spawn(|| {
                let received = std::iter::from_fn(|| other.receive_within(3 * SILENCE));
                received.filter(|message| message.kind == MessageType::CONTROL_REQUEST).collect::<Vec<_>>()
            });
            for _ in 0..BURST {
                xapp.send(&header(MessageType::CONTROL_REQUEST, "127.0.0.1:9"), &octets);
            }
            let passed_on = reading.join().unwrap();
            let refused = std::iter::from_fn(|| xapp.receive_within(SILENCE)).collect::<Vec<_>>();
            assert!(refused.iter().all(|message| message.kind == MessageType::CONTROL_FAILURE));
            assert_eq!(passed_on.len() + refused.len(), BURST);
            passed_on
        })
    }

    /// Fills the quota of the xApp. Returns what the other RIC has received.
    fn fill(&mut self, xapp: &mut Connection) -> Vec<Received> {
        let waiting = self.burst(xapp, RicControlAckRequest::Ack);
        assert!((1000..BURST - 200).contains(&waiting.len()), "{} of {BURST}", waiting.len());
        waiting
    }

    /// Has the other RIC answer controls.
    fn answer(&mut self, controls: &[Received]) {
        for Received { transaction, .. } in controls {
            let header = Header { transaction, ..header(MessageType::CONTROL_ACKNOWLEDGE, "") };
            self.other.send(&header, b"outcome");
        }
    }
}

/// Receives answers of a kind, the first of them within a time.
fn receive(xapp: &mut Connection, kind: MessageType, count: usize, within: Duration) {
    for at in 0..count {
        let answer = xapp.receive_within(if at == 0 { within } else { PATIENCE });
        assert_eq!(answer.expect("an answer").kind, kind, "answer {at} of {count}");
    }
    assert!(xapp.receive_within(SILENCE).is_none(), "each control has one answer");
}

#[test]
fn controls_that_wait_for_another_ric_count_until_their_connection_ends() {
    let Some(mut pair) = Pair::start() else { return };
    let mut xapp = pair.open();
    assert_eq!(pair.burst(&mut xapp, RicControlAckRequest::NoAck).len(), BURST, "nothing waits");
    let first = pair.fill(&mut xapp).len();
    drop(xapp);
    let mut xapp = pair.open();
    assert_eq!(pair.fill(&mut xapp).len(), first);
}

#[test]
fn controls_that_another_ric_has_answered_do_not_count() {
    let Some(mut pair) = Pair::start() else { return };
    let mut xapp = pair.open();
    let first = pair.fill(&mut xapp);
    // one that is answered makes room for one
    pair.answer(&first[..1]);
    receive(&mut xapp, MessageType::CONTROL_ACKNOWLEDGE, 1, PATIENCE);
    assert_eq!(pair.burst(&mut xapp, RicControlAckRequest::Ack).len(), 1);
    // an answer that is repeated makes none
    pair.answer(&first);
    receive(&mut xapp, MessageType::CONTROL_ACKNOWLEDGE, first.len() - 1, PATIENCE);
    assert_eq!(pair.burst(&mut xapp, RicControlAckRequest::Ack).len(), first.len() - 1);
}

#[test]
fn controls_that_another_ric_does_not_answer_in_time_do_not_count() {
    let Some(mut pair) = Pair::start() else { return };
    let mut xapp = pair.open();
    let first = pair.fill(&mut xapp);
    receive(&mut xapp, MessageType::CONTROL_FAILURE, first.len(), ANSWER_WITHIN);
    // nothing is given back twice, nor passed on to the xApp
    pair.answer(&first);
    assert!(xapp.receive_within(SILENCE).is_none());
    assert_eq!(pair.fill(&mut xapp).len(), first.len());
}
