//! What shares the host with the unit: the scenarios of the paper's section 3.3.

use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{JoinHandle, sleep};
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use netns::{End, Namespace, Veth, create_namespaces};
use rustix::process::{Pid, Signal, kill_process_group};
use rustix::thread::{CpuSet, sched_setaffinity};

/// Workers of `stress-ng`, with the paper's arguments (section 4.1.1): `--mq 0` is one for each CPU.
const STRESS: [&str; 12] =
    ["-d", "1", "--hdd-bytes", "200M", "-m", "1", "--vm-bytes", "1G", "--iomix", "1", "--iomix-bytes", "100M"];
const STRESS_PER_CPU: [&str; 2] = ["--mq", "0"];
/// Octets of UDP in a frame of 100 octets: without Ethernet, IPv4 and UDP.
const FLOOD_OCTETS: usize = 58;
/// Frames in each ms: about a tenth of what a link of 1 Gbit/s carries.
const FLOOD_PER_MS: u32 = 100;
/// The device of the flood on the host. Patterns of the policies find it by its name.
const FLOOD_DEVICE: &str = "vbbu-flood";
const FLOOD_ADDRESSES: [Ipv4Addr; 2] = [Ipv4Addr::new(10, 48, 0, 1), Ipv4Addr::new(10, 48, 0, 2)];

/// A scenario of the paper.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scenario {
    /// The unit alone.
    Idle,
    /// Processes on the same CPUs.
    User,
    /// A flood of small packets that the kernel receives.
    Kernel,
}

impl Scenario {
    pub fn name(self) -> &'static str {
        match self {
            Scenario::Idle => "Idle",
            Scenario::User => "User",
            Scenario::Kernel => "Kernel",
        }
    }

    /// Starts what it consists of.
    pub fn start(self) -> anyhow::Result<Load> {
        Ok(match self {
            Scenario::Idle => Load::None,
            Scenario::User => Load::Stress(Stress::start()?),
            Scenario::Kernel => Load::Flood(Flood::start()?),
        })
    }
}

/// The load of a scenario, which ends when this is dropped.
pub enum Load {
    None,
    Stress(Stress),
    Flood(Flood),
}

impl Load {
    /// The packets that the receiver of a flood has received until now.
    pub fn packets(&self) -> Option<u64> {
        match self {
            Load::Flood(flood) => Some(flood.received.load(Ordering::Relaxed)),
            _ => None,
        }
    }

    /// The process group of its own processes.
    pub fn group(&self) -> Option<u32> {
        match self {
            Load::Stress(stress) => Some(stress.child.id()),
            _ => None,
        }
    }
}

/// Where `stress-ng` is.
pub fn stress_program() -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join("stress-ng")).find(|program| program.is_file())
}

/// The reason why User cannot be measured.
pub const WITHOUT_STRESS: &str =
    "NOT TESTED: `stress-ng` is not installed; scripts/stress-ng installs Debian's package";

/// `stress-ng` in a folder of its own.
pub struct Stress {
    child: Child,
    folder: PathBuf,
}

impl Stress {
    fn start() -> anyhow::Result<Stress> {
        let program = stress_program().context(WITHOUT_STRESS)?;
        let folder = std::env::temp_dir().join(format!("ferric-stress-{}", std::process::id()));
        std::fs::create_dir_all(&folder).with_context(|| format!("cannot create {}", folder.display()))?;
        let spawned = Command::new(program)
            .args(STRESS)
            .args(STRESS_PER_CPU)
            .args(["--temp-path", path_text(&folder)?, "--timeout", "600s", "--quiet"])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn();
        match spawned {
            Ok(child) => Ok(Stress { child, folder }),
            Err(error) => {
                let _ = std::fs::remove_dir_all(&folder);
                Err(error).context("cannot run stress-ng")
            }
        }
    }
}

fn path_text(path: &Path) -> anyhow::Result<&str> {
    path.to_str().context("the name of the temporary folder is not UTF-8")
}

/// Ends a process with all that it has started.
pub fn end_group(child: &mut Child) {
    if let Some(pid) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
        // an ordinary end first: stress-ng removes its files and queues
        for (signal, patience) in [(Signal::TERM, Duration::from_secs(5)), (Signal::KILL, Duration::from_secs(5))] {
            let _ = kill_process_group(pid, signal);
            let begun = Instant::now();
            while begun.elapsed() < patience {
                if !matches!(child.try_wait(), Ok(None)) {
                    return;
                }
                sleep(Duration::from_millis(10));
            }
        }
    }
    let _ = child.wait();
}

impl Drop for Stress {
    fn drop(&mut self) {
        end_group(&mut self.child);
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// A flood of small UDP packets from a namespace to a receiver on the host.
pub struct Flood {
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
    /// Packets that were received.
    received: Arc<AtomicU64>,
    /// Devices before namespaces.
    _device: Veth,
    _namespace: Vec<Namespace>,
}

impl Flood {
    /// The namespace of a receiver that is not on the host, and its device.
    pub const SINK: &str = "vbbu-sink";
    pub const SINK_DEVICE: &str = FLOOD_DEVICE;

    fn start() -> anyhow::Result<Flood> {
        Flood::between(create_namespaces(&[FLOOD_DEVICE.to_owned()])?, None)
    }

    /// A flood whose receiver is in a namespace as well, on these CPUs.
    pub fn start_to_namespace(cpus: Option<Vec<usize>>) -> anyhow::Result<Flood> {
        Flood::between(create_namespaces(&[FLOOD_DEVICE.to_owned(), Flood::SINK.to_owned()])?, cpus)
    }

    /// The first namespace has the sender, the second one, if there is one, the receiver.
    fn between(namespaces: Vec<Namespace>, cpus: Option<Vec<usize>>) -> anyhow::Result<Flood> {
        let namespace = namespaces.first().context("a namespace was created")?;
        let sink = namespaces.get(1);
        let [host, there] = FLOOD_ADDRESSES;
        let ends = [End { device: FLOOD_DEVICE, address: host }, End { device: "flood", address: there }];
        let device = Veth::connect(sink, namespace, ends, 30)?;
        let bind = || UdpSocket::bind((host, 0));
        let receiver = match sink {
            Some(sink) => sink.enter(bind)?,
            None => bind(),
        };
        let receiver = receiver.context("cannot open the receiver of the flood")?;
        receiver.set_read_timeout(Some(Duration::from_millis(100)))?;
        let to = receiver.local_addr()?;
        let sender = namespace.enter(|| UdpSocket::bind((there, 0)))?.context("cannot open the sender of the flood")?;
        let (stop, received) = (Arc::<AtomicBool>::default(), Arc::<AtomicU64>::default());
        let mut flood = Flood { stop, threads: Vec::new(), received, _device: device, _namespace: namespaces };
        let (stop, received) = (Arc::clone(&flood.stop), Arc::clone(&flood.received));
        flood.spawn("flood-receiver", move || {
            if let Some(cpus) = cpus {
                let mut set = CpuSet::new();
                cpus.into_iter().for_each(|cpu| set.set(cpu));
                if let Err(error) = sched_setaffinity(None, &set) {
                    eprintln!("ferric paper: the sink cannot be given its CPUs: {error}");
                }
            }
            receive(&receiver, &stop, &received);
        })?;
        let stop = Arc::clone(&flood.stop);
        flood.spawn("flood-sender", move || send(&sender, to, &stop))?;
        Ok(flood)
    }

    fn spawn(&mut self, name: &str, run: impl FnOnce() + Send + 'static) -> anyhow::Result<()> {
        let thread = std::thread::Builder::new().name(name.to_owned()).spawn(run);
        self.threads.push(thread.context("cannot start a thread of the flood")?);
        Ok(())
    }
}

/// Receives, and writes what was received, as Netcat does.
fn receive(socket: &UdpSocket, stop: &AtomicBool, received: &AtomicU64) {
    use std::io::Write;
    let mut sink = std::fs::OpenOptions::new().write(true).open("/dev/null").ok();
    let mut buffer = [0; 2 * FLOOD_OCTETS];
    while !stop.load(Ordering::Acquire) {
        if let Ok(length) = socket.recv(&mut buffer) {
            received.fetch_add(1, Ordering::Relaxed);
            if let Some(sink) = &mut sink {
                // the count of packets is what matters
                let _ = sink.write_all(&buffer[..length]);
            }
        }
    }
}

fn send(socket: &UdpSocket, to: SocketAddr, stop: &AtomicBool) {
    let octets = [0x55; FLOOD_OCTETS];
    let mut next = Instant::now();
    while !stop.load(Ordering::Acquire) {
        for _ in 0..FLOOD_PER_MS {
            // a full queue loses packets, as that of a network device does
            let _ = socket.send_to(&octets, to);
        }
        next += Duration::from_millis(1);
        match next.checked_duration_since(Instant::now()) {
            Some(rest) => sleep(rest),
            // the sender was not run: what is late is left out
            None => next = Instant::now(),
        }
    }
}

impl Drop for Flood {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Release);
        for thread in self.threads.drain(..) {
            if thread.join().is_err() {
                eprintln!("ferric paper: a thread of the flood has panicked");
            }
        }
    }
}

/// Checks that scenarios can be measured here.
pub fn check_rights() -> anyhow::Result<()> {
    ensure!(
        netns::check_host().is_ok(),
        "the experiments of paper 004 need root: namespaces, BPF and real-time priorities"
    );
    Ok(())
}
