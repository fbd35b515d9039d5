//! The supervisor: a loop that starts, measures and ends processes, and answers the requests about them.

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use rest::{Problem, RequestReceiver, Response, Route, StatusCode, request_queue};
use tracing::{info, warn};

use super::api::{self, InstanceList};
use super::control_group::{ControlGroup, ControlGroups};
use super::definition::Definition;
use super::instance::{Instance, State};
use super::process::{Answer, Event, PATIENCE, Process};
use super::store::Store;
use crate::dimensioning::{Decision, Dimensioner};

/// How often instances are measured.
const INTERVAL: Duration = Duration::from_millis(200);
/// A process that has ended by itself is noticed by the end of its output; one that was killed and leaves its output open, by this.
const TICK: Duration = Duration::from_millis(50);
/// Events that wait for the loop; beyond it processes wait.
const MAX_EVENTS: usize = 256;

/// What the supervisor is to do.
#[derive(Clone, Debug)]
pub struct InstancesConfig {
    /// The program of an instance.
    pub program: PathBuf,
    /// Further arguments of each process; `{name}` in them is the name of the instance.
    pub options: Vec<String>,
    /// The URL of the RIC of instances whose definition names none.
    pub ric: String,
    /// Where definitions are kept; `None`: they end with the supervisor.
    pub file: Option<PathBuf>,
    /// The processors that all instances may use together.
    pub budget: f64,
    /// Instances at most.
    pub max_instances: usize,
    /// The folder of a delegated control group (cgroup v2); `None`: processes keep their quota themselves.
    pub control_group: Option<PathBuf>,
    /// Whether definitions may have synthetic events.
    pub allows_load: bool,
}

/// Why there is no supervisor.
#[derive(Debug)]
#[non_exhaustive]
pub enum InstancesError {
    /// The file of definitions cannot be used.
    File(io::Error),
    /// A definition of the file cannot be used: its name, and why.
    Definition(String, String),
    /// The control group cannot be used.
    ControlGroup(io::Error),
}

impl fmt::Display for InstancesError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            InstancesError::File(error) => write!(f, "cannot use the file of instances: {error}"),
            InstancesError::Definition(name, why) => write!(f, "cannot use instance `{name}` of the file: {why}"),
            InstancesError::ControlGroup(error) => write!(f, "cannot use the control group: {error}"),
        }
    }
}

impl std::error::Error for InstancesError {}

/// A request, for the loop.
pub type Job = Box<dyn FnOnce(&mut Supervisor) -> Result<Response, Problem> + Send>;

/// The instances of a host. They end when it is dropped.
pub struct Supervisor {
    config: InstancesConfig,
    instances: BTreeMap<Arc<str>, Instance>,
    /// Processes of instances that were deleted, with their groups, which cannot be removed before.
    leaving: Vec<(Process, Option<ControlGroup>)>,
    dimensioner: Dimensioner,
    store: Option<Store>,
    groups: Option<ControlGroups>,
    requests: RequestReceiver<Job>,
    events: Receiver<Event>,
    sender: SyncSender<Event>,
    begun: Instant,
    last_number: u64,
}

impl fmt::Debug for Supervisor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Supervisor").field("instances", &self.instances).finish_non_exhaustive()
    }
}

impl Supervisor {
    /// Reads the definitions, and returns the routes of the REST interface. Nothing runs before [`Supervisor::run`].
    ///
    /// # Errors
    /// If the file, one of its definitions or the control group cannot be used.
    pub fn new(config: InstancesConfig) -> Result<(Self, Vec<Route>), InstancesError> {
        let groups = config.control_group.as_deref().map(ControlGroups::open).transpose();
        let groups = groups.map_err(InstancesError::ControlGroup)?;
        let opened = config.file.as_deref().map(Store::open).transpose().map_err(InstancesError::File)?;
        let (store, definitions) = opened.map_or((None, Vec::new()), |(store, known)| (Some(store), known));
        let (sender, events) = sync_channel(MAX_EVENTS);
        let wake = sender.clone();
        let (queue, requests) = request_queue::<Job>(move || {
            // if there is no room, the loop has events to wake up for
            let _ = wake.try_send(Event::Wake);
        });
        let routes = api::routes(&queue.with_shared_reads(TICK, 100));
        let mut supervisor = Supervisor {
            dimensioner: Dimensioner::new(config.budget),
            config,
            instances: BTreeMap::new(),
            leaving: Vec::new(),
            store,
            groups,
            requests,
            events,
            sender,
            begun: Instant::now(),
            last_number: 0,
        };
        for definition in definitions {
            let name = definition.name.clone();
            let refused = |problem: Problem| InstancesError::Definition(name.clone(), problem.detail().to_owned());
            supervisor.insert(definition).map_err(refused)?;
        }
        Ok((supervisor, routes))
    }

    /// Runs the instances until `stop` is set, and ends them.
    pub fn run(mut self, stop: &AtomicBool) {
        let (mut next_measurement, mut next_tick) = (Instant::now(), Instant::now());
        while !stop.load(Ordering::Acquire) {
            let now = Instant::now();
            if now >= next_tick {
                next_tick = now + TICK;
                self.tick();
            }
            if now >= next_measurement {
                next_measurement = now + INTERVAL;
                self.ask_all();
            }
            let wake = next_measurement.min(next_tick);
            match self.events.recv_timeout(wake.saturating_duration_since(Instant::now())) {
                Ok(Event::Line(number, line)) => self.note_line(number, &line),
                Ok(Event::Wake | Event::Closed(_)) => {}
                // this holds a sender: the end of the time is the only error
                Err(_) => continue,
            }
            while let Some((job, reply)) = self.requests.try_next() {
                if !reply.is_closed() {
                    reply.send(job(&mut self));
                }
            }
        }
        self.end();
    }

    /// Ends all processes, in an orderly way as far as they allow.
    fn end(&mut self) {
        let processes = self.instances.values_mut().filter_map(|it| Some((it.process.take()?, it.group.take())));
        let mut leaving: Vec<_> = self.leaving.drain(..).chain(processes).collect();
        leaving.iter_mut().for_each(|(process, _)| process.end());
        while !leaving.is_empty() {
            // their outputs end while nobody takes their lines: a full channel must not stop them
            while self.events.try_recv().is_ok() {}
            leaving.retain_mut(|(process, _)| process.ended().is_none());
            thread::sleep(Duration::from_millis(5));
        }
    }

    /// Notices ends and faults, and starts what is to run.
    fn tick(&mut self) {
        self.leaving.retain_mut(|(process, _)| process.ended().is_none());
        let now = Instant::now();
        for instance in self.instances.values_mut() {
            let share = self.dimensioner.share(&instance.name).unwrap_or_default();
            let name = Arc::clone(&instance.name);
            if let Some(fault) = instance.kill_if_faulty(share, PATIENCE) {
                warn!(instance = %name, "an instance {fault}: it is ended, and started again");
            }
            if let Some(process) = &mut instance.process
                && let Some(status) = process.ended()
            {
                let was_asked = process.is_ending();
                instance.note_end(status.to_string());
                if !was_asked {
                    let in_ms = instance.next_start.saturating_duration_since(now).as_millis();
                    let how = instance.state(share).last_end.unwrap_or_default();
                    warn!(instance = %name, "an instance has ended ({how}): it is started again in {in_ms} ms");
                }
            }
            if instance.process.is_none() && now >= instance.next_start {
                self.last_number += 1;
                let mut arguments = instance.definition.arguments(&self.config.ric);
                arguments.extend(self.config.options.iter().map(|option| option.replace("{name}", &name)));
                match Process::start(self.last_number, &name, &self.config.program, &arguments, &self.sender) {
                    Ok(process) => {
                        info!(instance = %name, process = process.id(), "an instance is started");
                        instance.process = Some(process);
                    }
                    Err(error) => {
                        instance.next_start = now + PATIENCE;
                        let (program, after_s) = (self.config.program.display(), PATIENCE.as_secs());
                        warn!(instance = %name, %program, %error, after_s, "cannot start the process of an instance; trying again");
                    }
                }
            }
        }
    }

    fn ask_all(&mut self) {
        for instance in self.instances.values_mut() {
            if let Some(process) = instance.process.as_mut().filter(|process| process.url.is_some()) {
                process.measure();
            }
        }
    }

    /// Takes a line of a process.
    fn note_line(&mut self, number: u64, line: &str) {
        let is_of = |instance: &&mut Instance| instance.process.as_ref().is_some_and(|it| it.number == number);
        let Some(instance) = self.instances.values_mut().find(is_of) else { return };
        let Some(process) = &mut instance.process else { return };
        if process.url.is_none() {
            if let Some(url) = line.strip_prefix("rnis=") {
                process.url = Some(url.to_owned());
                self.begin(number);
            }
            return;
        }
        // other lines, such as `flexran=…`, are of no concern here
        let Ok(answer) = serde_json::from_str::<Answer>(line) else { return };
        process.note_answer();
        if let Some(measured) = instance.measure(answer) {
            let name = Arc::clone(&instance.name);
            let decisions = self.dimensioner.step(self.begun.elapsed(), &[(name, measured)]);
            self.apply(&decisions);
        }
    }

    /// A process serves: it gets its share and, for measurements, its load.
    fn begin(&mut self, number: u64) {
        let is_of = |instance: &&mut Instance| instance.process.as_ref().is_some_and(|it| it.number == number);
        let Some(instance) = self.instances.values_mut().find(is_of) else { return };
        let Some(process) = &mut instance.process else { return };
        if instance.definition.load_per_s.is_some() {
            process.write("start");
        }
        if let Some(groups) = &self.groups {
            match groups.add(&instance.name, process.id()) {
                Ok(group) => instance.group = Some(group),
                Err(error) => {
                    warn!(instance = %instance.name, "the process keeps its quota itself: no control group: {error}");
                }
            }
        }
        info!(instance = %instance.name, url = process.url, "an instance serves");
        instance.enforce(self.dimensioner.share(&instance.name).unwrap_or_default());
    }

    fn apply(&mut self, decisions: &[Decision]) {
        for decision in decisions {
            let Some(instance) = self.instances.get_mut(&decision.name) else { continue };
            instance.note_decision(decision);
            let Decision { name, old_share, new_share, needed, reason, .. } = decision;
            info!(
                instance = %name, ?reason,
                "share {old_share:.3} -> {new_share:.3} processors, {needed:.3} needed"
            );
            if (new_share - old_share).abs() > 0.0 {
                instance.enforce(*new_share);
            }
        }
    }

    /// Decides after a change of definitions.
    fn decide(&mut self) {
        let decisions = self.dimensioner.step(self.begun.elapsed(), &[]);
        self.apply(&decisions);
    }

    fn get(&self, name: &str) -> Result<&Instance, Problem> {
        self.instances.get(name).ok_or_else(|| Problem::not_found(format!("there is no instance `{name}`")))
    }

    /// The instances, with their states.
    pub fn list(&self) -> InstanceList {
        let state = |instance: &Instance| self.state_of(instance);
        InstanceList {
            budget: self.dimensioner.budget(),
            allocated: self.dimensioner.allocated(),
            instances: self.instances.values().map(state).collect(),
        }
    }

    fn state_of(&self, instance: &Instance) -> State {
        instance.state(self.dimensioner.share(&instance.name).unwrap_or_default())
    }

    /// The state of an instance.
    pub fn state(&self, name: &str) -> Result<State, Problem> {
        Ok(self.state_of(self.get(name)?))
    }

    /// An instance.
    pub fn instance(&self, name: &str) -> Result<&Instance, Problem> {
        self.get(name)
    }

    /// Creates an instance, which starts within a moment.
    pub fn create(&mut self, definition: Definition) -> Result<Definition, Problem> {
        let created = self.insert(definition)?;
        self.save()?;
        Ok(created)
    }

    fn insert(&mut self, mut definition: Definition) -> Result<Definition, Problem> {
        definition.check()?;
        let Definition { name, .. } = &definition;
        if self.instances.contains_key(&**name) {
            return Err(Problem::conflict(format!("name: there is an instance `{name}` already")).with("at", "name"));
        }
        if self.instances.len() >= self.config.max_instances {
            let most = self.config.max_instances;
            let why = format!("there are {most} instances, which is the limit; delete some");
            return Err(Problem::new(StatusCode::FORBIDDEN, why));
        }
        self.check_place(&definition)?;
        definition.rest = Some(definition.rest.map_or_else(free_address, Ok)?);
        self.define(&definition)?;
        let instance = Instance::new(definition.clone());
        self.instances.insert(Arc::clone(&instance.name), instance);
        self.decide();
        Ok(definition)
    }

    /// Replaces the definition of an instance. Its process is replaced too, if it must be.
    pub fn replace(&mut self, mut definition: Definition) -> Result<Definition, Problem> {
        definition.check()?;
        let old = self.get(&definition.name)?.definition.clone();
        definition.rest = definition.rest.or(old.rest);
        self.check_place(&definition)?;
        self.define(&definition)?;
        let Some(instance) = self.instances.get_mut(&*definition.name) else { return Ok(definition) };
        instance.definition = definition.clone();
        if let Some(process) = &mut instance.process {
            match definition.load_per_s {
                _ if !old.is_changed_in_place(&definition) => process.end(),
                Some(rate) if old.load_per_s != Some(rate) => process.write(&format!("rate {rate}")),
                _ => {}
            }
        }
        self.decide();
        self.save()?;
        Ok(definition)
    }

    /// Ends an instance.
    pub fn delete(&mut self, name: &str) -> Result<(), Problem> {
        self.get(name)?;
        let Some(mut instance) = self.instances.remove(name) else { return Ok(()) };
        if let Some(mut process) = instance.process.take() {
            process.end();
            self.leaving.push((process, instance.group.take()));
        }
        self.dimensioner.remove(name);
        self.decide();
        info!(instance = name, "an instance was deleted");
        self.save()
    }

    /// Checks what depends on the supervisor and the other instances.
    fn check_place(&self, definition: &Definition) -> Result<(), Problem> {
        if definition.load_per_s.is_some() && !self.config.allows_load {
            let why = "loadPerS: synthetic events are for measurements, and the supervisor does not allow them";
            return Err(Problem::new(StatusCode::FORBIDDEN, why).with("at", "loadPerS"));
        }
        let others = self.instances.values().filter(|instance| *instance.name != *definition.name);
        let is_same = |other: &&Instance| definition.rest.is_some() && other.definition.rest == definition.rest;
        if let (Some(rest), Some(other)) = (definition.rest, others.into_iter().find(is_same)) {
            let why = format!("rest: instance `{}` serves at {rest}", other.name);
            return Err(Problem::conflict(why).with("at", "rest"));
        }
        Ok(())
    }

    fn define(&mut self, definition: &Definition) -> Result<(), Problem> {
        let defined = self.dimensioner.define(&definition.name.as_str().into(), definition.bounds());
        defined.map_err(|error| Problem::conflict(format!("minShare: {error}")).with("at", "minShare"))
    }

    fn save(&self) -> Result<(), Problem> {
        let Some(store) = &self.store else { return Ok(()) };
        let definitions = self.instances.values().map(|instance| instance.definition.clone()).collect();
        store.save(definitions).map_err(|error| {
            warn!(%error, "cannot store the instances; their changes are lost when the supervisor ends; check the free space and the permissions of the folder");
            let why = format!("the change is in effect, but lost when the supervisor ends: cannot store it: {error}");
            Problem::new(StatusCode::INTERNAL_SERVER_ERROR, why)
        })
    }
}

/// A port that is free now. Another program may take it before the instance does: then the log of the instance says so.
fn free_address() -> Result<SocketAddr, Problem> {
    let found = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
    found.map_err(|error| Problem::unavailable(format!("no port is free: {error}")))
}
