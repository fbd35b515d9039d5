//! Identifiers and names.

use per::{Per, PrintableString};

/// Declares identifiers as newtypes.
macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident($of:ty), $range:expr;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Per)]
        #[per(range = $range, extensible)]
        pub struct $name(pub $of);
    )*};
}

ids! {
    /// RANParameter-ID: a RAN parameter within its style or action (RC 9.3.8).
    RanParameterId(u32), 1..=4_294_967_295;
    /// RAN-CallProcess-ID: an ongoing procedure of a UE, numbered by the node.
    RanCallProcessId(u32), 1..=4_294_967_295;
    /// RIC-CallProcessType-ID: a type of procedure (RC 9.3.15).
    RicCallProcessTypeId(u16), 1..=65535;
    /// RIC-CallProcessBreakpoint-ID: a breakpoint of a procedure (RC 9.3.49).
    RicCallProcessBreakpointId(u16), 1..=65535;
    /// RIC-ControlAction-ID: an action of a control style or policy style (RC 9.3.6).
    RicControlActionId(u16), 1..=65535;
    /// RIC-EventTriggerCondition-ID: a condition of an event trigger.
    RicEventTriggerConditionId(u16), 1..=65535;
    /// RIC-EventTrigger-UE-ID: a UE or group of UEs in an event trigger.
    RicEventTriggerUeId(u16), 1..=65535;
    /// RIC-EventTrigger-UEevent-ID: an event of a UE.
    RicEventTriggerUeEventId(u16), 1..=65535;
    /// RIC-EventTrigger-Cell-ID: a cell or group of cells in an event trigger.
    RicEventTriggerCellId(u16), 1..=65535;
    /// RIC-InsertIndication-ID: an indication of an insert style.
    RicInsertIndicationId(u16), 1..=65535;
    /// UE-Group-ID: a group of UEs that is controlled as a whole (v03.00).
    UeGroupId(u16), 1..=65535;
    /// UE-Filter-ID: a filter of a query (v03.00).
    UeFilterId(u16), 1..=65535;
    /// EntityFilter-ID: a filter of a control (v03.00).
    EntityFilterId(u8), 1..=255;
    /// The number of a change of a node or cell (RC 7.3.4).
    E2NodeInfoChangeId(u16), 1..=512;
    /// The number of a change of the identifiers of a UE (RC 7.3.5).
    UeIdChangeId(u16), 1..=512;
}

/// Names of 1 to 150 characters.
macro_rules! names {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, Hash, Per)]
        #[per(size = 1..=150, extensible)]
        pub struct $name<'a>(pub PrintableString<'a>);
    )*};
}

names! {
    /// RANParameter-Name.
    RanParameterName;
    /// RIC-CallProcessType-Name.
    RicCallProcessTypeName;
    /// RIC-CallProcessBreakpoint-Name.
    RicCallProcessBreakpointName;
    /// RIC-ControlAction-Name.
    RicControlActionName;
    /// RIC-InsertIndication-Name.
    RicInsertIndicationName;
}
