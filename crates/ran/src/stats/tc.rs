//! TC: what is set is kept and told. The model's queues do not obey it, and nothing of theirs is told here: what waits is
//! in RLC's statistics.

use std::borrow::Cow;

use functions::tc::{Configuration, TcSource};

use crate::node::Node;

impl TcSource for Node {
    fn configuration(&self) -> &Configuration {
        &self.traffic_control
    }

    fn configure(&mut self, configuration: Configuration) -> Result<(), Cow<'static, str>> {
        self.traffic_control = configuration;
        Ok(())
    }
}
