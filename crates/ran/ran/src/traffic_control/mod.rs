//! The traffic control of a node's bearers.

#[cfg(feature = "tc")]
mod e2;

use radio::tc::{ClassifierChoice, Configuration, DisciplineChoice, Faults, PacerChoice, SchedulerChoice};
use tracing::warn;

#[cfg(feature = "tc")]
pub use e2::from_model;

use crate::node::Node;

/// The warnings that were logged. Each is logged once.
#[derive(Clone, Copy, Debug, Default)]
pub struct TrafficControlWarnings {
    /// A custom part has returned invalid results.
    pub faults: bool,
    /// The packets of a UE did not fit into the cell's queues.
    pub mismatch: bool,
}

impl Node {
    /// Warns, once, that a custom part returns invalid results. Built-in parts never do.
    pub fn warn_plugin_faults(&mut self) {
        if self.traffic_control_warnings.faults {
            return;
        }
        let faults = {
            let cell = self.cell();
            if !has_custom_part(&cell.config().tc) {
                return;
            }
            let bearers = cell.ues().flat_map(|(_, ue)| ue.bearers());
            let faults = bearers.map(|bearer| bearer.tc().faults()).find(|faults| *faults != Faults::default());
            let Some(faults) = faults else { return };
            faults
        };
        self.traffic_control_warnings.faults = true;
        let Faults { classifier, discipline, scheduler, pacer } = faults;
        warn!(
            cell = self.cell_number(),
            classifier,
            discipline,
            scheduler,
            pacer,
            "a custom part of traffic control returns invalid results, the built-in default is used instead; correct the \
             part, or configure another one (docs/traffic-control.md)"
        );
    }

    /// Warns, once, that the packets of a UE that has arrived do not fit into the cell's queues, so that the UE keeps the
    /// queues of its former cell.
    pub fn warn_queue_mismatch(&mut self, place: usize) {
        if self.traffic_control_warnings.mismatch {
            return;
        }
        let fits = {
            let cell = self.cell();
            let configured = &cell.config().tc;
            cell.ue(place).is_none_or(|ue| ue.bearers().iter().all(|bearer| bearer.tc().configuration() == configured))
        };
        if !fits {
            self.traffic_control_warnings.mismatch = true;
            warn!(
                cell = self.cell_number(),
                ue = place,
                "the queued packets of a UE that was handed over do not fit into this cell's queues; it keeps the queues of \
                 its former cell until traffic control is configured again; raise limit_octets of the first queue"
            );
        }
    }
}

fn has_custom_part(configuration: &Configuration) -> bool {
    matches!(configuration.classifier, ClassifierChoice::Custom(_))
        || matches!(configuration.scheduler, SchedulerChoice::Custom(_))
        || matches!(configuration.pacer, PacerChoice::Custom(_))
        || configuration.queues.iter().any(|queue| matches!(queue.discipline, DisciplineChoice::Custom(_)))
}
