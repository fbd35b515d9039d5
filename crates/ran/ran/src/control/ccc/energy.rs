//! O-CESManagementFunction: the sleep of a cell; O-NESPolicy: the transceivers that it mutes.

use e2sm::ccc::{
    Cause, CesManagementFunction, DataDirection, EnergySavingControl, EnergySavingState, NesPolicy, NesPolicyType,
};
use ferric::agent::ControllerId;
use radio::PowerState;
use ran_functions::ccc::Refusal;
use tracing::info;

use super::refuse;
use crate::node::Node;

impl Node {
    /// The energy saving of the cell. Its state follows the control when the transition is over.
    pub(super) fn energy_saving(&self) -> CesManagementFunction {
        let cell = self.cell();
        let (state, control) = match (cell.power_state(), cell.saves_energy()) {
            (PowerState::Asleep, ordered) => (EnergySavingState::IsEnergySaving, ordered),
            (_, ordered) => (EnergySavingState::IsNotEnergySaving, ordered),
        };
        let control =
            if control { EnergySavingControl::ToBeEnergySaving } else { EnergySavingControl::ToBeNotEnergySaving };
        CesManagementFunction {
            ces_switch: Some(true),
            energy_saving_state: Some(state),
            energy_saving_control: Some(control),
        }
    }

    /// Orders the sleep of the cell, or its end.
    pub(super) fn set_energy_saving(&mut self, origin: ControllerId, wanted: &CesManagementFunction) {
        let Some(control) = wanted.energy_saving_control else { return };
        let is_ordered = control == EnergySavingControl::ToBeEnergySaving;
        let (cell, ues, before) = (self.cell_number(), self.cell().ue_count(), self.cell().saves_energy());
        if is_ordered == before {
            return;
        }
        match is_ordered {
            true => info!(cell, ues, "energy saving ordered by controller {}: the UEs are handed over", origin.0),
            false => info!(cell, "end of energy saving ordered by controller {}", origin.0),
        }
        self.cell_mut().set_energy_saving(is_ordered);
        self.report_cell_change();
    }

    /// The transceivers that transmit.
    pub(super) fn transceiver_policy(&self) -> NesPolicy {
        let cell = self.cell();
        let (active, all) = (cell.active_transceivers().into(), usize::from(cell.power_model().transceivers));
        NesPolicy {
            policy_type: Some(NesPolicyType::TrxControl),
            data_dir: Some(DataDirection::Dl),
            antenna_mask: Some("1".repeat(active) + &"0".repeat(all - active)),
            ..NesPolicy::default()
        }
    }

    /// Mutes transceivers of the cell. Which of them has no effect.
    pub(super) fn set_transceivers(&mut self, origin: ControllerId, wanted: &NesPolicy) -> Result<(), Refusal> {
        if wanted.policy_type.is_some_and(|policy| policy != NesPolicyType::TrxControl) {
            return refuse(Cause::NotSupported, &["policyType"], "only TRX_CONTROL is supported");
        }
        if wanted.data_dir.is_some_and(|direction| direction != DataDirection::Dl) {
            return refuse(Cause::NotSupported, &["dataDir"], "only transceivers of the downlink are muted");
        }
        let Some(mask) = &wanted.antenna_mask else { return Ok(()) };
        let all = self.cell().power_model().transceivers;
        if mask.len() != usize::from(all) || mask.bytes().any(|digit| !matches!(digit, b'0' | b'1')) {
            let why = format!("antenna mask is {:?}: must have {all} digits, 0 or 1 for each transceiver", cut(mask));
            return refuse(Cause::SemanticError, &["antennaMask"], why);
        }
        let active = mask.bytes().filter(|digit| *digit == b'1').count() as u16; // at most `all`
        if active == 0 {
            let why = "antenna mask mutes all transceivers: use energySavingControl for the sleep of the cell";
            return refuse(Cause::SemanticError, &["antennaMask"], why);
        }
        let cell = self.cell_number();
        info!(cell, "{active} of {all} transceivers set active by controller {}", origin.0);
        self.cell_mut().set_active_transceivers(active);
        Ok(())
    }
}

/// The first characters of a text of a peer.
fn cut(text: &str) -> String {
    text.chars().take(64).collect()
}
