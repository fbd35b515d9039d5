//! `ferric nodes`, `cells`, `ues`, `slices`, `subscriptions` and `xapps`: what a RIC knows, from its northbound interface.

mod flexran;
mod resource;
pub mod table;

use std::io::{self, IsTerminal, Write};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use anyhow::{Context, anyhow, bail};
use program::rest_access::{self, AccessArgs, TOKEN_VARIABLE};
use rest::client::{Client, ClientError, ClientResponse};
use serde_json::Value;
use tracing::{info, warn};

pub use resource::Resource;

/// The variable with the address of a RIC's REST interface.
const VARIABLE: &str = "FERRIC_REST";
/// The address that the documents use.
const DEFAULT: &str = "http://127.0.0.1:8080";
/// How often `--watch` looks for a signal.
const PATIENCE: Duration = Duration::from_millis(50);

// The commands share these arguments; each has a comment of its own.
#[derive(clap::Args)]
pub struct Args {
    /// Print one JSON object, in one line, instead of a table. Its names are those of the REST interface.
    #[arg(long)]
    json: bool,
    /// Read again every N seconds until Ctrl-C: a table that is redrawn on a terminal, else one table or JSON object after the
    /// other. A RIC that does not answer is asked again. [default without N: 2]
    #[arg(long, value_name = "N", num_args = 0..=1, default_missing_value = "2", value_parser = clap::value_parser!(u32).range(1..=3600))]
    watch: Option<u32>,
    #[command(flatten)]
    ric: RicArgs,
}

/// Which RIC is asked.
#[derive(clap::Args)]
pub struct RicArgs {
    /// REST address of the RIC: http://HOST:PORT or https://HOST:PORT. [default: the variable FERRIC_REST, if it is set, else
    /// http://127.0.0.1:8080]
    #[arg(long, help_heading = rest_access::HEADING, value_name = "URL", value_parser = rest_access::url)]
    rest: Option<String>,
    #[command(flatten)]
    access: AccessArgs,
}

pub fn run(resource: Resource, args: &Args) -> anyhow::Result<()> {
    let ric = Ric::new(&args.ric)?;
    let Some(seconds) = args.watch else { return show(&ric, resource, args) };
    let stop = program::signals::flag_on_signal()?;
    let is_stopped = || stop.load(Ordering::Acquire);
    while !is_stopped() {
        let next = Instant::now() + Duration::from_secs(seconds.into());
        if let Err(error) = show(&ric, resource, args) {
            warn!("{}", program::chain(&error));
        }
        while !is_stopped() && Instant::now() < next {
            std::thread::sleep(PATIENCE.min(next.saturating_duration_since(Instant::now())));
        }
    }
    Ok(())
}

/// The address of the RIC: of the command line, of the environment, or the default.
fn address(args: &RicArgs) -> anyhow::Result<String> {
    let of_environment = || std::env::var(VARIABLE).ok().filter(|url| !url.is_empty());
    match (&args.rest, of_environment()) {
        (Some(url), _) => Ok(url.clone()),
        (None, Some(url)) => rest_access::url(&url).map_err(|error| anyhow!("{VARIABLE}={url}: {error}")),
        (None, None) => Ok(DEFAULT.to_owned()),
    }
}

/// Reads a resource and prints it.
fn show(ric: &Ric, resource: Resource, args: &Args) -> anyhow::Result<()> {
    let document = resource.read(ric)?;
    if args.json {
        program::outln!("{document}");
        return Ok(());
    }
    let rows = resource.rows(&document);
    let is_terminal = io::stdout().is_terminal();
    let mut text = table::draw(resource.columns(), &rows, is_terminal);
    match (args.watch.is_some(), is_terminal) {
        // cursor home, clear to the end
        (true, true) => text.insert_str(0, "\x1b[H\x1b[J"),
        (true, false) => text.push('\n'),
        (false, _) => {}
    }
    let mut stdout = io::stdout().lock();
    if let Err(error) = stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        program::end_without_output(&error);
    }
    if rows.is_empty() {
        info!("{}", resource.absence());
    }
    if let Some(omitted) = document["omitted"].as_u64().filter(|omitted| *omitted > 0) {
        warn!(omitted, "the RIC lists no more than these");
    }
    Ok(())
}

/// A RIC's REST interface.
pub struct Ric {
    client: Client,
    has_token: bool,
}

impl Ric {
    pub fn new(args: &RicArgs) -> anyhow::Result<Self> {
        let client = rest_access::client(&address(args)?, &args.access)?;
        Ok(Ric { client, has_token: args.access.token().is_some() })
    }

    /// Reads a resource that must be there.
    fn get(&self, path: &str) -> anyhow::Result<Value> {
        self.send("GET", path, None)
    }

    /// Sends a request that must succeed. Returns the document of the response.
    pub fn send(&self, method: &str, path: &str, body: Option<&Value>) -> anyhow::Result<Value> {
        let response = self.request(method, path, body)?;
        if response.is_success() {
            return Ok(response.body);
        }
        bail!(self.refusal(path, &response))
    }

    /// Reads a resource that a node may not have, or not yet: `None` then.
    fn find(&self, path: &str) -> anyhow::Result<Option<Value>> {
        let response = self.request("GET", path, None)?;
        match response.status {
            404 | 503 => Ok(None),
            _ if response.is_success() => Ok(Some(response.body)),
            _ => bail!(self.refusal(path, &response)),
        }
    }

    fn request(&self, method: &str, path: &str, body: Option<&Value>) -> anyhow::Result<ClientResponse> {
        let url = self.client.url();
        self.client.request(method, path, body).map_err(|error| match error {
            ClientError::NoResponse(_) => anyhow!(error).context(format!(
                "cannot read {url}{path}; start a RIC with REST (`ferric ric --rest 127.0.0.1:8080`), or give its address by \
                 --rest or {VARIABLE}"
            )),
            ClientError::Body(_) => anyhow!(error).context(not_a_ric(url, path)),
            error => anyhow!(error).context(format!("cannot read {url}{path}")),
        })
    }

    /// Why the RIC refused, and what to do.
    fn refusal(&self, path: &str, response: &ClientResponse) -> String {
        let url = self.client.url();
        let detail = response.detail().map(|detail| format!(": {detail}")).unwrap_or_default();
        match response.status {
            401 if self.has_token => format!(
                "the RIC at {url} does not accept the token{detail}; give one of its --rest-tokens file by --rest-token FILE or \
                 {TOKEN_VARIABLE}, without the role before it"
            ),
            401 => {
                format!("the RIC at {url} requires a token{detail}; give it by --rest-token FILE or {TOKEN_VARIABLE}")
            }
            403 => format!("the RIC at {url} does not permit this{detail}"),
            404 if path.starts_with("/ric/v1/") && response.detail().is_some() => match response.detail() {
                Some(detail) if !detail.starts_with("there is nothing at ") => format!("the RIC at {url}: {detail}"),
                _ => format!(
                    "the RIC at {url} does not manage xApps of the O-RAN reference platform: start it with --xapp-commands FILE, or \
                     with --oran-rest"
                ),
            },
            // a RIC answers 404 as a problem (RFC 9457)
            404 if response.detail().is_some() => format!(
                "the RIC at {url} has no {path}: it is older than this program ({}), or was built without it; update it",
                env!("CARGO_PKG_VERSION")
            ),
            404 => not_a_ric(url, path),
            429 => format!("the RIC at {url} limits the rate of requests{detail}; try again later"),
            status => format!("the RIC at {url} answers {path} with {status}{detail}"),
        }
    }

    /// The entries of a document.
    ///
    /// # Errors
    /// If there are none: something else answers at this address.
    fn entries<'d>(&self, path: &str, document: &'d Value, member: &str) -> anyhow::Result<&'d Vec<Value>> {
        document[member].as_array().with_context(|| not_a_ric(self.client.url(), path))
    }
}

fn not_a_ric(url: &str, path: &str) -> String {
    format!("what answers at {url}{path} is not the REST interface of a RIC: check the address of --rest or {VARIABLE}")
}
