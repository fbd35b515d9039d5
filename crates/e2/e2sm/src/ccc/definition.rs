//! The RAN function definition: which structures and attributes there are, and what can be done with them.

use super::json::object;
use crate::common::Cgi;

object! {
    /// RANFunctionDefinition.
    pub struct RanFunctionDefinition {
        /// Name, OID and description.
        pub ran_function_name: RanFunctionName = "ranFunctionName",
        /// The structures of the node.
        pub node_level: Option<Vec<SupportedStructure>> = "listOfSupportedNodeLevelConfigurationStructures",
        /// The cells and their structures.
        pub cells: Option<Vec<SupportedCell>> = "listOfCellsForRANFunctionDefinition",
    }

    /// RANFunctionName.
    pub struct RanFunctionName {
        /// The model's short name.
        pub short_name: String = "ranFunctionShortName",
        /// The model's object identifier, in dots.
        pub service_model_oid: String = "ranFunctionServiceModelOID",
        /// What the function does, for people.
        pub description: String = "ranFunctionDescription",
        /// Which of several functions of this model in the node.
        pub instance: Option<i64> = "ranFunctionInstance",
    }

    /// A cell and its structures.
    pub struct SupportedCell {
        /// The cell.
        pub cell_global_id: Cgi = "cellGlobalID",
        /// Its structures.
        pub structures: Vec<SupportedStructure> = "listOfSupportedCellLevelRANConfigurationStructures",
    }

    /// RANConfigurationStructure: a structure on offer.
    pub struct SupportedStructure {
        /// The name.
        pub name: String = "ranConfigurationStructureName",
        /// Its attributes.
        pub attributes: Vec<SupportedAttribute> = "listOfSupportedAttributes",
    }

    /// An attribute on offer.
    pub struct SupportedAttribute {
        /// The name.
        pub name: String = "attributeName",
        /// What can be done with it.
        pub supported_services: SupportedServices = "supportedServices",
    }

    /// RICServices: what can be done with an attribute.
    #[derive(Default)]
    pub struct SupportedServices {
        /// The ways in which it can trigger.
        pub event_trigger: Option<EventTriggerService> = "eventTrigger",
        /// The ways in which it can be reported.
        pub report: Option<ReportService> = "reportService",
        /// Left open by the specification.
        pub insert: Option<i64> = "insertService",
        /// The ways in which it can be set.
        pub control: Option<ControlService> = "controlService",
        /// Left open by the specification.
        pub policy: Option<i64> = "policyService",
        /// The ways in which it can be queried.
        pub query: Option<QueryService> = "queryService",
    }

    /// EventTrigger: the ways in which an attribute can trigger.
    pub struct EventTriggerService {
        /// The styles.
        pub styles: Vec<EventTriggerStyle> = "listOfSupportedEventTriggerStyles",
    }

    /// EventTriggerStyle.
    pub struct EventTriggerStyle {
        /// Its number.
        pub style_type: i64 = "eventTriggerStyleType",
        /// The name.
        pub name: String = "eventTriggerStyleName",
        /// The format of the event trigger definition.
        pub format_type: i64 = "eventTriggerFormatType",
    }

    /// ReportService: the ways in which an attribute can be reported.
    pub struct ReportService {
        /// The styles.
        pub styles: Vec<ReportStyle> = "listOfSupportedReportStyles",
    }

    /// ReportStyle.
    pub struct ReportStyle {
        /// Its number.
        pub style_type: i64 = "reportServiceStyleType",
        /// The name.
        pub name: String = "reportServiceStyleName",
        /// The event trigger styles that it goes with.
        pub event_trigger_styles: Vec<EventTriggerStyleType> = "listOfSupportedEventTriggerStylesForReportStyle",
        /// The format of the action definition.
        pub action_definition_format_type: i64 = "reportServiceActionDefinitionFormatType",
        /// The format of indication headers.
        pub indication_header_format_type: i64 = "reportServiceIndicationHeaderFormatType",
        /// The format of indication messages.
        pub indication_message_format_type: i64 = "reportServiceIndicationMessageFormatType",
    }

    /// EventTriggerStyleType.
    pub struct EventTriggerStyleType {
        /// The number of the style.
        pub style_type: i64 = "eventTriggerStyleType",
    }

    /// ControlService: the ways in which an attribute can be set.
    pub struct ControlService {
        /// The styles.
        pub styles: Vec<ControlStyle> = "listOfSupportedControlStyles",
    }

    /// ControlStyle.
    pub struct ControlStyle {
        /// Its number.
        pub style_type: i64 = "controlServiceStyleType",
        /// The name.
        pub name: String = "controlServiceStyleName",
        /// The format of control headers.
        pub header_format_type: i64 = "controlServiceHeaderFormatType",
        /// The format of control messages.
        pub message_format_type: i64 = "controlServiceMessageFormatType",
        /// The format of call process ids, where there are any.
        pub call_process_id_format_type: Option<i64> = "ricCallProcessIDFormatType",
        /// The format of control outcomes.
        pub control_outcome_format_type: i64 = "controlServiceControlOutcomeFormatType",
    }

    /// QueryService: the ways in which an attribute can be queried.
    pub struct QueryService {
        /// The styles.
        pub styles: Vec<QueryStyle> = "listOfSupportedQueryStyles",
    }

    /// QueryStyle.
    pub struct QueryStyle {
        /// Its number.
        pub style_type: i64 = "queryServiceStyleType",
        /// The name.
        pub name: String = "queryServiceStyleName",
        /// The format of query headers.
        pub header_format_type: i64 = "queryServiceHeaderFormatType",
        /// The format of query definitions.
        pub definition_format_type: i64 = "queryServiceDefinitionFormatType",
        /// The format of query outcomes.
        pub outcome_format_type: i64 = "queryServiceOutcomeFormatType",
    }
}

super::message!(RanFunctionDefinition);
