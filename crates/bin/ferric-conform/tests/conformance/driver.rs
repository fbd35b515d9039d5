//! A RIC with an internal app that begins each procedure which only a RIC begins.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::Duration;

use conform::{Action, Stimulus};
use e2::{
    ConnectionUpdate, Indication, NodeId, RequestEvent, SubscriptionChange, SubscriptionId, SubscriptionOrder,
    SubscriptionSpec,
};
use e2ap::{
    Cause, CauseMisc, E2ConnectionUpdateItem, RanFunctionId, RicActionId, RicActionType, RicIndicationType,
    TnlInformation, TnlUsage, Version, peek,
};
use ferric::server::{Iapp, IappContext, IappEvent, IappWaker};
use system_tests::TestRic;

type Order = (Action, String, RanFunctionId);

/// The stimulus of a driven RIC.
pub struct Driver {
    orders: SyncSender<Order>,
    waker: IappWaker,
}

impl Stimulus for Driver {
    fn act(&mut self, action: Action, node: &str, function: RanFunctionId) {
        self.orders.send((action, node.to_owned(), function)).unwrap();
        self.waker.wake();
    }
}

struct App {
    orders: Receiver<Order>,
    subscription: Option<SubscriptionId>,
    /// Orders that need a subscription, which is not admitted yet.
    waiting: Vec<Order>,
}

impl App {
    fn node(ric: &IappContext<'_>, name: &str) -> Option<NodeId> {
        ric.nodes().find(|node| node.global_id.to_string() == name).map(|node| node.id)
    }

    /// Carries an order out. A node that has gone meanwhile is no matter: the check of that order is over.
    fn carry_out(&mut self, order: Order, ric: &mut IappContext<'_>) {
        let (action, name, function) = &order;
        let Some(node) = App::node(ric, name) else { return };
        match action {
            Action::Subscribe | Action::SubscribeInsert => {
                self.subscription = None;
                let kind = if *action == Action::Subscribe { RicActionType::Report } else { RicActionType::Insert };
                let action =
                    e2::Action { id: RicActionId(1), kind, definition: Some(b"action".to_vec()), subsequent: None };
                let spec = SubscriptionSpec { event_trigger: b"trigger".to_vec(), actions: vec![action] };
                let order = SubscriptionOrder { restore: false, ..SubscriptionOrder::from(spec) };
                let _ = ric.subscribe(node, *function, order);
            }
            Action::Unsubscribe | Action::Modify => match self.subscription {
                Some(subscription) if *action == Action::Unsubscribe => {
                    let _ = ric.unsubscribe(subscription);
                }
                Some(subscription) => {
                    let change =
                        SubscriptionChange { event_trigger: Some(b"other".to_vec()), ..SubscriptionChange::default() };
                    let _ = ric.modify(subscription, change);
                }
                None => self.waiting.push(order),
            },
            Action::Control => {
                let _ = ric.control(node, *function, b"header", b"message");
            }
            Action::Query => {
                let _ = ric.query(node, *function, b"header", b"query");
            }
            Action::Reset => {
                let _ = ric.reset(node, Cause::Misc(CauseMisc::OmIntervention));
            }
            Action::ServiceQuery => {
                let _ = ric.service_query(node);
            }
            Action::ConnectionUpdate => {
                let address = "192.0.2.1".parse().unwrap();
                let item = E2ConnectionUpdateItem {
                    tnl_information: TnlInformation::new(address, Some(36421)),
                    tnl_usage: TnlUsage::Both,
                };
                let _ =
                    ric.connection_update(node, &ConnectionUpdate { add: vec![item], ..ConnectionUpdate::default() });
            }
            Action::Remove => {
                let _ = ric.remove(node);
            }
        }
    }
}

impl Iapp for App {
    fn name(&self) -> &str {
        "driver"
    }

    fn on_event(&mut self, event: &IappEvent<'_>, ric: &mut IappContext<'_>) {
        match event {
            IappEvent::Request(RequestEvent::Subscribed { subscription, .. }) => {
                self.subscription = Some(*subscription);
                for order in std::mem::take(&mut self.waiting) {
                    self.carry_out(order, ric);
                }
            }
            IappEvent::NodeLost(_) => {
                self.subscription = None;
                self.waiting.clear();
            }
            _ => {}
        }
    }

    fn on_indication(&mut self, indication: &Indication<'_>, ric: &mut IappContext<'_>) {
        if indication.kind == RicIndicationType::Insert
            && let Some(call) = peek::indication(indication.pdu).and_then(|insert| insert.call_process_id)
        {
            let _ = ric.answer_insert(indication.node, indication.ran_function_id, call, b"header", b"message");
        }
    }

    fn on_wake(&mut self, ric: &mut IappContext<'_>) {
        while let Ok(order) = self.orders.try_recv() {
            self.carry_out(order, ric);
        }
    }
}

/// Starts a RIC and its driver.
pub fn driven_ric() -> (TestRic, Driver) {
    let (orders, taken) = sync_channel(16);
    let app = App { orders: taken, subscription: None, waiting: Vec::new() };
    let ric = TestRic::with_iapps(vec![Box::new(app)], |config| {
        let controller = &mut config.server.controller;
        // v01.00 and v03.01 cannot be told from their setup requests
        for (id, version) in [("c0f0", Version::V1_00), ("c0f3", Version::V3_01)] {
            controller.node_versions.insert(format!("gnb-00101-{id}"), version);
        }
        controller.subscription_timeout = Duration::from_millis(300);
    });
    let waker = ric.waker.clone();
    (ric, Driver { orders, waker })
}
