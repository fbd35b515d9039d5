//! The near-RT RIC that ferric ships: configuration and internal apps around the server library.
//!
//! It is an ordinary user of [`ferric::server`]: any controller can be composed in the same way.
//!
//! ```
//! use ric::RicConfig;
//!
//! let config = RicConfig::from_toml(r#"e2 = ["tcp://127.0.0.1:0"]"#)?;
//! let ric = ric::bind(config)?;
//! for endpoint in ric.server.e2_endpoints() {
//!     println!("listening for E2 nodes at {endpoint}");
//! }
//! let stop = ric.server.stop_handle();
//! # stop.stop();
//! # let mut ric = ric;
//! ric.server.run()?; // until `stop.stop()` is called
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! [`RicConfig`] documents the keys of the configuration file. Custom internal apps are added to [`Ric::server`] with
//! [`Server::add_iapp`] before it runs.
//!
//! # Features
//!
//! Without features, the RIC relays between nodes and xApps and logs what each node offers.
//!
//! | feature | adds |
//! |---|---|
//! | `a1` | A1 policies and enrichment information for xApps: REST resources, the client of a non-RT RIC |
//! | `conflicts` | conflict mitigation and the audit log |
//! | `flexran` | a listener for FlexRAN agents |
//! | `models` | service models from shared objects |
//! | `oran` | xApps of the O-RAN reference platform |
//! | `otlp` | traces of indications to an OpenTelemetry collector |
//! | `peers` | nodes that several RICs share, found through Redis |
//! | `redis` | statistics of RLC and TC to Redis |
//! | `rest` | the REST interface; its resources come with the next two |
//! | `sdl` | the shared data layer of xApps, and the RIC's nodes in it |
//! | `slicing` | the slicing controller |
//! | `traffic` | the control of TC |
//! | `virtual` | virtual networks of several operators; the parts of gNBs as base stations |
//! | `tls` | tls:// addresses, and HTTPS with `rest` |

#![forbid(unsafe_code)]

mod catalogue;
mod config;
mod describe;
#[cfg(feature = "flexran")]
pub mod flexran;
#[cfg(feature = "a1")]
mod non_rt_ric;
#[cfg(feature = "rest")]
mod northbound;
#[cfg(feature = "oran")]
pub mod oran_host;
#[cfg(feature = "otlp")]
mod otlp;
#[cfg(feature = "peers")]
mod peers;
#[cfg(all(feature = "oran", feature = "peers"))]
mod sharing;
#[cfg(feature = "rest")]
mod write_audit;

use std::borrow::Cow;

use ferric::e2::xapp::FunctionHint;
use ferric::server::Server;

pub use catalogue::Catalogue;
#[cfg(feature = "file")]
pub use config::{ConfigError, DefaultFileError};
pub use config::{NodeConfig, RicConfig};
pub use describe::Descriptions;
#[cfg(feature = "a1")]
pub use non_rt_ric::NonRtRic;
#[cfg(feature = "rest")]
pub use northbound::{LineObserver, LogControl, RestLimits};
#[cfg(feature = "otlp")]
pub use otlp::TraceConfig;
#[cfg(feature = "peers")]
pub use peers::SharedNodes;

/// A RIC that listens, with its internal apps.
pub struct Ric {
    /// The server that nodes and xApps connect to.
    pub server: Server,
    #[cfg(feature = "flexran")]
    flexran: Option<flexran::FlexRan>,
    #[cfg(feature = "rest")]
    rest: Option<rest::Server>,
    #[cfg(feature = "peers")]
    peers: Option<shared_store::Peers>,
    #[cfg(all(feature = "oran", feature = "peers"))]
    _sharing: Option<sharing::Sharing>,
    #[cfg(feature = "sdl")]
    sdl: Option<sdl::Sdl>,
    #[cfg(feature = "sdl")]
    remote_sdl: Option<sdl::RemoteSdl>,
    #[cfg(feature = "oran")]
    oran: oran_host::OranHost,
    #[cfg(feature = "virtual")]
    sla: Option<virtualization::SlaHandle>,
    #[cfg(feature = "conflicts")]
    conflicts: Option<conflicts::ConflictHandle>,
    /// It speaks with the non-RT RIC as long as the RIC is there.
    #[cfg(feature = "a1")]
    _enrichment: Option<oran::a1::enrichment::RequestThread>,
}

#[cfg(feature = "peers")]
impl Ric {
    /// The other RICs, if nodes are shared.
    #[must_use]
    pub fn peers(&self) -> Option<&shared_store::Peers> {
        self.peers.as_ref()
    }
}

#[cfg(feature = "sdl")]
impl Ric {
    /// The shared data layer, if it is configured.
    #[must_use]
    pub fn sdl(&self) -> Option<&sdl::Sdl> {
        self.sdl.as_ref()
    }

    /// The shared data layer on Redis, if it is configured.
    #[must_use]
    pub fn remote_sdl(&self) -> Option<&sdl::RemoteSdl> {
        self.remote_sdl.as_ref()
    }
}

#[cfg(feature = "oran")]
impl Ric {
    /// The services for xApps of the O-RAN reference platform.
    #[must_use]
    pub fn oran(&self) -> &oran_host::OranHost {
        &self.oran
    }
}

#[cfg(feature = "flexran")]
impl Ric {
    /// The listener for FlexRAN agents, if it is configured.
    #[must_use]
    pub fn flexran(&self) -> Option<&flexran::FlexRan> {
        self.flexran.as_ref()
    }
}

#[cfg(feature = "virtual")]
impl Ric {
    /// The agreements of virtual networks, if the RAN is shared.
    #[must_use]
    pub fn sla(&self) -> Option<&virtualization::SlaHandle> {
        self.sla.as_ref()
    }
}

#[cfg(feature = "conflicts")]
impl Ric {
    /// The mitigation of conflicts, if it is configured.
    #[must_use]
    pub fn conflicts(&self) -> Option<&conflicts::ConflictHandle> {
        self.conflicts.as_ref()
    }
}

#[cfg(feature = "rest")]
impl Ric {
    /// The REST interface, if it is configured.
    #[must_use]
    pub fn rest(&self) -> Option<&rest::Server> {
        self.rest.as_ref()
    }
}

/// Creates a RIC that listens, with its internal apps. REST serves from now on; requests that concern nodes are answered once
/// [`Ric::server`] runs.
///
/// # Errors
/// If an address is not available.
///
/// # Panics
/// If [`RicConfig::rest_files`], [`RicConfig::rules_file`], [`RicConfig::conflicts_file`] or [`RicConfig::audit_file`] name files that
/// were not loaded: REST would be open to everyone, rules would be lost, or controls not audited.
pub fn bind(mut config: RicConfig) -> Result<Ric, ferric::Error> {
    let hints = config.nodes.iter().filter_map(|node| {
        let (oids, revision) = (e2sm::kpm::OIDS.map(Cow::Borrowed).to_vec(), node.kpm?.to_string());
        Some(FunctionHint { node: node.id.clone(), oids, revision })
    });
    config.server.hints.extend(hints);
    #[cfg(feature = "conflicts")]
    {
        let is_loaded = |file: bool, loaded: bool| !file || loaded;
        let conflicts = config.conflicts.as_ref();
        assert!(
            is_loaded(config.conflicts_file.is_some(), conflicts.is_some()),
            "conflicts_file: load it into conflicts"
        );
        let has_audit = conflicts.is_some_and(|conflicts| conflicts.audit.is_some());
        assert!(
            is_loaded(config.audit_file.is_some(), has_audit),
            "audit_file: start the log and put it into conflicts"
        );
    }
    #[cfg(feature = "oran")]
    let oran = oran_host::OranSetup::new(std::mem::take(&mut config.oran), &config);
    #[cfg(feature = "rest")]
    #[cfg_attr(
        not(any(feature = "a1", feature = "conflicts", feature = "flexran", feature = "oran")),
        allow(unused_mut, reason = "it shows FlexRAN agents, and has policies and xApps")
    )]
    let mut northbound = northbound::Northbound::new(&mut config);
    #[cfg(feature = "flexran")]
    let flexran = flexran::FlexRanSetup::new(config.flexran, &config.server);
    #[cfg(feature = "sdl")]
    let sdl = config.sdl.take().map(|sdl| with_limits_of(sdl, &mut config.server));
    #[cfg(feature = "sdl")]
    let ric_name = config.server.controller.ric_id.to_string();
    #[cfg(all(feature = "sdl", feature = "peers"))]
    let ric_name = config.peers.as_ref().and_then(|peers| peers.name.clone()).unwrap_or(ric_name);
    #[cfg(feature = "virtual")]
    let links = config.server.link.clone();
    let mut server = Server::bind(config.server)?;
    let descriptions = Descriptions::new(config.nodes.clone());
    #[cfg(feature = "models")]
    let descriptions = descriptions.with_models(config.models.clone());
    server.set_describer(Box::new(descriptions));
    let catalogue = Catalogue::new(config.nodes);
    #[cfg(feature = "models")]
    let catalogue = catalogue.with_models(config.models);
    server.add_iapp(Box::new(catalogue));
    #[cfg(feature = "virtual")]
    let mut sla = None;
    #[cfg(feature = "virtual")]
    if let Some(agreements) = config.virtual_networks {
        sla = Some(virtualization::add_to(&mut server, agreements, links.clone())?);
    }
    #[cfg(feature = "virtual")]
    if let Some(topology) = config.topology {
        virtualization::topology::add_to(&mut server, topology, links)?;
    }
    #[cfg(feature = "sdl")]
    let sdl = sdl.map(|sdl| sdl::Sdl::start(sdl, server.log_budget())).transpose().map_err(sdl_error)?;
    #[cfg(feature = "sdl")]
    let remote_sdl = config.sdl_redis.map(|url| start_remote_sdl(url, &mut server, &ric_name)).transpose()?;
    #[cfg(feature = "sdl")]
    if let Some(sdl) = &sdl {
        server.add_iapp(Box::new(oran::rnib::Rnib::new(sdl.handle().clone())));
    }
    #[cfg(feature = "conflicts")]
    let conflicts = config.conflicts.map(|conflicts| conflicts::add_to(&mut server, conflicts)).transpose()?;
    #[cfg(feature = "conflicts")]
    if let (Some(northbound), Some(conflicts)) = (&mut northbound, &conflicts) {
        northbound.add_conflicts(conflicts);
    }
    #[cfg(all(feature = "oran", feature = "peers"))]
    let sharing = match &config.peers {
        Some(peers) if oran.has_services() => Some(sharing::Sharing::start(peers, &server)?),
        _ => None,
    };
    #[cfg(feature = "peers")]
    #[cfg_attr(not(any(feature = "oran", feature = "sdl")), allow(unused_mut, reason = "they learn of lost RICs"))]
    let mut on_loss = Vec::new();
    #[cfg(all(feature = "peers", feature = "sdl"))]
    on_loss.extend(remote_sdl.as_ref().map(disconnect_nodes_on_loss));
    #[cfg(all(feature = "oran", feature = "peers"))]
    on_loss.extend(sharing.as_ref().map(forget_on_loss));
    #[cfg(feature = "peers")]
    let peers = config.peers.map(|peers| peers.start(&mut server, on_loss)).transpose()?;
    #[cfg(feature = "peers")]
    server.add_iapp(Box::new(shared_store::AnnounceRics::new(peers.as_ref())));
    #[cfg(feature = "redis")]
    if let Some(redis) = config.redis {
        let forwarder = traffic::Forwarder::start(redis);
        let forwarder = forwarder.map_err(|source| ferric::Error::System { what: "start a thread", source })?;
        server.add_iapp(Box::new(forwarder));
    }
    #[cfg(feature = "otlp")]
    if let Some(traces) = config.traces {
        let exporter = otlp::Exporter::start(&traces);
        let exporter = exporter.map_err(|source| ferric::Error::System { what: "export traces", source })?;
        server.trace(traces.one_in, Box::new(move |trace| exporter.send(trace)));
    }
    #[cfg(feature = "oran")]
    let group = None;
    #[cfg(all(feature = "oran", feature = "peers"))]
    let group = sharing.as_ref().map(|sharing| sharing.config.clone()).or(group);
    #[cfg(feature = "oran")]
    let oran = oran.start(&mut server, group)?;
    #[cfg(all(feature = "oran", feature = "rest"))]
    if let Some(northbound) = &mut northbound {
        northbound.add_oran(&oran);
    }
    #[cfg(feature = "a1")]
    let mut enrichment = None;
    #[cfg(feature = "a1")]
    if let Some(northbound) = &mut northbound {
        #[cfg(feature = "oran")]
        let messaging = oran.messaging();
        #[cfg(not(feature = "oran"))]
        let messaging = None::<&oran::messaging::MessagingHandle>;
        let sdl = sdl.as_ref().map(sdl::Sdl::handle).or(remote_sdl.as_ref().map(sdl::RemoteSdl::handle));
        let xapps = oran::a1::XappLink::add_to(&mut server)?;
        let group = None;
        #[cfg(all(feature = "oran", feature = "peers"))]
        let group = sharing.as_ref().map(|sharing| &sharing.config).or(group);
        northbound.add(a1_routes(sdl, messaging, &xapps, group, &server));
        if let Some(non_rt_ric) = &config.non_rt_ric {
            let of_xapps = std::iter::once(xapps.job_link());
            let links = messaging.map(oran::messaging::MessagingHandle::job_link).into_iter().chain(of_xapps).collect();
            let of_ric = non_rt_ric.prepare(links, sdl, &ric_name, &server)?;
            xapps.serve_enrichment(&of_ric);
            if let Some(messaging) = messaging {
                messaging.serve_enrichment(&of_ric);
            }
            northbound.add(oran::a1::enrichment::routes(&of_ric));
            enrichment = Some(of_ric);
        }
    }
    #[cfg(feature = "flexran")]
    let flexran = flexran.map(|flexran| flexran.start(server.log_budget())).transpose()?;
    #[cfg(all(feature = "flexran", feature = "rest"))]
    if let (Some(northbound), Some(flexran)) = (&mut northbound, &flexran) {
        northbound.show(flexran.agents().clone());
    }
    #[cfg(feature = "rest")]
    let rest = northbound.map(|northbound| northbound.start(&mut server)).transpose()?;
    #[cfg(feature = "a1")]
    let enrichment = match (&config.non_rt_ric, &enrichment, &rest) {
        (Some(non_rt_ric), Some(enrichment), Some(rest)) => Some(non_rt_ric.start(enrichment, rest)?),
        _ => None,
    };
    Ok(Ric {
        server,
        #[cfg(feature = "flexran")]
        flexran,
        #[cfg(feature = "rest")]
        rest,
        #[cfg(feature = "peers")]
        peers,
        #[cfg(all(feature = "oran", feature = "peers"))]
        _sharing: sharing,
        #[cfg(feature = "sdl")]
        sdl,
        #[cfg(feature = "sdl")]
        remote_sdl,
        #[cfg(feature = "oran")]
        oran,
        #[cfg(feature = "virtual")]
        sla,
        #[cfg(feature = "conflicts")]
        conflicts,
        #[cfg(feature = "a1")]
        _enrichment: enrichment,
    })
}

/// A1 for xApps of all kinds that the RIC has.
#[cfg(feature = "a1")]
fn a1_routes(
    sdl: Option<&sdl::Handle>,
    messaging: Option<&oran::messaging::MessagingHandle>,
    xapps: &oran::a1::XappLink,
    group: Option<&oran::group::GroupConfig>,
    server: &Server,
) -> Vec<rest::Route> {
    let mut links: Vec<_> = messaging.map(oran::messaging::MessagingHandle::policy_link).into_iter().collect();
    links.push(xapps.policy_link());
    links.extend(group.map(|group| oran::a1::shared_link(&group.entries)));
    let a1 = match sdl {
        Some(sdl) => oran::a1::over_sdl(sdl, links, server.log_budget()),
        None => oran::a1::A1::new(links),
    };
    if let Some(messaging) = messaging {
        messaging.serve_a1(&a1);
    }
    xapps.serve_a1(&a1);
    if let Some(group) = group {
        oran::a1::follow_shared(&a1, group);
    }
    oran::a1::routes(&a1)
}

/// The limits that the shared data layer has in common with E2.
#[cfg(feature = "sdl")]
fn with_limits_of(mut config: sdl::Config, server: &mut ferric::server::ServerConfig) -> sdl::Config {
    server.other_files += config.limits.max_connections as u64;
    config.is_protected = server.ipsec;
    config.limits.max_host_percent = server.controller.max_host_percent.into();
    config.limits.request_timeout = server.pdu_timeout;
    config.limits.handshake_timeout = server.controller.setup_timeout;
    #[cfg(feature = "tls")]
    {
        config.tls = server.link.tls.clone();
    }
    config
}

/// Has the nodes of a RIC that is gone disconnected in the shared data layer.
#[cfg(all(feature = "peers", feature = "sdl"))]
fn disconnect_nodes_on_loss(sdl: &sdl::RemoteSdl) -> shared_store::LossObserver {
    let handle = sdl.handle().clone();
    Box::new(move |ric| {
        let (handle, ric) = (handle.clone(), ric.to_owned());
        let disconnect = move || oran::rnib::disconnect_nodes_of_ric(&handle, &ric);
        if let Err(error) = std::thread::Builder::new().name("rnib".to_owned()).spawn(disconnect) {
            tracing::warn!("nodes of a RIC that is gone stay connected in R-NIB: cannot start a thread: {error}");
        }
    })
}

/// Has what a RIC that is gone has shared removed.
#[cfg(all(feature = "oran", feature = "peers"))]
fn forget_on_loss(sharing: &sharing::Sharing) -> shared_store::LossObserver {
    let entries = std::sync::Arc::clone(&sharing.config.entries);
    Box::new(move |ric| oran::group::forget_ric(&*entries, ric))
}

/// Starts the shared data layer on Redis, with the RIC's nodes in it.
#[cfg(feature = "sdl")]
fn start_remote_sdl(
    url: shared_store::StoreUrl,
    server: &mut Server,
    ric_name: &str,
) -> Result<sdl::RemoteSdl, ferric::Error> {
    let failed = |source| ferric::Error::System { what: "start the shared data layer", source };
    let sdl = sdl::RemoteSdl::start(url).map_err(failed)?;
    let rnib = oran::rnib::Rnib::shared(sdl.handle().clone(), ric_name, server.iapp_waker()?).map_err(failed)?;
    server.add_iapp(Box::new(rnib));
    Ok(sdl)
}

#[cfg(feature = "sdl")]
fn sdl_error(error: sdl::Error) -> ferric::Error {
    match error {
        sdl::Error::Bind(address, source) => ferric::link::Error::Bind { address, source }.into(),
        error => ferric::Error::System { what: "start the shared data layer", source: std::io::Error::other(error) },
    }
}
