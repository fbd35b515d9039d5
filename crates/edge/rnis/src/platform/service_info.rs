//! Descriptions of services (MEC 011 8.1.2.2) and of their transports (8.1.2.3).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A service of a MEC platform. Unknown members of other services are ignored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ServiceInfo {
    /// The id that the platform has assigned; absent in registrations.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ser_instance_id: Option<String>,
    /// The name by which applications discover it.
    pub ser_name: String,
    /// Its category.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ser_category: Option<CategoryRef>,
    /// The version of the service.
    pub version: String,
    /// Whether it can be used.
    pub state: ServiceState,
    /// How it is reached.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transport_info: Option<TransportInfo>,
    /// The form of its messages.
    pub serializer: Serializer,
    /// Where it may be used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope_of_locality: Option<Locality>,
    /// Whether only applications of that scope may use it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub consumed_local_only: Option<bool>,
    /// Whether the application that asks is within the scope; the platform adds it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub is_local: Option<bool>,
    /// Links; the platform adds them.
    #[serde(rename = "_links", default, skip_serializing_if = "Option::is_none")]
    pub links: Option<ServiceLinks>,
}

/// The category of a service in a catalogue.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CategoryRef {
    /// The catalogue.
    pub href: String,
    /// The id of the category.
    pub id: String,
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
}

/// Whether a service can be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum ServiceState {
    /// It can.
    Active,
    /// It cannot.
    Inactive,
    /// It cannot for a while.
    Suspended,
}

/// The form of messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Serializer {
    /// JSON.
    #[serde(rename = "JSON")]
    Json,
    /// XML.
    #[serde(rename = "XML")]
    Xml,
    /// Protocol Buffers, version 3.
    #[serde(rename = "PROTOBUF3")]
    Protobuf3,
}

/// Where a service may be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
#[expect(missing_docs, reason = "the names of MEC 011 table 8.1.6-1")]
pub enum Locality {
    MecSystem,
    MecHost,
    NfviPop,
    Zone,
    ZoneGroup,
    NfviNode,
}

/// How a service is reached.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TransportInfo {
    /// The id of the transport.
    pub id: String,
    /// Its name.
    pub name: String,
    /// Its description.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Its kind.
    pub r#type: TransportType,
    /// Its protocol: `HTTP` of REST.
    pub protocol: String,
    /// The version of the protocol.
    pub version: String,
    /// Where it is.
    pub endpoint: EndPointInfo,
    /// How clients authenticate.
    pub security: SecurityInfo,
}

/// The kinds of transports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[expect(missing_docs, reason = "the names of MEC 011 table 8.1.5.4-1")]
pub enum TransportType {
    #[serde(rename = "REST_HTTP")]
    RestHttp,
    #[serde(rename = "MB_TOPIC_BASED")]
    MbTopicBased,
    #[serde(rename = "MB_ROUTING")]
    MbRouting,
    #[serde(rename = "MB_PUBSUB")]
    MbPubsub,
    #[serde(rename = "RPC")]
    Rpc,
    #[serde(rename = "RPC_STREAMING")]
    RpcStreaming,
    #[serde(rename = "WEBSOCKET")]
    Websocket,
}

/// Where a transport is: of REST its URIs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EndPointInfo {
    /// The roots of its resources.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub uris: Vec<String>,
}

/// How clients authenticate.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SecurityInfo {
    /// By OAuth 2.0.
    #[serde(rename = "oAuth2Info", default, skip_serializing_if = "Option::is_none")]
    pub oauth2_info: Option<OAuth2Info>,
}

/// The use of OAuth 2.0.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OAuth2Info {
    /// `OAUTH2_CLIENT_CREDENTIALS`.
    pub grant_types: Vec<String>,
    /// Where tokens are issued.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token_endpoint: Option<String>,
}

/// The links of a service.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ServiceLinks {
    /// Itself.
    #[serde(rename = "self")]
    pub own: LinkType,
}

/// A link.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LinkType {
    /// A URI, or a path.
    pub href: String,
}

/// What this service registers: an entry for each version of MEC 012 that it serves. `url` is its root, such as
/// `http://127.0.0.1:8092`; `token_endpoint` is where its tokens are issued, if it requires tokens.
#[must_use]
pub fn rnis_services(url: &str, token_endpoint: Option<&str>) -> Vec<ServiceInfo> {
    let service = |version: &str, path: &str| {
        let token_endpoint = token_endpoint.map(str::to_owned);
        let grant_types = || vec!["OAUTH2_CLIENT_CREDENTIALS".to_owned()];
        let oauth2_info =
            token_endpoint.map(|endpoint| OAuth2Info { grant_types: grant_types(), token_endpoint: Some(endpoint) });
        ServiceInfo {
            ser_instance_id: None,
            ser_name: "rni".into(),
            ser_category: Some(CategoryRef {
                href: "/rni".into(),
                id: "RNI".into(),
                name: "RNI".into(),
                version: version.into(),
            }),
            version: version.into(),
            state: ServiceState::Active,
            transport_info: Some(TransportInfo {
                id: format!("rest-{version}"),
                name: "REST".into(),
                description: None,
                r#type: TransportType::RestHttp,
                protocol: "HTTP".into(),
                version: "2.0".into(),
                endpoint: EndPointInfo { uris: vec![format!("{url}{path}")] },
                security: SecurityInfo { oauth2_info },
            }),
            serializer: Serializer::Json,
            scope_of_locality: Some(Locality::MecHost),
            consumed_local_only: Some(false),
            is_local: None,
            links: None,
        }
    };
    vec![service("2.2.1", "/rni/v2"), service("1.1.1", "/rni/v1")]
}
