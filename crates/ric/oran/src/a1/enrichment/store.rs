//! EI jobs in the shared data layer, so that they survive a restart of the RIC: key `a1.ei_job.RIC.ID` of the namespace `A1m_ns`.

use sdl::{Change, Entries, Handle};
use tracing::warn;

use super::MAX_JOBS;
use super::jobs::{JobContent, Jobs, is_id};

const NAMESPACE: &str = "A1m_ns";

pub(super) struct Store {
    handle: Handle,
    /// What precedes the id of a job.
    prefix: String,
}

impl Store {
    pub fn new(handle: Handle, ric: &str) -> Self {
        Store { handle, prefix: format!("{{{NAMESPACE}}},a1.ei_job.{ric}.") }
    }

    fn key(&self, job_id: &str) -> Vec<u8> {
        format!("{}{job_id}", self.prefix).into_bytes()
    }

    /// Stores a job, or removes it.
    pub fn apply(&self, job_id: &str, content: Option<&JobContent>) {
        let key = self.key(job_id);
        let change = match content {
            // texts and a JSON value are written in any case
            Some(content) => Change::Set { key, octets: serde_json::to_vec(content).unwrap_or_default() },
            None => Change::Remove { key },
        };
        if !self.handle.apply(vec![change]) {
            warn!(
                "A1-EI: the change of job `{job_id}` is not stored, and lost with a restart of the RIC: {}",
                sdl::NO_ROOM
            );
        }
    }

    /// Whether reading may wait for a store that is elsewhere.
    pub fn is_remote(&self) -> bool {
        self.handle.is_remote()
    }

    /// Reads what an earlier run has left. It waits for a store that is elsewhere.
    pub fn read(&self) -> Entries {
        self.handle.read(NAMESPACE.as_bytes())
    }

    /// Takes what an earlier run has left, beside the jobs that there are.
    pub fn restore(&self, entries: Entries, jobs: &mut Jobs) {
        for (key, octets) in entries {
            let Some(job_id) = key.strip_prefix(self.prefix.as_bytes()) else { continue };
            let job_id = String::from_utf8_lossy(job_id).into_owned();
            let content: Option<JobContent> = serde_json::from_slice(&octets).ok();
            match content.filter(|of| is_id(&job_id) && is_id(&of.ei_type_id)) {
                Some(content) => {
                    if !jobs.restore(job_id, content) {
                        return warn!(
                            "A1-EI: further jobs in the shared data layer are ignored: {MAX_JOBS} are restored, as many as may be"
                        );
                    }
                }
                None => warn!(
                    "A1-EI: the job {job_id:?} in the shared data layer is ignored: it is no valid document of a job; let its xApp \
                     create it again"
                ),
            }
        }
    }
}
