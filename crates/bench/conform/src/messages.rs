//! What both roles send: RAN functions, components, ids.

use e2ap::{
    E2NodeComponentConfigAdditionItem, E2NodeComponentConfiguration, E2NodeComponentId, E2NodeComponentInterfaceNg,
    E2NodeComponentInterfaceType, GlobalE2NodeId, GnbId, PlmnIdentity, RanFunctionId, RanFunctionItem,
    RanFunctionRevision, TransactionId, Version,
};
use e2sm::common::{RanFunctionName, RicFormatType, RicStyleName, RicStyleType};
use e2sm::kpm::{
    MeasurementInfoActionItem, MeasurementTypeName, OID_V2, RanFunctionDefinition, Revision, RicEventTriggerStyleItem,
    RicReportStyleItem,
};
use per::{List, Octets, PrintableString};

/// The RAN function that this end offers as an E2 node.
pub(crate) const FUNCTION: RanFunctionId = RanFunctionId(2);
/// The RAN function that a service update adds.
pub(crate) const ADDED_FUNCTION: RanFunctionId = RanFunctionId(3);

/// Transaction ids exist from v2 on.
pub(crate) fn transaction(version: Version, number: u32) -> Option<TransactionId> {
    (version >= Version::V2_03).then_some(TransactionId(number % 256))
}

/// The node of this end in a version.
pub(crate) fn node_id(gnb_id: u32, version: Version) -> GlobalE2NodeId {
    let id = gnb_id.wrapping_add(u32::from(version.revision()));
    GlobalE2NodeId::gnb(PlmnIdentity::from_codes(1, 1, 2), GnbId::new(id, 32))
}

/// An E2SM-KPM function that reports the throughput of the node.
pub(crate) fn kpm_function(id: RanFunctionId, revision: u16, version: Version) -> RanFunctionItem<'static> {
    RanFunctionItem {
        id,
        definition: Octets::from(kpm_definition()),
        revision: RanFunctionRevision(revision),
        oid: (version > Version::V1_00).then(|| PrintableString::literal(OID_V2)),
    }
}

fn kpm_definition() -> Vec<u8> {
    let name = |text| RicStyleName(PrintableString::literal(text));
    let definition = RanFunctionDefinition {
        ran_function_name: RanFunctionName {
            short_name: PrintableString::literal("ORAN-E2SM-KPM"),
            e2sm_oid: PrintableString::literal(OID_V2),
            description: PrintableString::literal("KPM Monitor"),
            instance: None,
        },
        ric_event_trigger_style_list: Some(List::from(vec![RicEventTriggerStyleItem {
            ric_event_trigger_style_type: RicStyleType(1),
            ric_event_trigger_style_name: name("Periodic report"),
            ric_event_trigger_format_type: RicFormatType(1),
        }])),
        ric_report_style_list: Some(List::from(vec![RicReportStyleItem {
            ric_report_style_type: RicStyleType(1),
            ric_report_style_name: name("E2 Node Measurement"),
            ric_action_format_type: RicFormatType(1),
            meas_info_action_list: List::from(vec![MeasurementInfoActionItem {
                meas_name: MeasurementTypeName(PrintableString::literal("DRB.UEThpDl")),
                meas_id: None,
                bin_range_def: None,
            }]),
            ric_indication_header_format_type: RicFormatType(1),
            ric_indication_message_format_type: RicFormatType(1),
        }])),
    };
    let mut octets = Vec::new();
    // a constant value; a definition that cannot be encoded is empty, which a RIC rejects
    let _ = definition.encode(Revision::V2_03, &mut octets);
    octets
}

/// An NG interface towards an AMF.
pub(crate) fn component(amf: &'static str) -> E2NodeComponentConfigAdditionItem<'static> {
    E2NodeComponentConfigAdditionItem {
        interface_type: E2NodeComponentInterfaceType::Ng,
        id: E2NodeComponentId::Ng(E2NodeComponentInterfaceNg { amf_name: PrintableString::literal(amf) }),
        configuration: component_configuration(),
    }
}

pub(crate) fn component_configuration() -> E2NodeComponentConfiguration<'static> {
    E2NodeComponentConfiguration { request_part: Octets::from(b"\x00"), response_part: Octets::from(b"\x00") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offered_definition_is_one_of_kpm() {
        let item = kpm_function(FUNCTION, 1, Version::V2_03);
        let octets = item.definition.to_cow();
        let read = RanFunctionDefinition::decode_owned(&octets, Revision::V2_03).unwrap();
        assert_eq!(read.ric_report_style_list.unwrap().len(), 1);
    }
}
