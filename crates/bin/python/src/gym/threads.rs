//! Threads that step environments: each works on a part of them at a time.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle};

use ferric::xapp::Error;

use super::environment::Environment;

/// What the next call does with an environment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// A step with its action.
    Step,
    /// A new episode with a seed.
    Reset(u64),
}

/// An environment with the input and the result of its next call.
pub struct Place {
    pub environment: Environment,
    pub turn: Turn,
    pub action: Vec<f64>,
    pub observation: Vec<f32>,
    pub reward: f64,
    pub is_truncated: bool,
}

impl Place {
    pub fn new(environment: Environment) -> Self {
        let values = environment.quantities().len();
        Place {
            environment,
            turn: Turn::Step,
            action: Vec::new(),
            observation: vec![0.0; values],
            reward: 0.0,
            is_truncated: false,
        }
    }

    fn run(&mut self) -> Result<(), Error> {
        (self.reward, self.is_truncated) = match self.turn {
            Turn::Reset(seed) => self.environment.reset(seed, &mut self.observation).map(|()| (0.0, false)),
            Turn::Step => self.environment.step(&self.action, &mut self.observation),
        }?;
        Ok(())
    }
}

/// The places of one thread. They are moved to it and back.
type Part = Vec<Place>;

struct Worker {
    sender: Option<Sender<Part>>,
    receiver: Receiver<(Part, Result<(), Error>)>,
    thread: Option<JoinHandle<()>>,
}

impl Worker {
    fn start(number: usize) -> std::io::Result<Self> {
        let (sender, parts) = channel::<Part>();
        let (done, receiver) = channel();
        let run = move || {
            for part in parts {
                if done.send(run(part)).is_err() {
                    return;
                }
            }
        };
        let thread = thread::Builder::new().name(format!("ferric-gym-{number}")).spawn(run)?;
        Ok(Worker { sender: Some(sender), receiver, thread: Some(thread) })
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        // the thread ends with its sender
        self.sender = None;
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

/// Runs the environments of a part. All of them run, also after a failure; the first one is returned.
fn run(mut part: Part) -> (Part, Result<(), Error>) {
    let result = part.iter_mut().map(Place::run).fold(Ok(()), Result::and);
    (part, result)
}

/// Environments that are stepped together.
pub struct Fleet {
    parts: Vec<Part>,
    /// One fewer than parts: the caller's thread runs the first one.
    workers: Vec<Worker>,
}

impl Fleet {
    /// Distributes environments over `threads` threads, of which the caller's is one.
    ///
    /// # Errors
    /// The system has no more threads.
    pub fn new(environments: Vec<Environment>, threads: usize) -> std::io::Result<Self> {
        let each = environments.len().div_ceil(threads).max(1);
        let mut parts: Vec<Part> = Vec::new();
        for environment in environments {
            match parts.last_mut().filter(|part| part.len() < each) {
                Some(part) => part.push(Place::new(environment)),
                None => parts.push(vec![Place::new(environment)]),
            }
        }
        let workers = (1..parts.len()).map(Worker::start).collect::<std::io::Result<_>>()?;
        Ok(Fleet { parts, workers })
    }

    /// The places, in the order of the environments.
    pub fn places(&self) -> impl Iterator<Item = &Place> {
        self.parts.iter().flatten()
    }

    /// The same, to prepare a run.
    pub fn places_mut(&mut self) -> impl Iterator<Item = &mut Place> {
        self.parts.iter_mut().flatten()
    }

    /// Runs the turn of each environment.
    ///
    /// # Errors
    /// The first failure. The other environments have had their turn.
    ///
    /// # Panics
    /// If a thread has panicked, which is a defect.
    pub fn run(&mut self) -> Result<(), Error> {
        let mut parts = std::mem::take(&mut self.parts).into_iter();
        let first = parts.next();
        for (worker, part) in self.workers.iter().zip(parts) {
            let sent = worker.sender.as_ref().and_then(|sender| sender.send(part).ok());
            assert!(sent.is_some(), "a thread of the environments has panicked");
        }
        let (first, mut result) = first.map_or((Part::new(), Ok(())), run);
        self.parts.push(first);
        for worker in &self.workers {
            let (part, of_part) = worker.receiver.recv().expect("a thread of the environments has panicked");
            self.parts.push(part);
            result = result.and(of_part);
        }
        result
    }
}
