//! The ends of controls, for the log: their content is kept up to a limit.

use std::time::Duration;

use e2::{Consumer, ControlOutcome, Controller, EndedControl, Event, Ticket};

use crate::{ASSOC, FUNCTION, connected, ms, received, relay};

fn ended(ric: &mut Controller) -> Option<EndedControl> {
    match ric.poll_event()? {
        Event::ControlEnded(ended) => {
            assert!(matches!(ric.poll_event(), Some(Event::Request { .. })), "the consumer gets its event after it");
            Some(*ended)
        }
        Event::Request { .. } | Event::NodeLost { .. } => None,
        other => panic!("{other:?}"),
    }
}

#[test]
fn ended_control_has_its_content_and_duration() {
    let (mut ric, mut agent, node) = connected(100);
    ric.control(ms(5), Consumer(7), Ticket(1), node, FUNCTION, b"header", b"message", None, true).unwrap();
    relay(ms(6), &mut ric, &mut agent);
    let request = received(&mut agent).unwrap();
    agent.acknowledge(request.request_id, None).unwrap();
    relay(ms(7), &mut ric, &mut agent);
    let ended = ended(&mut ric).unwrap();
    assert_eq!((ended.consumer, ended.node, ended.function), (Consumer(7), node, FUNCTION));
    assert_eq!(ended.content.as_deref(), Some(&(b"header".to_vec(), b"message".to_vec())));
    assert_eq!(ended.duration, Duration::from_millis(2));
    assert_eq!(ended.outcome, ControlOutcome::Acknowledged(None));
}

#[test]
fn content_beyond_the_limit_is_not_kept_and_what_ends_makes_room() {
    let (mut ric, _agent, node) = connected(20);
    let control = |ric: &mut Controller, consumer, ticket| {
        ric.control(ms(5), Consumer(consumer), Ticket(ticket), node, FUNCTION, b"123", b"456", None, true).unwrap();
    };
    control(&mut ric, 1, 1);
    control(&mut ric, 1, 2);
    ric.drop_consumer(ms(6), Consumer(1));
    control(&mut ric, 2, 1);
    control(&mut ric, 2, 2);
    control(&mut ric, 3, 1);
    control(&mut ric, 4, 1);
    ric.handle_close(ms(7), ASSOC, e2::CloseReason::Transport);
    let kept: Vec<bool> = std::iter::from_fn(|| ended(&mut ric)).map(|ended| ended.content.is_some()).collect();
    assert_eq!(
        kept,
        [true, false, true, false],
        "the second exceeds its consumer's share; another one has its own while there is room; those of the dropped are gone"
    );
}

#[test]
fn nothing_is_reported_without_a_limit() {
    let (mut ric, _agent, node) = connected(0);
    ric.control(ms(5), Consumer(1), Ticket(1), node, FUNCTION, b"", b"", None, true).unwrap();
    ric.handle_close(ms(7), ASSOC, e2::CloseReason::Transport);
    assert_eq!(ended(&mut ric), None);
}
