//! The embedded broker: a call.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::{Audience, Broker, BrokerCounts, BrokerError, Received, Sink};
use crate::criteria::Criteria;
use crate::event::Event;
use crate::matcher::Key;

/// A broker in this process, which gives each event to the sink at once.
pub struct Embedded {
    sink: Arc<dyn Sink>,
    published: AtomicU64,
}

impl Embedded {
    /// A broker for a sink.
    pub fn new(sink: Arc<dyn Sink>) -> Self {
        Embedded { sink, published: AtomicU64::new(0) }
    }
}

impl Broker for Embedded {
    fn name(&self) -> &'static str {
        "embedded"
    }

    fn publish(&self, event: &Arc<Event>) -> Result<(), BrokerError> {
        self.published.fetch_add(1, Ordering::Relaxed);
        self.sink.receive(Received {
            event: Arc::clone(event),
            audience: Audience::All,
            acknowledgement: None,
            is_redelivered: false,
        });
        Ok(())
    }

    fn subscribe(&self, _: Key, _: &str, _: &Criteria) -> Result<(), BrokerError> {
        Ok(())
    }

    fn unsubscribe(&self, _: Key) {}

    fn counts(&self) -> BrokerCounts {
        let published = self.published.load(Ordering::Relaxed);
        BrokerCounts { published, received: published, ..BrokerCounts::default() }
    }
}
