//! The RAN function definition: the structures and attributes of a node and the services for each.

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
        /// The short name of the model.
        pub short_name: String = "ranFunctionShortName",
        /// The object identifier of the model in dot notation.
        pub service_model_oid: String = "ranFunctionServiceModelOID",
        /// A description of the function.
        pub description: String = "ranFunctionDescription",
        /// The instance, if the node has several functions of this model.
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
        /// The supported services.
        pub supported_services: SupportedServices = "supportedServices",
    }

    /// RICServices: the services for an attribute.
    #[derive(Default)]
    pub struct SupportedServices {
        /// Event triggers.
        pub event_trigger: Option<EventTriggerService> = "eventTrigger",
        /// Reports.
        pub report: Option<ReportService> = "reportService",
        /// Left open by the specification.
        pub insert: Option<i64> = "insertService",
        /// Controls.
        pub control: Option<ControlService> = "controlService",
        /// Left open by the specification.
        pub policy: Option<i64> = "policyService",
        /// Queries.
        pub query: Option<QueryService> = "queryService",
    }

    /// EventTrigger: the event triggers of an attribute.
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

    /// ReportService: the reports of an attribute.
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
        /// The matching event trigger styles.
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

    /// ControlService: the controls of an attribute.
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
        /// The format of call process IDs, if there are any.
        pub call_process_id_format_type: Option<i64> = "ricCallProcessIDFormatType",
        /// The format of control outcomes.
        pub control_outcome_format_type: i64 = "controlServiceControlOutcomeFormatType",
    }

    /// QueryService: the queries of an attribute.
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
