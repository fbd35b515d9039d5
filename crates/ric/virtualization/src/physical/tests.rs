use std::time::{Duration, Instant};

use ferric::agent::ControllerId;
use ferric::e2ap::RicRequestId;

use super::*;
use crate::share::Share;
use crate::slices::tests::Random;

const MAC: RanFunctionId = RanFunctionId(142);
const NODE: NodeId = NodeId(1);

/// A RIC that accepts each request.
#[derive(Default)]
struct Ric {
    requested: Vec<Ticket>,
    deleted: Vec<SubscriptionId>,
}

impl Requests for Ric {
    fn subscribe(&mut self, _: NodeId, _: RanFunctionId, _: SubscriptionOrder) -> Result<Ticket, String> {
        let ticket = Ticket(self.requested.len() as u32);
        self.requested.push(ticket);
        Ok(ticket)
    }

    fn unsubscribe(&mut self, id: SubscriptionId) {
        self.deleted.push(id);
    }
}

fn spec(number: u32) -> SubscriptionSpec {
    SubscriptionSpec { event_trigger: number.to_be_bytes().to_vec(), actions: Vec::new() }
}

fn subscriber(tenant: usize, instance: u16) -> Subscriber {
    let key = RequestKey { controller: ControllerId(1), id: RicRequestId { requestor: 1, instance } };
    Subscriber { tenant, key, view: View::Plain, refused: Vec::new() }
}

fn admission() -> Admission {
    Admission { admitted: Vec::new(), not_admitted: Vec::new() }
}

#[test]
fn equal_subscriptions_of_a_tenant_count_each_against_its_share() {
    let (mut all, mut ric) = (Subscriptions::default(), Ric::default());
    let mut add = |tenant: usize, instance: u16| {
        Share::of(4).check(&all.usage_of(NODE, tenant), &spec(1))?;
        all.add(NODE, MAC, spec(1), Some(subscriber(tenant, instance)), &mut ric)
    };
    let accepted = (0..512).filter(|instance| add(0, *instance).is_ok()).count();
    assert_eq!(accepted, 128);
    // it does not take the share of another tenant
    assert_eq!(add(1, 0), Ok(None));
    assert_eq!(ric.requested.len(), 1, "the base station has one subscription");
    assert_eq!(all.usage_of(NODE, 0), Usage { of_node: 128, of_all: 128, octets: 512 });
    all.remove(NODE, |known| known.tenant == 0, &mut ric);
    assert_eq!(all.usage_of(NODE, 0), Usage::default());
    assert_eq!(all.usage_of(NODE, 1), Usage { of_node: 1, of_all: 1, octets: 4 });
}

#[test]
fn subscription_that_is_left_counts_for_its_first_tenant_until_the_answer() {
    let (mut all, mut ric) = (Subscriptions::default(), Ric::default());
    let one = Usage { of_node: 1, of_all: 1, octets: 4 };
    for number in 0..2 {
        assert_eq!(all.add(NODE, MAC, spec(number), Some(subscriber(0, 0)), &mut ric), Ok(None));
        all.remove(NODE, |_| true, &mut ric);
        all.remove(NODE, |_| true, &mut ric);
        assert_eq!(all.usage_of(NODE, 0), one);
        let ticket = *ric.requested.last().unwrap();
        if number == 0 {
            assert!(all.subscribed(ticket, SubscriptionId(7), admission(), &mut ric).is_none());
            assert_eq!(ric.deleted, [SubscriptionId(7)]);
        } else {
            assert!(all.failed(ticket).is_some());
        }
        assert_eq!(all.usage_of(NODE, 0), Usage::default());
    }
    // the app itself takes it over
    assert_eq!(all.add(NODE, MAC, spec(2), Some(subscriber(0, 0)), &mut ric), Ok(None));
    all.remove(NODE, |_| true, &mut ric);
    assert_eq!(all.add(NODE, MAC, spec(2), None, &mut ric), Ok(None));
    assert_eq!(all.usage_of(NODE, 0), Usage::default());
}

/// Random subscribers, answers and losses, compared with a count over all subscriptions.
#[test]
fn usage_and_places_are_those_of_the_subscriptions_after_any_change() {
    for seed in 1..=50 {
        let (mut random, mut all, mut ric) = (Random(seed), Subscriptions::default(), Ric::default());
        for _ in 0..300 {
            let (node, tenant) = (NodeId(random.below(3)), random.below(3) as usize);
            let number = random.below(5);
            let subscriber = subscriber(tenant, random.below(6) as u16);
            match random.below(12) {
                0..=3 => drop(all.add(node, MAC, spec(number), Some(subscriber), &mut ric)),
                4 => drop(all.add(node, MAC, spec(number), None, &mut ric)),
                5 => drop(all.add_single(node, MAC, spec(number), subscriber, &mut ric)),
                6 | 7 => all.remove(node, |known| known.tenant == tenant && known.key == subscriber.key, &mut ric),
                8 if random.below(8) == 0 => all.forget_node(node),
                kind => {
                    let mut waiting: Vec<Ticket> = all.requested.keys().copied().collect();
                    waiting.sort_by_key(|ticket| ticket.0);
                    let Some(ticket) = waiting.first().copied() else { continue };
                    let id = SubscriptionId(ticket.0);
                    match kind {
                        9 => drop(all.failed(ticket)),
                        10 => drop(all.subscribed(ticket, id, admission(), &mut ric).map(|known| known.node)),
                        _ => {
                            all.subscribed(ticket, id, admission(), &mut ric);
                            all.ended(id);
                        }
                    }
                }
            }
            let mut shared = 0;
            for known in all.by_node.values().flatten() {
                let Some(key) = known.key() else { continue };
                let found = &all.of(known.node)[all.shared[&key]];
                assert!(std::ptr::eq(found, known), "seed {seed}");
                shared += 1;
            }
            assert_eq!(all.shared.len(), shared, "seed {seed}");
            for (node, tenant) in (0..3).flat_map(|node| (0..3).map(move |tenant| (NodeId(node), tenant))) {
                let mut expected = Usage::default();
                for known in all.by_node.values().flatten() {
                    let count = known.tenants().filter(|of| *of == tenant).count();
                    expected.of_node += if known.node == node { count } else { 0 };
                    expected.of_all += count;
                    expected.octets += count * octets_of(&known.spec);
                }
                assert_eq!(all.usage_of(node, tenant), expected, "seed {seed}");
            }
        }
    }
}

/// The least time of 1000 requests that a tenant with its share sends.
fn time_of_refusals(subscriptions: u32) -> Duration {
    let (mut all, mut ric) = (Subscriptions::default(), Ric::default());
    for number in 0..subscriptions {
        let node = NodeId(number / 256);
        assert_eq!(all.add(node, MAC, spec(number), Some(subscriber(0, 0)), &mut ric), Ok(None));
    }
    let time = || {
        let begin = Instant::now();
        for number in 0..1000 {
            let usage = std::hint::black_box(&all).usage_of(NodeId(number % 4), 0);
            assert_eq!(usage.of_all, subscriptions as usize);
        }
        begin.elapsed()
    };
    (0..5).map(|_| time()).min().unwrap_or_default()
}

#[test]
fn cost_of_a_refusal_does_not_grow_with_the_subscriptions() {
    let (few, many) = (time_of_refusals(8), time_of_refusals(12_288));
    assert!(many < 50 * few, "{few:?} with 8 subscriptions, {many:?} with 12,288");
}
