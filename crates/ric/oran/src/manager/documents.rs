//! The documents of the app manager.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The namespace of all xApps.
pub(super) const NAMESPACE: &str = "ricxapp";

/// An xApp.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(super) struct XappState {
    /// Its name.
    pub name: String,
    /// Whether it is there.
    pub status: XappStatus,
    /// Its version.
    pub version: String,
    /// Its instances.
    pub instances: Vec<InstanceState>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) enum XappStatus {
    /// It is registered, or runs.
    Deployed,
    /// It was started, and does not run any more.
    Failed,
    /// Its end was requested.
    Deleting,
}

/// An instance of an xApp.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct InstanceState {
    /// Its name.
    pub name: String,
    /// What it does.
    pub status: InstanceStatus,
    /// Its host.
    pub ip: String,
    /// Its port for RMR; 0 without one.
    pub port: u16,
    /// Message types that it sends.
    pub tx_messages: Vec<String>,
    /// Message types that it receives.
    pub rx_messages: Vec<String>,
    /// Policy types that it takes.
    pub policies: Vec<i32>,
    /// Whether it has said that it is well when it was asked last over RMR; absent if it has not answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub is_well: Option<bool>,
    /// Its process, if the RIC has started it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub process: Option<ProcessState>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) enum InstanceStatus {
    /// Its end was requested.
    Pending,
    /// It runs, or is registered.
    Running,
    /// It has ended with a fault, and is not started again.
    Failed,
    /// It has ended without a fault.
    Completed,
    /// It has ended with a fault, and is started again after a pause.
    CrashLoopBackOff,
}

/// A process that the RIC has started.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(super) struct ProcessState {
    /// Its id, if it runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<u32>,
    /// How often it was started again.
    pub restarts: u64,
    /// How it has ended last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Why its limits have no effect.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unlimited: Option<String>,
}

/// What is started: an xApp of the RIC's file of commands.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Deployment {
    /// The name of the xApp.
    pub xapp_name: String,
    /// Its descriptor. Default: that of the file of commands.
    #[serde(default)]
    pub descriptor: Option<Map<String, Value>>,
    /// The JSON Schema of the controls in the descriptor. Default: that of the file of commands, if it has one.
    #[serde(default)]
    pub controls_schema: Option<Map<String, Value>>,
    /// The program and its arguments, which have to be those of the file of commands. Default: those.
    #[serde(default)]
    pub command: Option<Vec<String>>,
    /// Has no effect, as there is no Helm.
    #[serde(default, rename = "helmVersion")]
    pub _helm_version: Option<String>,
    /// Has no effect, as there is no Helm.
    #[serde(default, rename = "releaseName")]
    pub _release_name: Option<String>,
    /// Has no effect: all xApps have one namespace.
    #[serde(default, rename = "namespace")]
    pub _namespace: Option<String>,
    /// Has no effect, as there is no Helm.
    #[serde(default, rename = "overrideFile")]
    pub _override_file: Option<Map<String, Value>>,
}

/// What an xApp says of itself.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct RegisterRequest {
    /// Its name.
    pub app_name: String,
    /// Its version.
    #[serde(default)]
    pub app_version: Option<String>,
    /// The path at its endpoint for HTTP where its configuration is read, if `config` has none.
    #[serde(default)]
    pub config_path: Option<String>,
    /// The name of the instance. Default: that of the xApp.
    #[serde(default)]
    pub app_instance_name: Option<String>,
    /// Its endpoint for HTTP: HOST:PORT.
    pub http_endpoint: String,
    /// Its endpoint for RMR: HOST:PORT.
    pub rmr_endpoint: String,
    /// Its configuration, as JSON in a text. Without it and `configPath`, it has no routes.
    #[serde(default)]
    pub config: Option<String>,
}

/// An xApp that ends.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct DeregisterRequest {
    /// Its name.
    pub app_name: String,
    /// The name of the instance. Default: that of the xApp.
    #[serde(default)]
    pub app_instance_name: Option<String>,
}

/// The configuration of an xApp.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub(super) struct XappConfig {
    /// Whose it is.
    pub metadata: ConfigMetadata,
    /// The configuration: a descriptor.
    pub config: Value,
}

/// Whose a configuration is.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct ConfigMetadata {
    /// The name of the xApp.
    pub xapp_name: String,
    /// `ricxapp`.
    #[serde(default)]
    pub namespace: Option<String>,
}

/// A mistake of a configuration.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(super) struct ConfigMistake {
    /// The member.
    pub field: String,
    /// Why.
    pub error: String,
}

/// The least severe level that an xApp logs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum LogLevel {
    Error,
    Warning,
    Info,
    Debug,
}

impl LogLevel {
    /// Its word in the file that libraries of the platform watch.
    pub fn word(self) -> &'static str {
        match self {
            LogLevel::Error => "ERROR",
            LogLevel::Warning => "WARNING",
            LogLevel::Info => "INFO",
            LogLevel::Debug => "DEBUG",
        }
    }
}

/// The level of the log of an xApp.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct XappLogLevel {
    /// The level.
    pub level: LogLevel,
}

/// The end of the output of an xApp.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(super) struct XappLog {
    /// Octets before it that are not kept any more.
    pub omitted_octets: u64,
    /// The text.
    pub text: String,
}
