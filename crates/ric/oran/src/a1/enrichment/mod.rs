//! A1-EI: enrichment information of a non-RT RIC for xApps.
//!
//! The near-RT RIC is the consumer: it asks the non-RT RIC for EI types and has it create EI jobs (`/A1-EI/v1/eitypes`,
//! `/A1-EI/v1/eijobs`). The non-RT RIC and producers of information post results and status of jobs to [`routes`]. Each result goes to
//! the xApps of its job, by the [`JobLink`] of each. Messages are those of the reference platform: JSON documents, which RMR carries
//! with the types 20013 (A1_EI_QUERY_ALL) to 20017 (A1_EI_DATA_DELIVERY).
//!
//! A thread of its own speaks with the non-RT RIC, one request after the other, so that one that is slow delays nothing else. One that
//! does not answer within [`TIMEOUT`], or with a status of 500 and above, is asked again after 1 s, 2 s, …, 60 s; meanwhile queries are
//! refused, and jobs are kept and created later. Every [`VERIFICATION_PERIOD`] it is asked for the status of each job, and one that it has
//! lost is created again.
//!
//! # Bounds
//! [`MAX_JOBS`] jobs, [`MAX_OF_HOST_PERCENT`] of them of each host, [`MAX_JOBS_PER_XAPP`] of each xApp and not more than stay
//! free, [`MAX_OWNERS`] xApps of one job; [`MAX_REQUEST_OCTETS`] of a request, [`MAX_RESULT_OCTETS`] of a result;
//! [`MAX_QUERIES`] queries that wait.

mod api;
mod jobs;
mod messages;
mod requests;
mod store;

use std::fmt;
use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use log_lines::{Host, LogBudget, escaped};
use rest::client::{Client, ClientConfig, ClientError};
use sdl::{Entries, Handle};
use serde_json::Value;
use tracing::{info, warn};

pub use api::routes;
pub use jobs::{JobOwner, JobStatus};
use jobs::{Jobs, Notice};
pub use messages::EiMessageKind;
use messages::JobOperation;
use store::Store;

/// The most jobs of all xApps.
pub const MAX_JOBS: usize = 256;
/// The most jobs of an xApp.
pub const MAX_JOBS_PER_XAPP: usize = 32;
/// The part of all jobs, and of all queries that wait, that the xApps of one host may have, in percent.
pub const MAX_OF_HOST_PERCENT: usize = 75;
/// The most xApps of a job.
pub const MAX_OWNERS: usize = 16;
/// The most queries for types that wait for the non-RT RIC.
pub const MAX_QUERIES: usize = 64;
/// Octets of a request of an xApp.
pub const MAX_REQUEST_OCTETS: usize = 16 << 10;
/// Octets of a result, as JSON without white space.
pub const MAX_RESULT_OCTETS: usize = 64 << 10;
/// Octets of the id of a job or a type.
pub(crate) const MAX_ID_OCTETS: usize = 128;
/// Octets of an answer of the non-RT RIC.
const MAX_ANSWER_OCTETS: u64 = 256 << 10;
/// The time for a request to the non-RT RIC.
pub const TIMEOUT: Duration = Duration::from_secs(5);
/// How often the non-RT RIC is asked for the status of each job.
pub const VERIFICATION_PERIOD: Duration = Duration::from_secs(60);
/// How long the jobs of an xApp outlive its session over the RIC-xApp protocol. Over RMR it is the time that an endpoint may be
/// unreachable.
pub const JOBS_OUTLIVE_XAPP: Duration = Duration::from_secs(60);
/// Requests per second of each xApp or host, beyond a burst of as many.
pub const REQUESTS_PER_SECOND: u32 = 16;

/// What an answer is given to: it is called once, from any thread, and must not block.
pub type Answer = Box<dyn FnOnce(EiMessageKind, Vec<u8>) + Send>;

/// A way to xApps.
pub trait JobLink: Send + Sync {
    /// Its name, which is [`JobOwner::way`] of the xApps that it leads to.
    fn way(&self) -> &'static str;

    /// Takes a message for the xApp at an address. It must not block. Returns whether there is room for it.
    fn deliver(&self, address: &str, kind: EiMessageKind, job_id: &str, document: Vec<u8>) -> bool;

    /// Names the xApps that have jobs. The link says when one of them is gone for too long: [`Enrichment::owner_gone`].
    fn watch(&self, addresses: Vec<String>);

    /// Whether an xApp is there, as far as the link knows. The jobs of one that is not when the RIC starts end after
    /// [`JOBS_OUTLIVE_XAPP`], unless it comes.
    fn is_there(&self, address: &str) -> bool {
        let _ = address;
        true
    }
}

/// Why a request about jobs is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobError {
    /// A status code of HTTP.
    pub status: u16,
    /// Why.
    pub detail: String,
    /// Members of the definition that do not conform, and why.
    pub mistakes: Vec<(String, String)>,
    /// Whether the RIC tries again by itself.
    pub is_retried: bool,
}

impl JobError {
    fn new(status: u16, detail: String) -> Self {
        JobError { status, detail, mistakes: Vec::new(), is_retried: false }
    }

    fn bad(detail: String) -> Self {
        JobError::new(400, detail)
    }
}

impl fmt::Display for JobError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.detail)
    }
}

impl std::error::Error for JobError {}

/// The non-RT RIC, and this RIC among others.
#[derive(Clone, Debug)]
pub struct EnrichmentConfig {
    /// The non-RT RIC: `http://HOST:PORT`. Time and octets of an answer are bounded by [`TIMEOUT`] and 256 KiB.
    pub non_rt_ric: ClientConfig,
    /// The name of this RIC among those that share a data layer.
    pub ric: String,
}

/// Enrichment information. Clones are the same.
#[derive(Clone)]
pub struct Enrichment(Arc<Inner>);

/// Enrichment information that something else keeps.
#[derive(Clone)]
pub(crate) struct WeakEnrichment(Weak<Inner>);

impl WeakEnrichment {
    pub fn upgrade(&self) -> Option<Enrichment> {
        self.0.upgrade().map(Enrichment)
    }
}

struct Inner {
    jobs: Mutex<Jobs>,
    changed: Condvar,
    links: Vec<Box<dyn JobLink>>,
    store: Option<Store>,
    client: Client,
    log: LogBudget,
}

impl fmt::Debug for Enrichment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Enrichment").finish_non_exhaustive()
    }
}

/// The thread that speaks with the non-RT RIC. Dropping it ends the thread, after the request that it is at.
#[derive(Debug)]
pub struct RequestThread {
    enrichment: Enrichment,
    thread: Option<JoinHandle<()>>,
}

impl Drop for RequestThread {
    fn drop(&mut self) {
        self.enrichment.jobs().is_closed = true;
        self.enrichment.0.changed.notify_all();
        if let Some(thread) = self.thread.take() {
            // a panic was reported when it happened
            let _ = thread.join();
        }
    }
}

impl Enrichment {
    /// Restores the jobs of an earlier run, if there is a shared data layer, and lets links know their xApps.
    ///
    /// # Errors
    /// If the URL of the non-RT RIC is malformed, or its files cannot be used.
    pub fn new(
        config: EnrichmentConfig,
        links: Vec<Box<dyn JobLink>>,
        sdl: Option<&Handle>,
        log: LogBudget,
    ) -> Result<Self, ClientError> {
        let client = ClientConfig { timeout: TIMEOUT, max_body_octets: MAX_ANSWER_OCTETS, ..config.non_rt_ric };
        let client = Client::new(&client)?;
        let store = sdl.map(|sdl| Store::new(sdl.clone(), &config.ric));
        let (jobs, changed) = (Mutex::new(Jobs::default()), Condvar::new());
        let enrichment = Enrichment(Arc::new(Inner { jobs, changed, links, store, client, log }));
        enrichment.restore();
        if let Some(sdl) = sdl {
            let weak = enrichment.downgrade();
            sdl.on_return(Box::new(move || {
                if let Some(enrichment) = weak.upgrade() {
                    let jobs = enrichment.jobs();
                    enrichment.store_jobs(&jobs);
                }
            }));
        }
        Ok(enrichment)
    }

    /// Restores what an earlier run has left: at once, or as soon as a store that is elsewhere can be read.
    fn restore(&self) {
        let Some(store) = &self.0.store else { return };
        if !store.is_remote() {
            return self.take_restored(store.read());
        }
        let weak = self.downgrade();
        let read = move || {
            let entries = weak.upgrade().and_then(|enrichment| Some(enrichment.0.store.as_ref()?.read()));
            if let (Some(enrichment), Some(entries)) = (weak.upgrade(), entries) {
                enrichment.take_restored(entries);
            }
        };
        if let Err(error) = std::thread::Builder::new().name("a1-ei-restore".to_owned()).spawn(read) {
            warn!(
                "A1-EI: jobs of an earlier run are not read: cannot start a thread: {error}; raise the limit of threads (ulimit -u, \
                 TasksMax), and restart the RIC"
            );
        }
    }

    fn take_restored(&self, entries: Entries) {
        let mut jobs = self.jobs();
        if let Some(store) = &self.0.store {
            store.restore(entries, &mut jobs);
        }
        self.update_watches(&jobs);
        let is_there =
            |owner: &JobOwner| self.0.links.iter().any(|link| link.way() == owner.way && link.is_there(&owner.address));
        jobs.note_absent(Instant::now(), is_there);
        drop(jobs);
        self.0.changed.notify_all();
    }

    /// Starts to speak with the non-RT RIC, which reaches [`routes`] at a base URL.
    ///
    /// # Errors
    /// If there is no thread for it.
    pub fn start(&self, callback: &str) -> io::Result<RequestThread> {
        let (enrichment, callback) = (self.clone(), callback.trim_end_matches('/').to_owned());
        let run = move || requests::run(&enrichment, &callback);
        let thread = std::thread::Builder::new().name("a1-ei".to_owned()).spawn(run)?;
        Ok(RequestThread { enrichment: self.clone(), thread: Some(thread) })
    }

    pub(crate) fn downgrade(&self) -> WeakEnrichment {
        WeakEnrichment(Arc::downgrade(&self.0))
    }

    fn jobs(&self) -> MutexGuard<'_, Jobs> {
        // a panic while it is locked is one of a change that was not made
        self.0.jobs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn update_watches(&self, jobs: &Jobs) {
        let addresses = jobs.addresses();
        for link in &self.0.links {
            let of_link = addresses.get(link.way()).into_iter().flatten();
            link.watch(of_link.map(|address| (*address).to_owned()).collect());
        }
    }

    /// Stores a job as it is, or removes it.
    fn store_job(&self, jobs: &Jobs, job_id: &str) {
        if let Some(store) = &self.0.store {
            store.apply(job_id, jobs.get(job_id).map(|job| &job.content));
        }
    }

    fn store_jobs(&self, jobs: &Jobs) {
        jobs.iter().for_each(|(job_id, _)| self.store_job(jobs, job_id));
    }

    fn tell(&self, notices: Vec<Notice>) {
        for Notice { to, kind, job_id, document } in notices {
            self.deliver(&to, kind, &job_id, document);
        }
    }

    fn deliver(&self, to: &JobOwner, kind: EiMessageKind, job_id: &str, document: Vec<u8>) -> bool {
        let link = self.0.links.iter().find(|link| link.way() == to.way);
        link.is_some_and(|link| link.deliver(&to.address, kind, job_id, document))
    }

    /// Handles an A1_EI_QUERY_ALL: an xApp of a host asks for the ids of all EI types.
    pub fn handle_query(&self, host: Host, answer: Answer) {
        self.jobs().query(host, answer);
        self.0.changed.notify_all();
    }

    /// Handles an A1_EI_CREATE_JOB: an xApp of a host wants a job, or does not want it any more. `answer` is given whether it has it.
    pub fn handle_request(&self, owner: JobOwner, host: Host, octets: &[u8], answer: Answer) {
        let request = match messages::read(octets) {
            Ok(request) => request,
            Err(error) => return answer(EiMessageKind::Job, messages::refusal(None, &error)),
        };
        let job_id = request.job_id.clone();
        let mut jobs = self.jobs();
        if request.operation == JobOperation::Create {
            if jobs.create(owner, host, request, answer) {
                self.store_job(&jobs, &job_id);
                self.update_watches(&jobs);
            }
        } else {
            let document = match jobs.delete(&owner, &job_id) {
                Ok(()) => {
                    self.store_job(&jobs, &job_id);
                    self.update_watches(&jobs);
                    messages::deleted(&job_id)
                }
                Err(error) => messages::refusal(Some(&job_id), &error),
            };
            answer(EiMessageKind::Job, document);
        }
        drop(jobs);
        self.0.changed.notify_all();
    }

    /// Deletes the jobs of an xApp that has been gone for too long. Returns their number.
    pub fn owner_gone(&self, owner: &JobOwner) -> usize {
        let mut jobs = self.jobs();
        let ids = jobs.of_owner(owner);
        for job_id in &ids {
            // it has it
            let _ = jobs.delete(owner, job_id);
            self.store_job(&jobs, job_id);
        }
        self.update_watches(&jobs);
        drop(jobs);
        self.0.changed.notify_all();
        ids.len()
    }

    /// Notes that an xApp has left. Its jobs end after [`JOBS_OUTLIVE_XAPP`], unless it comes back.
    pub fn owner_left(&self, owner: &JobOwner) {
        let mut jobs = self.jobs();
        jobs.note_absent(Instant::now(), |other| other != owner);
        drop(jobs);
        self.0.changed.notify_all();
    }

    /// Notes that an xApp is there, and its host.
    pub fn owner_back(&self, owner: &JobOwner, host: Host) {
        self.jobs().note_present(owner, host);
    }

    /// Takes a result of a job for its xApps.
    ///
    /// # Errors
    /// If there is no such job (404), the result is too long (413), or no xApp of the job can take it now (503).
    pub fn deliver_result(&self, job_id: &str, result: &Value) -> Result<(), JobError> {
        let document = messages::result(job_id, result);
        let mut jobs = self.jobs();
        let job = jobs.get_mut(job_id).ok_or_else(|| no_job(job_id))?;
        if document.len() > MAX_RESULT_OCTETS {
            job.lost_results += 1;
            return Err(JobError::new(413, format!("a result has at most {MAX_RESULT_OCTETS} octets")));
        }
        let mut is_taken = false;
        for owner in &job.content.owners {
            is_taken |= self.deliver(owner, EiMessageKind::Result, job_id, document.clone());
        }
        if !is_taken {
            job.lost_results += 1;
            return Err(JobError::new(503, "xApps do not take results now; try again".to_owned()));
        }
        job.results += 1;
        Ok(())
    }

    /// Takes the status of a job.
    ///
    /// # Errors
    /// If there is no such job (404).
    pub fn set_status(&self, job_id: &str, status: JobStatus) -> Result<(), JobError> {
        let mut jobs = self.jobs();
        let job = jobs.get_mut(job_id).ok_or_else(|| no_job(job_id))?;
        let notices = job.set_status(job_id, status);
        drop(jobs);
        self.tell(notices);
        Ok(())
    }

    /// Waits for the next task. `None` once the thread is to end.
    fn next_task(&self, verified: &mut Instant) -> Option<jobs::Task> {
        let mut jobs = self.jobs();
        loop {
            let now = Instant::now();
            if jobs.is_closed {
                return None;
            }
            if now.saturating_duration_since(*verified) >= VERIFICATION_PERIOD {
                *verified = now;
                jobs.verify_all();
            }
            if let Some(owner) = jobs.next_gone(now) {
                drop(jobs);
                let count = self.owner_gone(&owner);
                info!(
                    "A1-EI: {count} jobs of xApp {} end: it is gone; it creates them again when it is back",
                    escaped(&owner.address)
                );
                jobs = self.jobs();
                continue;
            }
            if let Some(task) = jobs.next_task(now) {
                return Some(task);
            }
            let verification = (*verified + VERIFICATION_PERIOD).saturating_duration_since(now);
            let outage = jobs.outage.map(|(until, _)| until.saturating_duration_since(now));
            let patience = outage.filter(|outage| !outage.is_zero()).map_or(verification, |of| of.min(verification));
            let patience = jobs.next_departure(now).map_or(patience, |departure| departure.min(patience));
            let waited = self.0.changed.wait_timeout(jobs, patience);
            jobs = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

/// Why requests of xApps are refused, if the RIC has no non-RT RIC.
pub(crate) const NO_NON_RT_RIC: &str = "the RIC has no non-RT RIC (--non-rt-ric)";

/// Refuses an A1_EI_QUERY_ALL that nobody takes.
pub(crate) fn refuse_query(status: u16, why: &str) -> (EiMessageKind, Vec<u8>) {
    (EiMessageKind::Types, messages::refusal(None, &JobError::new(status, why.to_owned())))
}

/// Refuses an A1_EI_CREATE_JOB that nobody takes.
pub(crate) fn refuse_job(status: u16, why: &str, octets: &[u8]) -> (EiMessageKind, Vec<u8>) {
    let document = match messages::read(octets) {
        Ok(request) => messages::refusal(Some(&request.job_id), &JobError::new(status, why.to_owned())),
        Err(error) => messages::refusal(None, &error),
    };
    (EiMessageKind::Job, document)
}

fn no_job(job_id: &str) -> JobError {
    let shown: String = job_id.chars().take(MAX_ID_OCTETS).collect();
    JobError::new(404, format!("there is no EI job `{shown}`"))
}
