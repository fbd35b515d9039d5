//! Load in a process of its own, so that policies move it as they move any other program.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{JoinHandle, available_parallelism, sleep};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use netns::{End, Namespace, Veth, create_namespaces};
use rustix::thread::{CpuSet, sched_setaffinity};

use super::load::end_group;

/// Octets of UDP in a frame of 100 octets: without Ethernet, IPv4 and UDP.
const FLOOD_OCTETS: usize = 58;
/// Frames in each ms: about a tenth of what a link of 1 Gbit/s carries.
const FLOOD_PER_MS: u32 = 100;
/// The namespace of the sender, and the device of the receiver. Patterns of the policies find it by its name.
const FLOOD: &str = "vbbu-flood";
const FLOOD_ADDRESSES: [Ipv4Addr; 2] = [Ipv4Addr::new(10, 48, 0, 1), Ipv4Addr::new(10, 48, 0, 2)];
/// The namespace of a receiver that is not on the host.
pub const SINK: &str = "vbbu-sink";
/// The receiver's device.
pub const SINK_DEVICE: &str = FLOOD;
/// How often a count is printed.
const COUNT_PERIOD: Duration = Duration::from_millis(20);

/// A background process, which counts its work. It ends when this is dropped, or this process ends.
pub struct Background {
    child: Child,
    input: Option<ChildStdin>,
    count: Arc<AtomicU64>,
    reader: Option<JoinHandle<()>>,
}

impl Background {
    /// Starts this program again, with `background` and these arguments, and waits until it works.
    pub fn start(arguments: &[&str]) -> anyhow::Result<Background> {
        let program = std::env::current_exe().context("cannot find this program, which runs the background load")?;
        let mut child = Command::new(program)
            .arg("background")
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .process_group(0)
            .spawn()
            .context("cannot start the background load")?;
        let (input, output) = (child.stdin.take(), child.stdout.take());
        let mut background = Background { child, input, count: Arc::default(), reader: None };
        let mut lines = BufReader::new(output.context("its output is piped")?).lines();
        if lines.next().is_none() {
            bail!("the background load `{}` has not started", arguments.join(" "));
        }
        let count = Arc::clone(&background.count);
        background.reader = Some(std::thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                count.store(line.parse().unwrap_or(0), Ordering::Relaxed);
            }
        }));
        Ok(background)
    }

    /// The work until now: packets received, or rounds of all loops.
    pub fn count(&self) -> u64 {
        self.count.load(Ordering::Relaxed)
    }

    pub fn group(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        // an ordinary end, in which it removes its devices
        drop(self.input.take());
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_secs(5) && matches!(self.child.try_wait(), Ok(None)) {
            sleep(Duration::from_millis(10));
        }
        end_group(&mut self.child);
        if let Some(reader) = self.reader.take()
            && reader.join().is_err()
        {
            eprintln!("ferric paper: the reader of a background load has panicked");
        }
    }
}

/// The work of a background process: `flood`, `flood-to-namespace [CPUS]` or `spin`. Ends when its input ends.
///
/// # Errors
/// Without the rights for namespaces; another word.
pub fn run(arguments: &[String]) -> anyhow::Result<()> {
    let count = Arc::<AtomicU64>::default();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words[..] {
        ["flood"] => {
            let _flood = Flood::between(create_namespaces(&[FLOOD.to_owned()])?, None, &count)?;
            print_counts(&count);
        }
        ["flood-to-namespace", ref rest @ ..] => {
            let cpus = rest.first().map(|cpus| cpus.parse::<cpu::Cpus>()).transpose().map_err(anyhow::Error::msg)?;
            let names = [FLOOD.to_owned(), SINK.to_owned()];
            let _flood = Flood::between(create_namespaces(&names)?, cpus, &count)?;
            print_counts(&count);
        }
        ["spin"] => {
            // the threads end with the process
            for _ in 0..available_parallelism()?.get() {
                let count = Arc::clone(&count);
                let thread = std::thread::Builder::new().name("best-effort".into());
                thread.spawn(move || spin(&count)).context("cannot start a best-effort task")?;
            }
            print_counts(&count);
        }
        _ => bail!("use flood, flood-to-namespace or spin"),
    }
    Ok(())
}

/// Prints the count until the input ends.
fn print_counts(count: &AtomicU64) {
    let is_over = Arc::<AtomicBool>::default();
    let ended = Arc::clone(&is_over);
    std::thread::spawn(move || {
        // what is read does not matter
        let _ = std::io::stdin().lock().read_to_end(&mut Vec::new());
        ended.store(true, Ordering::Release);
    });
    let mut output = std::io::stdout().lock();
    while !is_over.load(Ordering::Acquire) {
        let line = format!("{}\n", count.load(Ordering::Relaxed));
        if output.write_all(line.as_bytes()).and_then(|()| output.flush()).is_err() {
            return;
        }
        sleep(COUNT_PERIOD);
    }
}

/// A task that uses all the CPU it gets.
fn spin(work: &AtomicU64) {
    let mut state = 1_u64;
    loop {
        for _ in 0..10_000 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        }
        std::hint::black_box(state);
        work.fetch_add(1, Ordering::Relaxed);
    }
}

/// A flood of small UDP packets from a namespace to a receiver.
struct Flood {
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
    /// Devices before namespaces.
    _device: Veth,
    _namespaces: Vec<Namespace>,
}

impl Flood {
    /// The first namespace has the sender; the second one, if there is one, the receiver, else the host.
    fn between(namespaces: Vec<Namespace>, cpus: Option<cpu::Cpus>, count: &Arc<AtomicU64>) -> anyhow::Result<Flood> {
        let namespace = namespaces.first().context("a namespace was created")?;
        let sink = namespaces.get(1);
        let [near, far] = FLOOD_ADDRESSES;
        let ends = [End { device: SINK_DEVICE, address: near }, End { device: "flood", address: far }];
        let device = Veth::connect(sink, namespace, ends, 30)?;
        let bind = || UdpSocket::bind((near, 0));
        let receiver = match sink {
            Some(sink) => sink.enter(bind)?,
            None => bind(),
        };
        let receiver = receiver.context("cannot open the receiver of the flood")?;
        receiver.set_read_timeout(Some(Duration::from_millis(100)))?;
        let to = receiver.local_addr()?;
        let sender = namespace.enter(|| UdpSocket::bind((far, 0)))?.context("cannot open the sender of the flood")?;
        let mut flood = Flood { stop: Arc::default(), threads: Vec::new(), _device: device, _namespaces: namespaces };
        let (stop, received) = (Arc::clone(&flood.stop), Arc::clone(count));
        flood.spawn("flood-receiver", move || {
            if let Some(cpus) = cpus {
                let mut set = CpuSet::new();
                cpus.iter().for_each(|cpu| set.set(cpu));
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
