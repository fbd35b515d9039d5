//! The styles and actions of the specification by number: their names and the revisions that have them.
//!
//! ```
//! use e2sm::rc::dictionary;
//!
//! assert_eq!(dictionary::control_action(2, 6).map(|action| action.name), Some("Slice-level PRB quota"));
//! assert_eq!(dictionary::control_style(3).map(|style| style.name), Some("Connected Mode Mobility Control"));
//! ```

use super::{KnownParameter, Revision, bearer, conditional, drx, flows, handover, measurement, quota};

/// A style.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Style {
    /// Its number.
    pub number: i64,
    /// The name.
    pub name: &'static str,
    /// The first revision that has it.
    pub since: Revision,
}

/// An action of a control style or policy style.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ActionName {
    /// The number of the style.
    pub style: i64,
    /// The number of the action in the style.
    pub action: u16,
    /// The name of the action.
    pub name: &'static str,
}

const fn style(number: i64, name: &'static str) -> Style {
    Style { number, name, since: Revision::V1_03 }
}

/// The control style of several actions (RC 7.6.10).
pub const MULTIPLE_ACTIONS: i64 = 255;

/// The control styles (RC 7.6.1). Policy styles have the same numbers and names (RC 7.7.1).
pub const CONTROL_STYLES: [Style; 11] = [
    style(1, "Radio Bearer Control"),
    style(2, "Radio Resource Allocation Control"),
    style(3, "Connected Mode Mobility Control"),
    style(4, "Radio Access Control"),
    style(5, "Dual Connectivity (DC) Control"),
    style(6, "Carrier Aggregation (CA) Control"),
    style(7, "Idle Mode Mobility Control"),
    style(8, "UE Information and Assignment"),
    style(9, "Measurement Reporting Configuration Control"),
    Style { number: 10, name: "Beamforming Configuration Control", since: Revision::V3_00 },
    style(MULTIPLE_ACTIONS, "Multiple Actions Control"),
];

/// The insert styles (RC 7.5.1).
pub const INSERT_STYLES: [Style; 8] = [
    style(1, "Radio Bearer Control Request"),
    style(2, "Radio Resource Allocation Control Request"),
    style(3, "Connected Mode Mobility Control Request"),
    style(4, "Radio Access Control Request"),
    style(5, "Dual Connectivity (DC) Control Request"),
    style(6, "Carrier Aggregation (CA) Control Request"),
    style(7, "Idle Mode Mobility Control Request"),
    style(MULTIPLE_ACTIONS, "Multiple Actions Control Request"),
];

/// The report styles (RC 7.4.1). On demand is in v01.03 only.
pub const REPORT_STYLES: [Style; 5] = [
    style(1, "Message Copy"),
    style(2, "Call Process Outcome"),
    style(3, "E2 Node Information"),
    style(4, "UE Information"),
    style(5, "On-Demand Report"),
];

/// The event trigger styles (RC 7.3.1). On demand is in v01.03 only.
pub const EVENT_TRIGGER_STYLES: [Style; 5] = [
    style(1, "Message Event"),
    style(2, "Call Process Breakpoint"),
    style(3, "E2 Node Information Change"),
    style(4, "UE Information Change"),
    style(5, "On Demand"),
];

/// The query styles, for cells and for UEs (v03.00).
pub const QUERY_STYLES: [Style; 2] = [
    Style { number: 1, name: "E2 Node Information Query", since: Revision::V3_00 },
    Style { number: 2, name: "UE Information Query", since: Revision::V3_00 },
];

const fn action(style: i64, action: u16, name: &'static str) -> ActionName {
    ActionName { style, action, name }
}

/// The actions of the control styles (RC 7.6.2.1 to 7.6.11.1).
pub const CONTROL_ACTIONS: [ActionName; 33] = [
    action(1, 1, "DRB QoS Configuration"),
    action(1, 2, "QoS flow mapping configuration"),
    action(1, 3, "Logical channel configuration"),
    action(1, 4, "Radio admission control"),
    action(1, 5, "DRB termination control"),
    action(1, 6, "DRB split ratio control"),
    action(1, 7, "PDCP Duplication control"),
    action(2, 1, "DRX parameter configuration"),
    action(2, 2, "SR periodicity configuration"),
    action(2, 3, "SPS parameters configuration"),
    action(2, 4, "Configured grant control"),
    action(2, 5, "CQI table configuration"),
    action(2, 6, "Slice-level PRB quota"),
    action(3, 1, "Handover Control"),
    action(3, 2, "Conditional Handover Control"),
    action(3, 3, "DAPS (Dual Active Protocol Stack) Handover Control"),
    action(4, 1, "UE admission control"),
    action(4, 2, "RACH backoff control"),
    action(4, 3, "Access barring control"),
    action(4, 4, "RRC Connection release control"),
    action(4, 5, "RRC Connection reject control"),
    action(5, 1, "DC secondary node addition control"),
    action(5, 2, "DC secondary node modification and release control"),
    action(5, 3, "DC PSCell change control"),
    action(5, 4, "DC secondary node change control"),
    action(5, 5, "DC DRB termination control"),
    action(6, 1, "CA secondary cell addition control"),
    action(6, 2, "CA secondary cell modification and release control"),
    action(7, 1, "Cell reselection priority control"),
    action(8, 1, "UE-to-Explicit UE list assignment command"),
    action(9, 1, "Add MR Configuration"),
    action(9, 2, "Modify MR Configuration"),
    action(9, 3, "Delete MR Configuration"),
];

/// Returns the control style of that number.
#[must_use]
pub fn control_style(number: i64) -> Option<&'static Style> {
    CONTROL_STYLES.iter().find(|style| style.number == number)
}

/// Returns the control action of those numbers.
#[must_use]
pub fn control_action(style: i64, action: u16) -> Option<&'static ActionName> {
    CONTROL_ACTIONS.iter().find(|known| known.style == style && known.action == action)
}

/// Returns the top-level RAN parameters of an action with [named fields](super::ControlAction). Parameters of other
/// actions are not checked.
///
/// ```
/// use e2sm::rc::dictionary;
///
/// let cycle = dictionary::control_parameters(2, 1)[0];
/// assert_eq!((cycle.id.0, cycle.name, cycle.is_required), (1, "Long DRX Cycle Length", true));
/// ```
#[must_use]
pub const fn control_parameters(style: i64, action: u16) -> &'static [KnownParameter] {
    match (style, action) {
        (1, 1) => bearer::PARAMETERS,
        (1, 2) => flows::PARAMETERS,
        (2, 1) => drx::PARAMETERS,
        (2, 6) => quota::PARAMETERS,
        (3, 1) => handover::PARAMETERS,
        (3, 2) => conditional::PARAMETERS,
        (9, 1) => measurement::OF_ADD,
        (9, 2) => measurement::OF_MODIFY,
        (9, 3) => measurement::OF_DELETE,
        _ => &[],
    }
}

/// A procedure of a UE and a breakpoint, at which the node can suspend it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Breakpoint {
    /// The procedure.
    pub call_process_type: u16,
    /// The breakpoint.
    pub breakpoint: u16,
}

/// Mobility management, before a handover is prepared.
pub const HANDOVER_PREPARATION: Breakpoint = Breakpoint { call_process_type: 3, breakpoint: 1 };

/// Changes of the node and its cells by number (RC 7.3.4).
pub mod node_change {
    use crate::rc::E2NodeInfoChangeId;

    /// The configuration of a cell changed.
    pub const CELL_CONFIGURATION: E2NodeInfoChangeId = E2NodeInfoChangeId(1);
    /// The neighbours of a cell changed.
    pub const CELL_NEIGHBOURS: E2NodeInfoChangeId = E2NodeInfoChangeId(2);
}

/// RAN parameters of report style 1, a copy of a message (RC 8.2.1).
pub mod message_copy {
    use crate::rc::RanParameterId;

    /// The event of the UE.
    pub const UE_EVENT_ID: RanParameterId = RanParameterId(1);
    /// The message of a network interface.
    pub const NI_MESSAGE: RanParameterId = RanParameterId(2);
    /// The message of RRC.
    pub const RRC_MESSAGE: RanParameterId = RanParameterId(3);
    /// The UE.
    pub const UE_ID: RanParameterId = RanParameterId(4);
    /// The cell.
    pub const CELL_GLOBAL_ID: RanParameterId = RanParameterId(6);
}

/// RAN parameters of report style 2, the outcome of a procedure (RC 8.2.2).
pub mod call_process_outcome {
    use crate::rc::RanParameterId;

    /// The UE.
    pub const CURRENT_UE_ID: RanParameterId = RanParameterId(1);
    /// Its previous identifier.
    pub const OLD_UE_ID: RanParameterId = RanParameterId(2);
    /// Its RRC state.
    pub const CURRENT_RRC_STATE: RanParameterId = RanParameterId(3);
    /// Its previous RRC state.
    pub const OLD_RRC_STATE: RanParameterId = RanParameterId(4);
    /// Its cell.
    pub const CELL_GLOBAL_ID: RanParameterId = RanParameterId(6);
}

/// RAN parameters of report style 3, the node and its cells (RC 8.2.3).
pub mod node_information {
    use crate::rc::RanParameterId;

    /// The configuration of a cell.
    pub const CELL_CONTEXT_INFORMATION: RanParameterId = RanParameterId(1);
    /// Whether a cell was deleted.
    pub const CELL_DELETED: RanParameterId = RanParameterId(2);
    /// The neighbours of a cell.
    pub const NEIGHBOUR_RELATION_TABLE: RanParameterId = RanParameterId(3);
}

/// RAN parameters of report style 4, UEs (RC 8.2.4).
pub mod ue_information {
    use crate::rc::RanParameterId;

    /// Buffered downlink bits.
    pub const DL_BUFFER_OCCUPANCY: RanParameterId = RanParameterId(102);
    /// Its RRC state.
    pub const CURRENT_RRC_STATE: RanParameterId = RanParameterId(201);
    /// The RRC state that it entered.
    pub const RRC_STATE_CHANGED_TO: RanParameterId = RanParameterId(202);
    /// Its cell.
    pub const CELL_GLOBAL_ID: RanParameterId = RanParameterId(400);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_unique() {
        for (at, action) in CONTROL_ACTIONS.iter().enumerate() {
            assert!(control_style(action.style).is_some(), "{}", action.name);
            assert_eq!(control_action(action.style, action.action), Some(&CONTROL_ACTIONS[at]));
        }
        for styles in [&CONTROL_STYLES[..], &INSERT_STYLES, &REPORT_STYLES, &EVENT_TRIGGER_STYLES, &QUERY_STYLES] {
            assert!(styles.windows(2).all(|two| two[0].number < two[1].number));
        }
    }
}
