//! The configuration of a RIC, and its file.

#[cfg(feature = "file")]
mod file;
#[cfg(feature = "file")]
mod reference;

#[cfg(any(feature = "conflicts", feature = "sdl", feature = "slicing"))]
use std::path::PathBuf;
#[cfg(feature = "models")]
use std::sync::Arc;
#[cfg(feature = "slicing")]
use std::time::Duration;

use e2sm::kpm::Revision;
#[cfg(feature = "tls")]
use ferric::link::TlsFiles;
use ferric::server::ServerConfig;
#[cfg(feature = "file")]
pub use reference::DefaultFileError;
#[cfg(feature = "file")]
pub use settings::Error as ConfigError;
use tracing::level_filters::LevelFilter;

/// The configuration of a RIC. `RicConfig::from_toml` (feature `file`) reads it from a file; `docs/configuration.md` lists the keys,
/// all of them optional:
///
/// ```toml
/// e2 = ["tcp://0.0.0.0:36421", "sctp://[::]:36421"]
/// rest = "127.0.0.1:8080"
///
/// [[node]]
/// id = "gnb-00101-e00"
/// kpm = "2.01"
/// ```
#[derive(Clone, Debug)]
pub struct RicConfig {
    /// Addresses, identity, time-outs and bounds.
    pub server: ServerConfig,
    /// The files for `tls://` addresses. The program loads them into `server.link.tls`.
    #[cfg(feature = "tls")]
    pub tls: Option<TlsFiles>,
    /// The listener for FlexRAN agents. Default: none.
    #[cfg(feature = "flexran")]
    pub flexran: crate::flexran::FlexRanConfig,
    /// The REST interface. Default: none.
    #[cfg(feature = "rest")]
    pub rest: Option<::rest::ServerConfig>,
    /// The files that define who may use REST. The program loads them into [`ServerConfig::access`](::rest::ServerConfig::access).
    #[cfg(feature = "rest")]
    pub rest_files: ::rest::AccessFiles,
    /// Bounds of REST. They replace those of [`RicConfig::rest`].
    #[cfg(feature = "rest")]
    pub rest_limits: crate::RestLimits,
    /// The log of the program, which REST can read and change. Default: none.
    #[cfg(feature = "rest")]
    pub log_control: Option<crate::LogControl>,
    /// The file that stores the association rules. The program loads it into [`RicConfig::rules`].
    #[cfg(feature = "slicing")]
    pub rules_file: Option<PathBuf>,
    /// The association rules, and the file that stores them. Default: none; the rules are lost when the RIC stops.
    #[cfg(feature = "slicing")]
    pub rules: Option<slicing::RuleFile>,
    /// The Redis server that receives the statistics of RLC and TC. Default: none.
    #[cfg(feature = "redis")]
    pub redis: Option<traffic::RedisConfig>,
    /// The shared data layer of xApps. `max_host_percent`, `pdu_timeout`, `setup_timeout`, `ipsec` and
    /// the credentials of the server apply to it. Default: none.
    #[cfg(feature = "sdl")]
    pub sdl: Option<::sdl::Config>,
    /// The Redis server that is the shared data layer in place of an embedded store. Default: none.
    #[cfg(feature = "sdl")]
    pub sdl_redis: Option<shared_store::StoreUrl>,
    /// The file of tokens and rights of xApps in the shared data layer. The program loads it into
    /// [`access`](::sdl::Config::access).
    #[cfg(feature = "sdl")]
    pub sdl_tokens: Option<PathBuf>,
    /// The other RICs that this one shares nodes with. Default: none.
    #[cfg(feature = "peers")]
    pub peers: Option<crate::SharedNodes>,
    /// Where xApps of the O-RAN reference platform find the RIC. Default: nowhere.
    #[cfg(feature = "oran")]
    pub oran: crate::oran_host::OranConfig,
    /// The service level agreements of virtual networks. Default: none; the RAN is not shared.
    #[cfg(feature = "virtual")]
    pub virtual_networks: Option<virtualization::Sla>,
    /// The base stations that another controller sees in place of the parts of gNBs. Default: none.
    #[cfg(feature = "virtual")]
    pub topology: Option<virtualization::topology::Topology>,
    /// The file of rules on conflicts. The program loads it into [`RicConfig::conflicts`].
    #[cfg(feature = "conflicts")]
    pub conflicts_file: Option<PathBuf>,
    /// The file of the audit log. The program starts it, and puts it into [`RicConfig::conflicts`].
    #[cfg(feature = "conflicts")]
    pub audit_file: Option<PathBuf>,
    /// The mitigation of conflicts between the controls of xApps, and their audit log. Default: none.
    #[cfg(feature = "conflicts")]
    pub conflicts: Option<::conflicts::ConflictConfig>,
    /// The non-RT RIC that has enrichment information for xApps; it needs REST. Default: none.
    #[cfg(feature = "a1")]
    pub non_rt_ric: Option<crate::NonRtRic>,
    /// Traces of indications to an OpenTelemetry collector. Default: none.
    #[cfg(feature = "otlp")]
    pub traces: Option<crate::TraceConfig>,
    /// The reporting period of the statistics that REST offers, at least a millisecond. Default: one second.
    #[cfg(feature = "slicing")]
    pub statistics_period: Duration,
    /// The reporting period of KPM reports that REST reads the ids of UEs from, at least a millisecond. Default: none; nodes are
    /// not asked.
    #[cfg(feature = "slicing")]
    pub ue_ids_period: Option<Duration>,
    /// Facts about nodes.
    pub nodes: Vec<NodeConfig>,
    /// The least severe level that the program logs, if the command line has none. Default: the program's.
    pub log: Option<LevelFilter>,
    /// Service models from shared objects. The file has no key for them: only the user who starts the program may choose code
    /// to run.
    #[cfg(feature = "models")]
    pub models: Vec<Arc<model_plugin::Model>>,
}

#[cfg_attr(
    not(feature = "slicing"),
    allow(clippy::derivable_impls, reason = "the period of statistics has a default of its own")
)]
impl Default for RicConfig {
    fn default() -> Self {
        RicConfig {
            server: ServerConfig::default(),
            #[cfg(feature = "tls")]
            tls: None,
            #[cfg(feature = "redis")]
            redis: None,
            #[cfg(feature = "sdl")]
            sdl: None,
            #[cfg(feature = "sdl")]
            sdl_redis: None,
            #[cfg(feature = "sdl")]
            sdl_tokens: None,
            #[cfg(feature = "peers")]
            peers: None,
            #[cfg(feature = "oran")]
            oran: crate::oran_host::OranConfig::default(),
            #[cfg(feature = "virtual")]
            virtual_networks: None,
            #[cfg(feature = "virtual")]
            topology: None,
            #[cfg(feature = "conflicts")]
            conflicts_file: None,
            #[cfg(feature = "conflicts")]
            audit_file: None,
            #[cfg(feature = "conflicts")]
            conflicts: None,
            #[cfg(feature = "a1")]
            non_rt_ric: None,
            #[cfg(feature = "otlp")]
            traces: None,
            #[cfg(feature = "flexran")]
            flexran: crate::flexran::FlexRanConfig::default(),
            #[cfg(feature = "rest")]
            rest: None,
            #[cfg(feature = "rest")]
            rest_files: ::rest::AccessFiles::default(),
            #[cfg(feature = "rest")]
            rest_limits: crate::RestLimits::default(),
            #[cfg(feature = "rest")]
            log_control: None,
            #[cfg(feature = "slicing")]
            rules_file: None,
            #[cfg(feature = "slicing")]
            rules: None,
            #[cfg(feature = "slicing")]
            statistics_period: Duration::from_secs(1),
            #[cfg(feature = "slicing")]
            ue_ids_period: None,
            nodes: Vec::new(),
            log: None,
            #[cfg(feature = "models")]
            models: Vec::new(),
        }
    }
}

/// Facts about one node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeConfig {
    /// Its identity as logged: `gnb-00101-e00`.
    pub id: String,
    /// The revision of its KPM function, whatever it registers.
    pub kpm: Option<Revision>,
}
