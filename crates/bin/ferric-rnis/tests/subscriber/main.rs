//! What a subscriber receives of an emulated RAN: from the model by a RIC, the collector and the service to callbacks.

mod handovers;
mod measurement_triggers;
mod support;
