//! Counters of connections and handovers of a cell.

macro_rules! counts {
    ($($(#[$comment:meta])* $name:ident,)*) => {
        /// Counters of connections and handovers of a cell since the model started. They never decrease. Each has the name of
        /// its measurement in TS 28.552 5.1.1, where there is one. All handovers are between base stations.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct MobilityCounts {
            $($(#[$comment])* pub $name: u64,)*
        }

        impl MobilityCounts {
            /// The difference to an earlier snapshot.
            #[must_use]
            pub fn since(&self, before: &MobilityCounts) -> MobilityCounts {
                MobilityCounts { $($name: self.$name - before.$name,)* }
            }
        }

        impl std::ops::AddAssign for MobilityCounts {
            fn add_assign(&mut self, other: Self) {
                $(self.$name += other.$name;)*
            }
        }
    };
}

counts! {
    /// Handover preparations requested by the cell as source: `MM.HoPrepInterReq`.
    preparations_requested,
    /// Of them, accepted by the target: `MM.HoPrepInterSucc`.
    preparations_succeeded,
    /// Of them, refused because the target is locked, shutting down or saves energy: `MM.HoPrepInterFail`, cause "cell not available".
    preparations_failed_locked,
    /// Of them, refused because the target is full: `MM.HoPrepInterFail`, cause "no radio resources available in target cell".
    preparations_failed_full,
    /// Resource allocations for handovers requested of the cell as target: `MM.HoResAlloInterReq`.
    allocations_requested,
    /// Of them, granted: `MM.HoResAlloInterSucc`.
    allocations_succeeded,
    /// Of them, refused: `MM.HoResAlloInterFail`.
    allocations_failed,
    /// Handover executions of the cell as source, whose command the UE has received: `MM.HoExeInterReq`. Conditional ones are not
    /// among them.
    executions_requested,
    /// Of them, completed: `MM.HoExeInterSucc`.
    executions_succeeded,
    /// Of them, failed by expiry of T304: `MM.HoExeInterFail`.
    executions_failed,
    /// Conditional handovers prepared by the cell as source, a preparation per candidate: `MM.ChoPrepInterReq`.
    conditional_preparations_requested,
    /// Of them, accepted: `MM.ChoPrepInterSucc`.
    conditional_preparations_succeeded,
    /// UEs that were configured with conditional handover: `MM.ConfigInterReqChoUes`.
    conditional_ues,
    /// Conditional handovers that UEs of the cell have begun to execute.
    conditional_executions,
    /// Of them, completed: `MM.ChoExeInterSucc`.
    conditional_executions_succeeded,
    /// Of them, failed by expiry of T304.
    conditional_executions_failed,
    /// Handovers from the cell that were too early: `HO.IntraSys.TooEarly`.
    too_early,
    /// Radio link failures in the cell that a handover would have avoided: `HO.IntraSys.TooLate`.
    too_late,
    /// Handovers from the cell to a wrong cell: `HO.IntraSys.ToWrongCell`.
    to_wrong_cell,
    /// UEs that were handed over back to the cell within [`HandoverConfig::ping_pong_window`](crate::HandoverConfig::ping_pong_window).
    ping_pongs,
    /// RRC connection establishments attempted in the cell: `RRC.ConnEstabAtt`.
    setups_attempted,
    /// Of them, completed: `RRC.ConnEstabSucc`.
    setups_succeeded,
    /// Of them, failed because the UE did not complete the access until T300 expired: `RRC.ConnEstabFailCause.NoReply`.
    setups_failed_no_reply,
    /// Of them, refused because the cell was locked, shutting down or full: `RRC.ConnEstabFailCause.NetworkReject`.
    setups_failed_rejected,
    /// RRC re-establishments attempted in the cell: `RRC.ReEstabAtt`.
    reestablishments_attempted,
    /// Of them, completed, always with the context of the UE: `RRC.ReEstabSuccWithUeContext`.
    reestablishments_succeeded,
    /// Radio link failures in the cell.
    link_failures,
    /// UEs released because the cell is locked and no neighbour can take them.
    released_locked,
    /// UEs released because the cell goes to sleep and no neighbour can take them.
    released_asleep,
    /// Transitions of the cell into sleep.
    sleeps,
    /// UEs last in the cell that were released because their re-establishment failed.
    released_lost,
    /// Contention-based preambles received: `RACH.PreambleACell`.
    contention_preambles,
    /// Dedicated preambles received: `RACH.PreambleDedCell`.
    dedicated_preambles,
    /// Contention-based preambles that collided.
    collisions,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn difference_and_sum_are_inverse() {
        let before = MobilityCounts { too_late: 3, ping_pongs: 1, ..MobilityCounts::default() };
        let mut sum = before;
        sum += MobilityCounts { too_late: 2, collisions: 9, ..MobilityCounts::default() };
        assert_eq!(sum.since(&before), MobilityCounts { too_late: 2, collisions: 9, ..MobilityCounts::default() });
    }
}
