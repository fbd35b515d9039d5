//! The session with a RIC, and the nouns that it leads to.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use e2::NodeId;
use e2::topology::{UeIdentity, UeReference};
use e2ap::GlobalE2NodeId;
use link::Address;

use super::control::{self, Answer, Encoded};
use super::core::Core;
use super::error::Error;
use super::kpm::KpmRequest;
use super::names::CellId;
use super::node::NodeEntry;
use super::raw::{MAX_RICS, Xapp, XappConfig, XappGroup};
use super::resolve::{IntoName, name};
use super::session::{self, Attempt, Reply, Session};
use super::ue::Ue;

/// The variable that names the addresses of RICs.
const VARIABLE: &str = "FERRIC_RIC";
/// How long `connect` waits for a RIC.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(30);
/// The longest time that `connect_raw` waits for one.
const MAX_CONNECT_TIMEOUT: Duration = Duration::from_secs(1 << 31);
/// How long verbs wait for answers: longer than the RIC waits for a node's.
const DEADLINE: Duration = Duration::from_secs(10);

/// What all handles have in common.
#[derive(Clone)]
pub(super) struct Handle {
    pub session: Arc<Session>,
    pub deadline: Duration,
    /// How long controls wait for reports that show their effect.
    pub verify: Option<Duration>,
}

/// How to connect to a RIC: `Ric::options().name("my-xapp").connect()`.
#[derive(Clone, Debug)]
#[must_use = "`connect` opens the session"]
pub struct RicOptions {
    addresses: Option<Vec<String>>,
    name: String,
    timeout: Duration,
    config: XappConfig,
}

impl RicOptions {
    /// The RIC's address. Default: the variable `FERRIC_RIC`, which may have several with spaces in between, or
    /// `tcp://127.0.0.1:36423`.
    pub fn address(mut self, address: impl Into<String>) -> Self {
        self.addresses = Some(vec![address.into()]).filter(|address| !address[0].is_empty());
        self
    }

    /// The addresses of several RICs that share E2 nodes, at most [`MAX_RICS`]. The session has the nodes of all, and follows a node to
    /// another RIC: [`Ric::connect_all`].
    pub fn addresses(mut self, addresses: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.addresses = Some(addresses.into_iter().map(Into::into).collect());
        self
    }

    /// The xApp's name in the RIC's log, at most 64 octets. Default: the name of the program.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }

    /// How long to wait for a RIC that does not listen yet. Default: 30 s.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// The configuration of the raw session: TLS, reconnection, encodings.
    pub fn config(mut self, config: XappConfig) -> Self {
        self.config = config;
        self
    }

    /// Opens the session.
    ///
    /// # Errors
    /// [`Error::Address`], [`Error::Connect`], [`Error::Invalid`].
    pub fn connect(self) -> Result<Ric, Error> {
        let addresses = self.checked_addresses()?;
        let session = Arc::new(Session::open(addresses, &self.name, self.config, self.timeout)?);
        Ok(Ric(Handle { session, deadline: DEADLINE, verify: None }))
    }

    /// Opens a raw session with one RIC instead, which the caller polls: for an xApp that encodes and decodes itself.
    ///
    /// # Errors
    /// [`Error::Address`], [`Error::Connect`]; [`Error::Invalid`] with several addresses.
    pub fn connect_raw(self) -> Result<Xapp, Error> {
        let addresses = self.checked_addresses()?;
        let [address] = &addresses[..] else {
            return Err(Error::invalid("addresses", addresses.len(), "one address of a RIC"));
        };
        let end = Instant::now() + self.timeout.min(MAX_CONNECT_TIMEOUT);
        session::connect(address, &self.name, &self.config, end)
            .map_err(|source| Error::Connect { address: address.to_string(), source: Arc::new(source) })
    }

    /// As [`RicOptions::connect_raw`], with one RIC or several. RICs that these name are added ([`XappConfig::learns_rics`]) if several
    /// were given: a session that was given one stays with that one.
    ///
    /// # Errors
    /// [`Error::Address`], [`Error::Connect`], [`Error::Invalid`].
    pub fn connect_raw_group(self) -> Result<XappGroup, Error> {
        let addresses = self.checked_addresses()?;
        let learns_rics = self.config.learns_rics && addresses.len() > 1;
        XappGroup::connect(&addresses, &self.name, XappConfig { learns_rics, ..self.config }, self.timeout)
            .map_err(|source| Error::Connect { address: session::joined(&addresses), source: Arc::new(source) })
    }

    /// The addresses, if the name is one too.
    fn checked_addresses(&self) -> Result<Vec<Address>, Error> {
        let RicOptions { addresses, name, .. } = self;
        let default = || {
            let variable = std::env::var(VARIABLE).unwrap_or_default();
            let texts: Vec<_> = variable.split_whitespace().map(str::to_owned).collect();
            if texts.is_empty() { vec![format!("tcp://127.0.0.1:{}", crate::DEFAULT_XAPP_PORT)] } else { texts }
        };
        let texts = addresses.clone().unwrap_or_else(default);
        if !(1..=MAX_RICS).contains(&texts.len()) {
            return Err(Error::invalid("addresses", texts.len(), format!("1 to {MAX_RICS} addresses of RICs")));
        }
        let address = |text: String| {
            Address::from_url(&text, crate::DEFAULT_XAPP_PORT)
                .map_err(|error| Error::Address { address: text, reason: error.to_string() })
        };
        let addresses = texts.into_iter().map(address).collect::<Result<_, _>>()?;
        if name.is_empty() || name.len() > 64 {
            return Err(Error::invalid("name", name, "a name of 1 to 64 octets"));
        }
        Ok(addresses)
    }
}

/// A session with a near-RT RIC. Clones are handles of the same session, which ends when the last of them, and of what they
/// have led to, is dropped.
///
/// ```no_run
/// use ferric::xapp::Ric;
///
/// let ric = Ric::connect()?;
/// for record in ric.kpm(["DRB.UEThpDl", "CQI"]).every(1000)? {
///     println!("{}", record?);
/// }
/// # Ok::<(), ferric::xapp::Error>(())
/// ```
#[derive(Clone)]
pub struct Ric(Handle);

impl Ric {
    /// Connects to the RIC at `FERRIC_RIC`, or else `tcp://127.0.0.1:36423`. Waits up to 30 s for it.
    ///
    /// # Errors
    /// [`Error::Address`], [`Error::Connect`].
    pub fn connect() -> Result<Ric, Error> {
        Ric::options().connect()
    }

    /// Connects to several RICs that share E2 nodes (`docs/several-rics.md`), as one: their nodes are in one list, each once. A node that
    /// moves to another RIC keeps its name, and controls go to the RIC that it is connected to. Its streams go on, with a mark:
    /// [`Event::NodeMoved`](super::Event::NodeMoved), [`Record::follows_move`](super::Record::follows_move). Waits up to 30 s for one of
    /// the RICs; one that is absent is tried again. RICs that these name are used too, unless one address is given
    /// ([`XappConfig::learns_rics`]).
    ///
    /// # Errors
    /// [`Error::Address`], [`Error::Connect`], [`Error::Invalid`].
    pub fn connect_all(addresses: impl IntoIterator<Item = impl Into<String>>) -> Result<Ric, Error> {
        Ric::options().addresses(addresses).connect()
    }

    /// How to connect, if not as [`Ric::connect`] does.
    pub fn options() -> RicOptions {
        let program = std::env::current_exe().ok();
        let name = program.as_ref().and_then(|path| path.file_stem()).and_then(|name| name.to_str());
        let name = name.map_or("xapp", |name| if name.len() > 64 { "xapp" } else { name });
        RicOptions { addresses: None, name: name.to_owned(), timeout: CONNECT_TIMEOUT, config: XappConfig::default() }
    }

    /// The same session with another deadline of its verbs, and of those of the handles that it leads to. Default: 10 s.
    #[must_use]
    pub fn deadline(&self, deadline: Duration) -> Ric {
        Ric(Handle { deadline, ..self.0.clone() })
    }

    /// The same session with verified controls: after a node has acknowledged, they wait until reports show the effect, and fail
    /// with [`Error::Unverified`] if none does within this time. Handovers, slices and quotas can be verified.
    #[must_use]
    pub fn verified(&self, within: Duration) -> Ric {
        Ric(Handle { verify: Some(within), ..self.0.clone() })
    }

    pub(super) fn of(handle: &Handle) -> Ric {
        Ric(handle.clone())
    }

    pub(super) fn handle(&self) -> &Handle {
        &self.0
    }

    /// Requests measurements: of each UE, unless the request is restricted.
    pub fn kpm(&self, measurements: impl IntoIterator<Item = impl Into<String>>) -> KpmRequest {
        KpmRequest::new(self.0.clone(), measurements.into_iter().map(Into::into).collect())
    }

    /// The nodes that are up.
    ///
    /// # Errors
    /// [`Error::Closed`], [`Error::Timeout`].
    pub fn nodes(&self) -> Result<Vec<Node>, Error> {
        let ids = self.0.session.ask(
            || "list of nodes".into(),
            self.0.deadline,
            |core, _, reply: Reply<Vec<GlobalE2NodeId>>| {
                reply.send(Ok(core.nodes().map(|node| node.global_id).collect()))
            },
        )?;
        Ok(ids.into_iter().map(|id| Node { ric: self.0.clone(), id }).collect())
    }

    /// The node of that name, as the RIC logs it. Waits for it until the deadline.
    ///
    /// # Errors
    /// [`Error::Unknown`] with the nearest names.
    pub fn node(&self, node: impl AsRef<str>) -> Result<Node, Error> {
        let node = node.as_ref().to_owned();
        let id = self.0.session.ask_until(
            || "node".into(),
            self.0.deadline,
            move |core, _| match core.node_named(&node) {
                Ok(node) => Attempt::Done(Ok(node.global_id)),
                Err(error) => Attempt::Wait(error),
            },
        )?;
        Ok(Node { ric: self.0.clone(), id })
    }

    /// The cells that are known: those that nodes list, and those that UEs are in.
    ///
    /// # Errors
    /// [`Error::Closed`], [`Error::Timeout`].
    pub fn cells(&self) -> Result<Vec<Cell>, Error> {
        self.0.session.ask(
            || "list of cells".into(),
            self.0.deadline,
            |core, commands, reply| {
                core.follow_ues(commands);
                let cell = |(id, node): (CellId, Arc<str>)| Cell { id, node };
                reply.send(Ok(core.cells().into_iter().map(cell).collect()));
            },
        )
    }

    /// The UEs that are known, from the notifications and reports of nodes.
    ///
    /// # Errors
    /// [`Error::Closed`], [`Error::Timeout`].
    pub fn ues(&self) -> Result<Vec<Ue>, Error> {
        let references = self.0.session.ask(
            || "list of UEs".into(),
            self.0.deadline,
            |core, commands, reply: Reply<Vec<UeReference>>| {
                core.follow_ues(commands);
                reply.send(Ok(core.directory.references()));
            },
        )?;
        Ok(references.into_iter().map(|reference| Ue::new(self.0.clone(), reference)).collect())
    }

    /// The UEs that are known, each with the most stable of its names and all that is known of it now.
    ///
    /// # Errors
    /// [`Error::Closed`], [`Error::Timeout`].
    pub fn identities(&self) -> Result<Vec<(UeReference, UeIdentity)>, Error> {
        self.0.session.ask(
            || "list of UEs".into(),
            self.0.deadline,
            |core, commands, reply| {
                core.follow_ues(commands);
                let identity = |reference: UeReference| {
                    let identity = core.directory.find(&reference).ok().map(|ue| core.directory.identity(ue))?;
                    Some((reference, identity))
                };
                reply.send(Ok(core.directory.references().into_iter().filter_map(identity).collect()));
            },
        )
    }

    /// The UE of that name: `amf:17`, `rnti:0x4601@003804001`, … Waits for it until the deadline.
    ///
    /// # Errors
    /// [`Error::Unknown`] with some UEs that are known; [`Error::Invalid`].
    pub fn ue(&self, ue: impl IntoName<UeReference>) -> Result<Ue, Error> {
        let reference = name(ue)?;
        self.0.await_ue(&reference)?;
        Ok(Ue::new(self.0.clone(), reference))
    }

    /// Reports that the RIC has dropped because this session reads too slowly.
    ///
    /// # Errors
    /// [`Error::Closed`], [`Error::Timeout`].
    pub fn dropped(&self) -> Result<u64, Error> {
        self.0.session.ask(|| "counter".into(), self.0.deadline, |core, _, reply| reply.send(Ok(core.dropped())))
    }

    /// Ends the session at once, for all handles. A second call does nothing.
    pub fn close(&self) {
        self.0.session.close();
    }
}

impl fmt::Debug for Ric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ric").field("address", &self.0.session.address).finish_non_exhaustive()
    }
}

impl Handle {
    /// Waits until a UE is known.
    pub fn await_ue(&self, reference: &UeReference) -> Result<(), Error> {
        let (what, reference) = (format!("UE {reference}"), reference.clone());
        self.session.ask_until(
            || what,
            self.deadline,
            move |core, commands| {
                core.follow_ues(commands);
                match core.directory.find(&reference) {
                    Ok(_) => Attempt::Done(Ok(())),
                    Err(error) => Attempt::Wait(error),
                }
            },
        )
    }
}

impl Handle {
    /// Sends a control to the node of that name, or to every node that offers it: `encode` returns `None` for others.
    pub fn control_nodes(
        &self,
        what: &'static str,
        node: Option<String>,
        encode: impl Fn(&Core, &NodeEntry) -> Result<Option<Encoded>, Error> + Send + 'static,
    ) -> Result<Vec<Answer>, Error> {
        // an xApp that starts with its RIC and its RAN waits for the first node
        self.session.ask_until(
            || what.into(),
            self.deadline,
            move |core, _| match core.nodes().len() {
                0 => Attempt::Wait(Error::NotOffered { node: None, what: what.into(), nearest: Vec::new() }),
                _ => Attempt::Done(Ok(())),
            },
        )?;
        self.session.ask(
            || format!("control of {what}"),
            self.deadline,
            move |core, commands, reply| {
                let encoded = match &node {
                    Some(name) => core.node_named(name).and_then(|node| Ok(vec![(node.id, encode(core, node)?)])),
                    None => core.nodes().map(|node| Ok((node.id, encode(core, node)?))).collect(),
                };
                let controls = encoded.and_then(|encoded| {
                    let offered = encoded.into_iter().filter_map(|(node, encoded)| Some((node, encoded?)));
                    let controls: Vec<_> = offered.collect();
                    if controls.is_empty() {
                        return Err(Error::NotOffered { node, what: what.into(), nearest: Vec::new() });
                    }
                    Ok(controls)
                });
                match controls {
                    Ok(controls) => control::send(core, commands, controls, reply),
                    Err(error) => reply.send(Err(error)),
                }
            },
        )
    }

    /// The global id of a node that is up.
    pub fn node_id(&self, node: NodeId) -> Result<GlobalE2NodeId, Error> {
        self.session.ask(
            || "node".into(),
            self.deadline,
            move |core, _, reply| {
                let id = core.node(node).map(|node| node.global_id);
                reply.send(id.ok_or_else(|| Error::NodeLost { node: format!("node {}", node.0) }));
            },
        )
    }

    /// The error that the system refuses a resource.
    pub fn system_error(&self, what: &'static str, source: std::io::Error) -> Error {
        let source = Arc::new(crate::Error::System { what, source });
        Error::Connect { address: self.session.address.clone(), source }
    }
}

/// An E2 node.
#[derive(Clone)]
pub struct Node {
    ric: Handle,
    id: GlobalE2NodeId,
}

impl Node {
    /// Its name, as the RIC logs it: `gnb-00101-e00`.
    #[must_use]
    pub fn name(&self) -> String {
        self.id.to_string()
    }

    pub(super) fn handle(&self) -> &Handle {
        &self.ric
    }

    /// Its global id.
    #[must_use]
    pub fn global_id(&self) -> GlobalE2NodeId {
        self.id
    }

    /// Requests measurements of this node.
    pub fn kpm(&self, measurements: impl IntoIterator<Item = impl Into<String>>) -> KpmRequest {
        Ric(self.ric.clone()).kpm(measurements).node(self.name())
    }
}

impl fmt::Debug for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Node").field(&self.name()).finish()
    }
}

/// A cell of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cell {
    id: CellId,
    node: Arc<str>,
}

impl Cell {
    /// Its cell identity.
    #[must_use]
    pub fn id(&self) -> CellId {
        self.id
    }

    /// The name of its node.
    #[must_use]
    pub fn node(&self) -> &str {
        &self.node
    }
}
