//! Event triggers: when the node reports (KPM 8.2.1.1).

use per::Per;

/// E2SM-KPM-EventTriggerDefinition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Per)]
#[per(extensible)]
pub struct EventTriggerDefinition {
    /// The trigger in its format.
    pub formats: EventTriggerDefinitionFormats,
}

super::message!(EventTriggerDefinition, no borrow);

impl EventTriggerDefinition {
    /// A report each `reporting_period_ms` milliseconds, at least 1.
    #[must_use]
    pub const fn every(reporting_period_ms: u32) -> Self {
        EventTriggerDefinition {
            formats: EventTriggerDefinitionFormats::Format1(EventTriggerDefinitionFormat1 {
                reporting_period: reporting_period_ms,
            }),
        }
    }
}

/// The formats of an event trigger.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Per)]
#[per(extensible)]
pub enum EventTriggerDefinitionFormats {
    /// By the period.
    Format1(EventTriggerDefinitionFormat1),
}

/// E2SM-KPM-EventTriggerDefinition-Format1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Per)]
#[per(extensible)]
pub struct EventTriggerDefinitionFormat1 {
    /// Milliseconds from report to report, at least 1.
    #[per(range = 1..=4_294_967_295)]
    pub reporting_period: u32,
}
