//! The metrics of conflict mitigation, of the audit log, and of alarms.

#[cfg(feature = "conflicts")]
use conflicts::ConflictHandle;
#[cfg(feature = "oran")]
use oran::messaging::AlarmCounts;
use rest::metrics::Registry;

use super::metrics::ServiceMetrics;
#[cfg(feature = "oran")]
use crate::oran_host::AlarmSources;

/// The ends of questions to an arbiter, so that each is shown from the start.
#[cfg(feature = "conflicts")]
const ANSWERS: [&str; 4] = ["accepted", "refused", "timeout", "dropped"];

/// The metrics of conflict mitigation, and of the audit log.
#[cfg(feature = "conflicts")]
pub(super) fn of_conflicts(registry: &Registry, conflicts: ConflictHandle) -> ServiceMetrics {
    let controls = registry.counter(
        "ferric_mediated_controls_total",
        "RIC controls that were compared with the rules on conflicts, by the first decision on them.",
        &["decision"],
    );
    let unreadable =
        registry.counter("ferric_unreadable_controls_total", "RIC controls whose settings could not be read.", &[]);
    let found = registry.counter(
        "ferric_conflicts_total",
        "Conflicts between controls by kind, policy and decision. A question to an arbiter is one that waits, and one as it is answered.",
        &["kind", "policy", "decision"],
    );
    let answers =
        registry.counter("ferric_conflict_questions_total", "Questions to arbiters, by how they ended.", &["answer"]);
    let held = registry.gauge("ferric_conflict_held_parameters", "Parameters that xApps hold.", &[]);
    let waiting = registry.gauge("ferric_conflict_questions", "Controls that wait for an arbiter.", &[]);
    let of_audit = conflicts.audit().map(|audit| {
        let counter = |name, help| registry.counter(name, help, &[]);
        let records = counter("ferric_audit_records_total", "Records of the audit log.");
        let lost = counter(
            "ferric_audit_lost_records_total",
            "Records that the audit log has lost, as the disk was too slow.",
        );
        let failures = counter("ferric_audit_failures_total", "Failed attempts to write the audit log.");
        (audit, records, lost, failures)
    });
    for answer in ANSWERS {
        answers.add(&[answer], 0.0);
    }
    Box::new(move |ric| {
        let statistics = conflicts.statistics(ric.now());
        for (decision, count) in statistics.controls {
            controls.set_total(&[decision], count as f64);
        }
        unreadable.set_total(&[], statistics.unreadable as f64);
        for (of, count) in statistics.conflicts {
            found.set_total(&of, count as f64);
        }
        for (answer, count) in statistics.answers {
            answers.set_total(&[answer], count as f64);
        }
        held.set(&[], statistics.held as f64);
        waiting.set(&[], statistics.questions as f64);
        if let Some((audit, records, lost, failures)) = &of_audit {
            let counters = audit.counters();
            records.set_total(&[], counters.records as f64);
            lost.set_total(&[], counters.lost as f64);
            failures.set_total(&[], counters.failures as f64);
        }
    })
}

/// The metrics of alarms.
#[cfg(feature = "oran")]
pub(super) fn of_alarms(registry: &Registry, sources: AlarmSources) -> ServiceMetrics {
    let raised = registry.counter("ferric_alarms_raised_total", "Alarms that were raised, by severity.", &["severity"]);
    let cleared = registry.counter("ferric_alarms_cleared_total", "Alarms that were cleared.", &[]);
    let refused = registry.counter(
        "ferric_alarms_refused_total",
        "Alarms that were not raised: malformed, of an undefined problem, or too many.",
        &[],
    );
    let active = registry.gauge("ferric_alarms_active", "Active alarms, by severity.", &["severity"]);
    let of_messages = sources.messaging.map(|messaging| {
        let help = "Messages about alarms over RMR: sent and lost to the endpoints that they are forwarded to, received and refused \
                    from xApps.";
        (messaging, registry.counter("ferric_alarm_messages_total", help, &["outcome"]))
    });
    let of_alerts = sources.alert_manager.map(|alert_manager| {
        let help = "Alerts for the alert manager: sent ones, failed requests, and cleared alarms that were lost.";
        (alert_manager, registry.counter("ferric_alerts_total", help, &["outcome"]))
    });
    let alarms = sources.alarms;
    Box::new(move |_| {
        if let Some((messaging, messages)) = &of_messages {
            let AlarmCounts { sent, lost, received: taken, refused } = messaging.alarm_counts();
            for (outcome, count) in [("sent", sent), ("lost", lost), ("received", taken), ("refused", refused)] {
                messages.set_total(&[outcome], count as f64);
            }
        }
        if let Some((alert_manager, alerts)) = &of_alerts {
            for (outcome, count) in alert_manager.counts() {
                alerts.set_total(&[outcome], count as f64);
            }
        }
        let statistics = alarms.statistics();
        for (severity, count) in statistics.raised {
            raised.set_total(&[severity.word()], count as f64);
        }
        for (severity, count) in statistics.active {
            active.set(&[severity.word()], count as f64);
        }
        cleared.set_total(&[], statistics.cleared as f64);
        refused.set_total(&[], statistics.refused as f64);
    })
}
