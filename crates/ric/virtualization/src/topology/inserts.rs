//! Inserts of a CU of several base stations: each goes to the base station that has the UE.

use ferric::e2::{Indication, NodeId};
use ferric::e2ap::{RanFunctionId, RicIndication};
use ferric::server::IappContext;
use tracing::warn;

use super::app::TopologyApp;
use super::view::View;
use crate::node::View as TenantView;
use crate::physical::Subscriber;
use crate::rc::Insert;

impl TopologyApp {
    /// Passes an insert to the base station of the UE, whichever subscription it came by: a CU asks one subscription of a controller
    /// only. A procedure that its base station has no subscription for continues.
    pub(super) fn relay_insert(
        &mut self,
        indication: &Indication<'_>,
        insert: &RicIndication<'_>,
        ric: &mut IappContext<'_>,
    ) {
        let (node, of_part) = (indication.node, indication.ran_function_id);
        let detection = self.stations.iter().find_map(|station| match station.function_of(node, of_part)?.view {
            View::OwnUes(detection) => Some(detection),
            _ => None,
        });
        let (Some(detection), Some(process), Some(cu)) = (detection, &insert.call_process_id, self.cus.get(&node))
        else {
            return;
        };
        let (process, header, message) = (process.to_cow(), insert.header.to_cow(), insert.message.to_cow());
        let Some(asked) = Insert::decode(&detection, &header, &message) else {
            if ric.allows_line(node) {
                warn!(
                    function = of_part.0,
                    "cannot decode an insert of the CU: the procedure continues after its time"
                );
            }
            return;
        };
        // the CU uses ids again; another CU may have the same
        let of_cu = self.stations.iter_mut().filter(|station| station.function_of(node, of_part).is_some());
        of_cu.for_each(|station| station.inserts.remove(&process));
        let subscriber = cu.owner(&asked.ue_id).and_then(|at| {
            let action = |known: &Subscriber| match &known.view {
                TenantView::Rc(view) => view.insert_for(&asked.ue_id).map(|action| (at, known.key, action)),
                _ => None,
            };
            self.subscriptions.of_tenant(node, of_part, at).find_map(action)
        });
        let Some((at, key, action)) = subscriber else {
            return continue_procedure(node, of_part, &process, asked.accepted(&detection), ric);
        };
        let station = &mut self.stations[at];
        let Some(function) = station.function_of(node, of_part).map(|known| known.id) else { return };
        station.inserts.add(&process);
        station.shared.lock().outbox.queue(function).report(key, action, Some(process.to_vec()), &header, &message);
        station.has_outgoing = true;
        ric.call_after_reading();
    }
}

/// Continues a suspended procedure.
fn continue_procedure(
    node: NodeId,
    function: RanFunctionId,
    process: &[u8],
    accepted: Result<(Vec<u8>, Vec<u8>), e2sm::Error>,
    ric: &mut IappContext<'_>,
) {
    let accepted = accepted.map_err(|error| error.to_string());
    let sent = accepted.and_then(|(header, message)| {
        ric.answer_insert(node, function, process, &header, &message).map_err(|misuse| misuse.to_string())
    });
    if let Err(reason) = sent
        && ric.allows_line(node)
    {
        warn!(
            "cannot continue a procedure of a UE whose base station has no subscription; the CU does in time: {reason}"
        );
    }
}
