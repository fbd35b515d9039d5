//! The criteria of a subscription in words, for people.

use crate::criteria::Criteria;
use crate::event::{BearerEvent, HandoverStatus};
use crate::identity::AssociateIdType;

/// The most values of a criterion that are named.
const MAX_VALUES: usize = 4;

/// The criteria, separated by semicolons: `cell 003800001 or 003804001; completed handovers`.
pub fn of(criteria: &Criteria) -> String {
    let Criteria { topic: _, cells, plmn, ues, handover_status, qci, erab_ids, triggers, bearer_events } = criteria;
    let parts = [
        values("cell", cells, |cell| cell.digits()),
        plmn.map(|plmn| format!("PLMN {plmn}")),
        values("UE", ues, |ue| match ue.kind {
            AssociateIdType::GtpTeid => format!("TEID {}", ue.value),
            _ => ue.value.clone(),
        }),
        values("handovers", handover_status, |status| handover(*status).to_owned()),
        qci.map(|qci| format!("QCI {qci}")),
        values("bearer", erab_ids, u8::to_string),
        values("trigger", triggers, u8::to_string),
        values("bearers", bearer_events, |event| bearers(*event).to_owned()),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    if parts.is_empty() { "every event".to_owned() } else { parts.join("; ") }
}

fn values<T>(name: &str, values: &[T], text: impl Fn(&T) -> String) -> Option<String> {
    let (last, named) = values[..values.len().min(MAX_VALUES)].split_last()?;
    let named: Vec<String> = named.iter().map(&text).collect();
    let more = values.len().saturating_sub(MAX_VALUES);
    Some(match (named.is_empty(), more) {
        (true, _) => format!("{name} {}", text(last)),
        (false, 0) => format!("{name} {} or {}", named.join(", "), text(last)),
        (false, more) => format!("{name} {}, {} or {more} others", named.join(", "), text(last)),
    })
}

const fn handover(status: HandoverStatus) -> &'static str {
    match status {
        HandoverStatus::InPreparation => "in preparation",
        HandoverStatus::InExecution => "in execution",
        HandoverStatus::Completed => "completed",
        HandoverStatus::Rejected => "rejected",
        HandoverStatus::Cancelled => "cancelled",
    }
}

const fn bearers(event: BearerEvent) -> &'static str {
    match event {
        BearerEvent::Established => "established",
        BearerEvent::Modified => "modified",
        BearerEvent::Released => "released",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::criteria::Topic;
    use crate::identity::{AssociateId, Cell};

    #[test]
    fn criteria_are_named_and_long_lists_are_cut() {
        assert_eq!(of(&Criteria::all(Topic::CellChange)), "every event");
        let plmn = "00101".parse().unwrap();
        let ue = AssociateId { kind: AssociateIdType::UeIpv4, value: "10.45.0.2".to_owned() };
        let criteria = Criteria {
            cells: (1..=2).map(|number| Cell::nr(plmn, number)).collect(),
            ues: vec![ue],
            handover_status: vec![HandoverStatus::Completed],
            qci: Some(9),
            erab_ids: (1..=7).collect(),
            ..Criteria::all(Topic::CellChange)
        };
        let words =
            "cell 000000001 or 000000002; UE 10.45.0.2; handovers completed; QCI 9; bearer 1, 2, 3, 4 or 3 others";
        assert_eq!(of(&criteria), words);
    }
}
