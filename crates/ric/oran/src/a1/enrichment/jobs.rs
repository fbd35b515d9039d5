//! The EI jobs of xApps: what is wanted, and what the non-RT RIC has.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use log_lines::Host;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::messages::{self, EiMessageKind, JobRequest};
use super::{
    Answer, JOBS_OUTLIVE_XAPP, JobError, MAX_ID_OCTETS, MAX_JOBS, MAX_JOBS_PER_XAPP, MAX_OF_HOST_PERCENT, MAX_OWNERS,
    MAX_QUERIES,
};

/// The first pause after the non-RT RIC has not answered; each further one is twice as long.
pub(super) const FIRST_PAUSE: Duration = Duration::from_secs(1);
pub(super) const LONGEST_PAUSE: Duration = Duration::from_secs(60);
/// The most jobs, and queries that wait, of the xApps of a host, which state their ports and names themselves.
const MAX_JOBS_OF_HOST: usize = MAX_JOBS * MAX_OF_HOST_PERCENT / 100;
const MAX_QUERIES_OF_HOST: usize = MAX_QUERIES * MAX_OF_HOST_PERCENT / 100;
/// Answers about one job that xApps wait for.
const MAX_ANSWERS: usize = 2 * MAX_OWNERS;

/// An xApp, by the way that leads to it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct JobOwner {
    /// `rmr`, or `xapp` for the RIC-xApp protocol.
    pub way: String,
    /// The endpoint over RMR, the name over the RIC-xApp protocol.
    pub address: String,
}

impl JobOwner {
    /// An xApp at an address of a way.
    #[must_use]
    pub fn new(way: &str, address: &str) -> Self {
        JobOwner { way: way.to_owned(), address: address.to_owned() }
    }

    /// Its host, if its address says so.
    fn host(&self) -> Host {
        self.address.parse::<SocketAddr>().map_or(Host::Unknown, |address| address.ip().into())
    }
}

/// Whether the non-RT RIC can deliver results.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "UPPERCASE")]
pub enum JobStatus {
    /// It can.
    Enabled,
    /// It cannot at present.
    Disabled,
}

impl JobStatus {
    pub(super) fn text(self) -> &'static str {
        match self {
            JobStatus::Enabled => "ENABLED",
            JobStatus::Disabled => "DISABLED",
        }
    }
}

/// What is to be done with a job at the non-RT RIC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Work {
    /// To be created or replaced there.
    Put,
    /// To be looked at: the non-RT RIC may have lost it.
    Verify,
    /// To be deleted there; xApps do not have it any more.
    Delete,
}

/// What of a job is stored.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct JobContent {
    pub ei_type_id: String,
    pub job_owner: String,
    pub definition: Value,
    pub owners: Vec<JobOwner>,
}

pub(super) struct Job {
    pub content: JobContent,
    /// The host of the xApp that has created it.
    host: Host,
    /// `None` if the non-RT RIC has it as it should be.
    pub work: Option<Work>,
    /// What the non-RT RIC has, if it has another one.
    former: Option<Value>,
    pub status: Option<JobStatus>,
    /// Who waits for the outcome.
    answers: Vec<(JobOwner, Answer)>,
    /// Owners who were told that the non-RT RIC did not answer.
    promised: BTreeSet<JobOwner>,
    pub results: u64,
    pub lost_results: u64,
    pub fault: Option<String>,
}

/// What the thread that speaks with the non-RT RIC does next.
pub(super) enum Task {
    Types(Answer),
    Put { job_id: String, ei_type_id: String, job_owner: String, definition: Value },
    Verify(String),
    Delete(String),
}

/// What came of a task.
pub(super) enum Outcome {
    Done,
    /// The status of the job.
    Status(Option<JobStatus>),
    /// The non-RT RIC does not have it.
    Missing,
    /// The non-RT RIC has refused it, or the RIC has.
    Refused(JobError),
    /// No answer: tried again, not before the time that the non-RT RIC has named.
    Unavailable(String, Option<Duration>),
}

/// A message for an owner of a job.
pub(super) struct Notice {
    pub to: JobOwner,
    pub kind: EiMessageKind,
    pub job_id: String,
    pub document: Vec<u8>,
}

/// The state.
#[derive(Default)]
pub(super) struct Jobs {
    jobs: BTreeMap<String, Job>,
    /// Jobs with work, each once.
    queue: VecDeque<String>,
    queries: VecDeque<(Host, Answer)>,
    /// When the non-RT RIC is asked again, after it did not answer, with the pause until then.
    pub outage: Option<(Instant, Duration)>,
    pub is_closed: bool,
    /// Owners that are not there, and since when.
    pub absent: BTreeMap<JobOwner, Instant>,
}

/// Whether a text can be in a path as it is (RFC 3986 2.3).
pub(super) fn is_id(text: &str) -> bool {
    let is_unreserved = |octet: u8| octet.is_ascii_alphanumeric() || b"-._~".contains(&octet);
    (1..=MAX_ID_OCTETS).contains(&text.len()) && text.bytes().all(is_unreserved) && text != "." && text != ".."
}

impl Jobs {
    pub fn get(&self, job_id: &str) -> Option<&Job> {
        self.jobs.get(job_id).filter(|job| job.work != Some(Work::Delete))
    }

    pub fn get_mut(&mut self, job_id: &str) -> Option<&mut Job> {
        self.jobs.get_mut(job_id).filter(|job| job.work != Some(Work::Delete))
    }

    /// The jobs that xApps have, by id.
    pub fn iter(&self) -> impl Iterator<Item = (&String, &Job)> {
        self.jobs.iter().filter(|(_, job)| job.work != Some(Work::Delete))
    }

    /// The addresses of owners, by their way.
    pub fn addresses(&self) -> HashMap<&str, BTreeSet<&str>> {
        let mut addresses: HashMap<&str, BTreeSet<&str>> = HashMap::new();
        for owner in self.iter().flat_map(|(_, job)| &job.content.owners) {
            addresses.entry(&owner.way).or_default().insert(&owner.address);
        }
        addresses
    }

    /// Whether the non-RT RIC has not answered, and is not asked yet.
    fn is_away(&self) -> bool {
        self.outage.is_some_and(|(until, _)| Instant::now() < until)
    }

    fn unavailable() -> JobError {
        JobError { is_retried: true, ..JobError::new(503, "the non-RT RIC does not answer".to_owned()) }
    }

    fn want(&mut self, job_id: &str, work: Work) {
        if let Some(job) = self.jobs.get_mut(job_id) {
            if job.work.is_none() {
                self.queue.push_back(job_id.to_owned());
            }
            job.work = Some(work);
        }
    }

    /// An xApp asks for the types.
    pub fn query(&mut self, host: Host, answer: Answer) {
        let of_host = self.queries.iter().filter(|(of, _)| *of == host).count();
        let error = if self.is_away() {
            JobError { is_retried: false, ..Jobs::unavailable() }
        } else if self.queries.len() == MAX_QUERIES {
            JobError::new(
                503,
                format!("{MAX_QUERIES} queries of EI types wait for the non-RT RIC, as many as may: try again"),
            )
        } else if of_host >= MAX_QUERIES_OF_HOST {
            JobError::new(429, format!("{MAX_QUERIES_OF_HOST} queries of its host wait, as many as may: try again"))
        } else {
            return self.queries.push_back((host, answer));
        };
        answer(EiMessageKind::Types, messages::refusal(None, &error));
    }

    /// An xApp wants a job. Returns whether what is stored has changed.
    pub fn create(&mut self, owner: JobOwner, host: Host, request: JobRequest, answer: Answer) -> bool {
        let job_id = request.job_id.clone();
        let is_away = self.is_away();
        match self.check_creation(&owner, host, request) {
            Ok(changed) => {
                if let Some(job) = self.jobs.get_mut(&job_id) {
                    if job.work.is_none() || job.work == Some(Work::Verify) {
                        answer(EiMessageKind::Job, messages::established(&job_id));
                    } else if is_away || job.answers.len() == MAX_ANSWERS {
                        job.promised.insert(owner);
                        answer(EiMessageKind::Job, messages::refusal(Some(&job_id), &Jobs::unavailable()));
                    } else {
                        job.answers.push((owner, answer));
                    }
                }
                changed
            }
            Err(error) => {
                answer(EiMessageKind::Job, messages::refusal(Some(&job_id), &error));
                false
            }
        }
    }

    fn check_creation(&mut self, owner: &JobOwner, host: Host, request: JobRequest) -> Result<bool, JobError> {
        let JobRequest { job_id, ei_type_id, job_owner, job_definition, .. } = request;
        for (name, id) in [("job-id", &job_id), ("eiTypeId", &ei_type_id)] {
            if !is_id(id) {
                let detail = format!("{name} has 1 to {MAX_ID_OCTETS} letters, digits, `-`, `.`, `_` and `~` of ASCII");
                return Err(JobError::bad(detail));
            }
        }
        if !job_definition.is_object() {
            return Err(JobError::bad("jobDefinition is not a JSON object".to_owned()));
        }
        let job_owner = job_owner.unwrap_or_else(|| format!("{}:{}", owner.way, owner.address));
        let of_owner = self.iter().filter(|(id, job)| **id != job_id && job.content.owners.contains(owner)).count();
        if of_owner >= MAX_JOBS_PER_XAPP {
            return Err(JobError::new(429, format!("an xApp has at most {MAX_JOBS_PER_XAPP} jobs: delete some first")));
        }
        let conflict = |why: &str| Err(JobError::new(409, format!("job `{job_id}` {why}")));
        let Some(job) = self.jobs.get_mut(&job_id) else {
            if self.jobs.len() >= MAX_JOBS {
                return Err(JobError::new(
                    507,
                    format!("the RIC has {MAX_JOBS} EI jobs, as many as may be: let xApps delete some"),
                ));
            }
            let of_host = self.jobs.values().filter(|job| job.host == host).count();
            if of_host >= MAX_JOBS_OF_HOST {
                let detail = format!("the xApps of a host have at most {MAX_JOBS_OF_HOST} jobs: delete some first");
                return Err(JobError::new(429, detail));
            }
            // something stays free for the next one
            if of_owner >= MAX_JOBS - self.jobs.len() {
                let detail = format!("the xApp has {of_owner} jobs, as many as stay free: delete some first");
                return Err(JobError::new(429, detail));
            }
            let owners = vec![owner.clone()];
            self.add(job_id, host, JobContent { ei_type_id, job_owner, definition: job_definition, owners });
            return Ok(true);
        };
        if job.content.ei_type_id != ei_type_id {
            return conflict("exists with another type: take another job id, or delete it first");
        }
        if job.work == Some(Work::Delete) {
            job.content = JobContent { ei_type_id, job_owner, definition: job_definition, owners: vec![owner.clone()] };
            job.host = host;
            self.want(&job_id, Work::Put);
            return Ok(true);
        }
        let is_owner = job.content.owners.contains(owner);
        if job.content.definition == job_definition {
            if is_owner {
                return Ok(false);
            }
            if job.content.owners.len() >= MAX_OWNERS {
                return conflict(&format!("has {MAX_OWNERS} xApps, as many as may be: take another job id"));
            }
            job.content.owners.push(owner.clone());
            return Ok(true);
        }
        if !is_owner || job.content.owners.len() > 1 {
            return conflict("of another xApp has another definition");
        }
        // what the non-RT RIC has stays in force until it takes the new one
        let former = std::mem::replace(&mut job.content.definition, job_definition);
        if job.work != Some(Work::Put) {
            job.former = Some(former);
        }
        self.want(&job_id, Work::Put);
        Ok(true)
    }

    /// Adds a job of an earlier run, unless it is known: one that an xApp has deleted meanwhile stays so. Returns whether there was
    /// room for it.
    pub fn restore(&mut self, job_id: String, content: JobContent) -> bool {
        if self.jobs.contains_key(&job_id) {
            return true;
        }
        if self.jobs.len() >= MAX_JOBS {
            return false;
        }
        let host = content.owners.first().map_or(Host::Unknown, JobOwner::host);
        self.add(job_id, host, content);
        true
    }

    /// Notes that an xApp is there, and where: jobs of an earlier run count for its host from then on.
    pub fn note_present(&mut self, owner: &JobOwner, host: Host) {
        self.absent.remove(owner);
        for job in self.jobs.values_mut().filter(|job| job.host == Host::Unknown) {
            if job.content.owners.first() == Some(owner) {
                job.host = host;
            }
        }
    }

    /// Adds a job that there is not, and that is to be created at the non-RT RIC.
    fn add(&mut self, job_id: String, host: Host, content: JobContent) {
        let job = Job {
            content,
            host,
            work: None,
            former: None,
            status: None,
            answers: Vec::new(),
            promised: BTreeSet::new(),
            results: 0,
            lost_results: 0,
            fault: None,
        };
        self.jobs.insert(job_id.clone(), job);
        self.want(&job_id, Work::Put);
    }

    /// An xApp does not want a job any more. The last one that leaves ends it.
    ///
    /// # Errors
    /// If it does not have it.
    pub fn delete(&mut self, owner: &JobOwner, job_id: &str) -> Result<(), JobError> {
        let job = self.get_mut(job_id).filter(|job| job.content.owners.contains(owner));
        let Some(job) = job else {
            let shown: String = job_id.chars().take(MAX_ID_OCTETS).collect();
            return Err(JobError::new(404, format!("the xApp has no job `{shown}`")));
        };
        job.content.owners.retain(|other| other != owner);
        job.promised.remove(owner);
        if job.content.owners.is_empty() {
            job.answers.clear();
            job.former = None;
            self.want(job_id, Work::Delete);
        }
        Ok(())
    }

    /// Notes the owners that are not there.
    pub fn note_absent(&mut self, now: Instant, is_there: impl Fn(&JobOwner) -> bool) {
        let owners: BTreeSet<JobOwner> = self.iter().flat_map(|(_, job)| job.content.owners.iter().cloned()).collect();
        for owner in owners.into_iter().filter(|owner| !is_there(owner)) {
            self.absent.entry(owner).or_insert(now);
        }
    }

    /// An owner that has not been there for too long.
    pub fn next_gone(&mut self, now: Instant) -> Option<JobOwner> {
        let is_gone = |since: &Instant| now.saturating_duration_since(*since) >= JOBS_OUTLIVE_XAPP;
        let owner = self.absent.iter().find(|(_, since)| is_gone(since)).map(|(owner, _)| owner.clone())?;
        self.absent.remove(&owner);
        Some(owner)
    }

    /// The time until an owner that is not there is gone.
    pub fn next_departure(&self, now: Instant) -> Option<Duration> {
        let earliest = self.absent.values().min()?;
        Some((*earliest + JOBS_OUTLIVE_XAPP).saturating_duration_since(now))
    }

    /// The jobs of an xApp.
    pub fn of_owner(&self, owner: &JobOwner) -> Vec<String> {
        self.iter().filter(|(_, job)| job.content.owners.contains(owner)).map(|(id, _)| id.clone()).collect()
    }

    /// Has all jobs looked at that the non-RT RIC should have.
    pub fn verify_all(&mut self) {
        let ids: Vec<_> = self.jobs.iter().filter(|(_, job)| job.work.is_none()).map(|(id, _)| id.clone()).collect();
        ids.iter().for_each(|id| self.want(id, Work::Verify));
    }

    /// The next task, if the non-RT RIC may be asked now.
    pub fn next_task(&mut self, now: Instant) -> Option<Task> {
        if self.outage.is_some_and(|(until, _)| now < until) {
            return None;
        }
        if let Some((_, answer)) = self.queries.pop_front() {
            return Some(Task::Types(answer));
        }
        let job_id = self.queue.front()?;
        let job = self.jobs.get(job_id)?;
        Some(match job.work? {
            Work::Put => {
                let JobContent { ei_type_id, job_owner, definition, .. } = job.content.clone();
                Task::Put { job_id: job_id.clone(), ei_type_id, job_owner, definition }
            }
            Work::Verify => Task::Verify(job_id.clone()),
            Work::Delete => Task::Delete(job_id.clone()),
        })
    }

    /// Notes that the non-RT RIC has answered. Returns whether it did not before.
    pub fn answered(&mut self) -> bool {
        self.outage.take().is_some()
    }

    /// Notes that the non-RT RIC has not answered. Returns the pause if it did before.
    pub fn unanswered(&mut self, now: Instant, named: Option<Duration>) -> Option<Duration> {
        let pause = self.outage.map_or(FIRST_PAUSE, |(_, pause)| (2 * pause).min(LONGEST_PAUSE));
        let wait = pause.max(named.unwrap_or_default().min(LONGEST_PAUSE));
        let is_new = self.outage.replace((now + wait, pause)).is_none();
        let error = JobError { is_retried: false, ..Jobs::unavailable() };
        for (_, answer) in self.queries.drain(..) {
            answer(EiMessageKind::Types, messages::refusal(None, &error));
        }
        for (job_id, job) in &mut self.jobs {
            for (owner, answer) in job.answers.drain(..) {
                job.promised.insert(owner);
                answer(EiMessageKind::Job, messages::refusal(Some(job_id), &Jobs::unavailable()));
            }
        }
        is_new.then_some(wait)
    }

    /// Applies the outcome of the task at the front of the queue. `sent` is what was sent for [`Task::Put`]: the job may have
    /// changed meanwhile. Returns whether what is stored has changed, and what owners are to be told.
    pub fn finish(&mut self, job_id: &str, did: Work, sent: Option<&Value>, outcome: Outcome) -> (bool, Vec<Notice>) {
        let mut notices = Vec::new();
        self.queue.retain(|id| id != job_id);
        let Some(job) = self.jobs.get_mut(job_id) else { return (false, notices) };
        let is_current = job.work == Some(did) && sent.is_none_or(|sent| *sent == job.content.definition);
        let mut is_changed = false;
        match outcome {
            Outcome::Unavailable(why, _) => job.fault = Some(why),
            _ if !is_current => {}
            Outcome::Done if did == Work::Delete => {
                self.jobs.remove(job_id);
                return (false, notices);
            }
            Outcome::Missing if did == Work::Delete => {
                self.jobs.remove(job_id);
                return (false, notices);
            }
            Outcome::Done => {
                (job.work, job.former, job.fault) = (None, None, None);
                for (_, answer) in job.answers.drain(..) {
                    answer(EiMessageKind::Job, messages::established(job_id));
                }
                for to in std::mem::take(&mut job.promised) {
                    let (kind, document) = (EiMessageKind::Job, messages::established(job_id));
                    notices.push(Notice { to, kind, job_id: job_id.to_owned(), document });
                }
            }
            Outcome::Status(status) => {
                job.work = None;
                if let Some(status) = status {
                    notices = job.set_status(job_id, status);
                }
            }
            Outcome::Missing => job.work = Some(Work::Put),
            // a deletion that is refused ends the job here, with a line in the log
            Outcome::Refused(_) if did == Work::Delete => {
                self.jobs.remove(job_id);
                return (false, notices);
            }
            Outcome::Refused(error) if did == Work::Verify => (job.work, job.fault) = (None, Some(error.detail)),
            Outcome::Refused(error) => {
                is_changed = true;
                let document = messages::refusal(Some(job_id), &error);
                let mut unanswered: BTreeSet<_> = job.content.owners.iter().cloned().collect();
                for (owner, answer) in job.answers.drain(..) {
                    unanswered.remove(&owner);
                    answer(EiMessageKind::Job, document.clone());
                }
                let notice =
                    |to| Notice { to, kind: EiMessageKind::Job, job_id: job_id.to_owned(), document: document.clone() };
                match job.former.take() {
                    // the update failed, the job stays as it was
                    Some(former) => {
                        (job.content.definition, job.work) = (former, None);
                        notices.extend(std::mem::take(&mut job.promised).into_iter().map(notice));
                    }
                    None => {
                        notices.extend(unanswered.into_iter().map(notice));
                        self.jobs.remove(job_id);
                        return (true, notices);
                    }
                }
            }
        }
        if job.work.is_some() {
            self.queue.push_back(job_id.to_owned());
        }
        (is_changed, notices)
    }
}

impl Job {
    /// Notes a status. Returns what owners are to be told.
    pub fn set_status(&mut self, job_id: &str, status: JobStatus) -> Vec<Notice> {
        if self.status.replace(status) == Some(status) {
            return Vec::new();
        }
        let document = messages::status(job_id, status.text());
        let notice = |to: &JobOwner| Notice {
            to: to.clone(),
            kind: EiMessageKind::Job,
            job_id: job_id.to_owned(),
            document: document.clone(),
        };
        self.content.owners.iter().map(notice).collect()
    }
}

#[cfg(test)]
mod tests;
