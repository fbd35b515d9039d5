//! Selection of UEs by UE ID.

use e2sm::common::UeId;
use ferric::agent::{ControllerId, Ue, Views};

use super::RcSource;

/// The UEs that a controller may see.
pub(super) fn visible<S: RcSource>(source: &S, views: &Views, controller: ControllerId) -> Vec<Ue> {
    let mut ues = Vec::new();
    source.ues(&mut ues);
    ues.retain(|ue| views.sees(controller, *ue));
    ues
}

/// The UE with this UE ID.
pub(super) fn find<S: RcSource>(source: &S, ues: &[Ue], ue_id: &UeId<'_>) -> Option<Ue> {
    ues.iter().copied().find(|ue| source.ue_id(*ue).is_same_ue(ue_id))
}
