//! Message brokers for tests: RabbitMQ and Kafka, on free ports of the loopback interface.

use std::io::Write;
use std::net::{TcpListener, TcpStream};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};

/// How long a broker may take to start: Java and Erlang need seconds, more beside other tests.
const PATIENCE: Duration = Duration::from_secs(120);

/// A broker with its files in a folder of its own. It is killed on drop, and its files are deleted.
#[derive(Debug)]
pub struct MessageBroker {
    kind: Kind,
    process: Child,
    folder: PathBuf,
    /// The port for clients.
    port: u16,
    /// Ports for what belongs to the broker alone.
    inner_ports: [u16; 2],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    RabbitMq,
    Kafka,
}

/// What a broker needs is at the place that a variable names; `None`, so that the test can be skipped, if there is no such variable.
fn place(variable: &str, what: &str) -> Option<PathBuf> {
    let place = std::env::var_os(variable).map(PathBuf::from).filter(|place| place.exists());
    if place.is_none() {
        let is_required = std::env::var_os("FERRIC_BROKERS").is_some_and(|needed| needed == "required");
        assert!(!is_required, "{variable} names no {what}");
        println!("NOT TESTED: a real {what} (crates/edge/rnis/brokers/run has one)");
    }
    place
}

/// Whether [`MessageBroker::rabbitmq`] and [`MessageBroker::kafka`] have what they need.
#[must_use]
pub fn brokers_are_available() -> bool {
    let is_there = |variable| std::env::var_os(variable).is_some_and(|place| Path::new(&place).exists());
    is_there("FERRIC_RABBITMQ_SERVER") && is_there("FERRIC_KAFKA_LIBS")
}

fn free_ports() -> [u16; 3] {
    // all are bound at once, so that they differ
    let listeners = [(); 3].map(|()| TcpListener::bind("127.0.0.1:0").unwrap());
    listeners.map(|listener| listener.local_addr().unwrap().port())
}

impl MessageBroker {
    /// Starts the RabbitMQ of `FERRIC_RABBITMQ_SERVER`. Returns `None` if there is none, so that the test can be skipped.
    ///
    /// # Panics
    /// If there is none and `FERRIC_BROKERS=required` is set.
    #[must_use]
    pub fn rabbitmq(name: &str) -> Option<Self> {
        place("FERRIC_RABBITMQ_SERVER", "RabbitMQ")?;
        Some(MessageBroker::start(Kind::RabbitMq, name))
    }

    /// Starts a Kafka of the jars in `FERRIC_KAFKA_LIBS`. Returns `None` if there are none, so that the test can be skipped.
    ///
    /// # Panics
    /// If there are none and `FERRIC_BROKERS=required` is set.
    #[must_use]
    pub fn kafka(name: &str) -> Option<Self> {
        place("FERRIC_KAFKA_LIBS", "Kafka")?;
        Some(MessageBroker::start(Kind::Kafka, name))
    }

    fn start(kind: Kind, name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("ferric-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(folder.join("home")).unwrap();
        let [port, first, second] = free_ports();
        let inner_ports = [first, second];
        if kind == Kind::Kafka {
            write_kafka_files(&folder, port, first);
            let mut format = java(&folder);
            format.args(["kafka.tools.StorageTool", "format", "-t", "MkU3OEVBNTcwNTJENDM2Qg", "-c"]);
            let output = format.arg(folder.join("server.properties")).stdin(Stdio::null()).output().unwrap();
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
        }
        let process = spawn(kind, &folder, port, inner_ports);
        let mut broker = MessageBroker { kind, process, folder, port, inner_ports };
        broker.wait();
        broker
    }

    fn wait(&mut self) {
        let end = Instant::now() + PATIENCE;
        while TcpStream::connect(("127.0.0.1", self.port)).is_err() {
            let log = || std::fs::read_to_string(self.folder.join("log")).unwrap_or_default();
            assert!(self.process.try_wait().unwrap().is_none(), "the broker has ended: {}", log());
            assert!(Instant::now() < end, "the broker does not listen on port {}: {}", self.port, log());
            thread::sleep(Duration::from_millis(20));
        }
    }

    /// The address for clients: `127.0.0.1:PORT`.
    #[must_use]
    pub fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// The process, for measurements: RabbitMQ's and Kafka's virtual machines are in its process group.
    #[must_use]
    pub fn process_group(&self) -> u32 {
        self.process.id()
    }

    /// Kills the broker, without a chance to end in order.
    pub fn kill(&mut self) {
        if let Some(group) = Pid::from_raw(self.process.id() as i32) {
            let _ = kill_process_group(group, Signal::KILL); // it may have ended already
        }
        let _ = self.process.wait();
    }

    /// Starts a killed broker again, on the same ports and with the same files.
    pub fn restart(&mut self) {
        self.process = spawn(self.kind, &self.folder, self.port, self.inner_ports);
        self.wait();
    }
}

impl Drop for MessageBroker {
    fn drop(&mut self) {
        self.kill();
        if self.kind == Kind::RabbitMq {
            // Erlang's port mapper is a daemon of its own
            let port = self.inner_ports[0].to_string();
            let end = Command::new("epmd").args(["-port", &port, "-kill"]).stdin(Stdio::null()).output();
            let _ = end; // it may not have started
        }
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

fn spawn(kind: Kind, folder: &Path, port: u16, inner_ports: [u16; 2]) -> Child {
    let mut command = match kind {
        Kind::RabbitMq => rabbitmq(folder, port, inner_ports),
        Kind::Kafka => {
            let mut command = java(folder);
            command.arg("kafka.Kafka").arg(folder.join("server.properties"));
            command
        }
    };
    let log = || std::fs::File::options().create(true).append(true).open(folder.join("log")).unwrap();
    command.process_group(0).stdin(Stdio::null()).stdout(log()).stderr(log()).spawn().unwrap()
}

/// A RabbitMQ without a service of the host: files, port mapper and cookie are its own.
fn rabbitmq(folder: &Path, port: u16, [mapper, distribution]: [u16; 2]) -> Command {
    std::fs::write(
        folder.join("rabbitmq.conf"),
        format!("listeners.tcp.default = 127.0.0.1:{port}\nvm_memory_high_watermark.absolute = 1GB\ndisk_free_limit.absolute = 50MB\n"),
    )
    .unwrap();
    std::fs::write(folder.join("enabled_plugins"), "[].\n").unwrap();
    let mut command = Command::new(std::env::var_os("FERRIC_RABBITMQ_SERVER").unwrap());
    command
        .env("HOME", folder.join("home"))
        .env("RABBITMQ_BASE", folder)
        .env("RABBITMQ_LOG_BASE", folder)
        .env("RABBITMQ_MNESIA_BASE", folder.join("data"))
        .env("RABBITMQ_PID_FILE", folder.join("pid"))
        .env("RABBITMQ_CONFIG_FILE", folder.join("rabbitmq"))
        .env("RABBITMQ_CONF_ENV_FILE", "/dev/null")
        .env("RABBITMQ_ENABLED_PLUGINS_FILE", folder.join("enabled_plugins"))
        .env("RABBITMQ_NODENAME", format!("ferric{port}@localhost"))
        .env("RABBITMQ_NODE_IP_ADDRESS", "127.0.0.1")
        .env("RABBITMQ_NODE_PORT", port.to_string())
        .env("RABBITMQ_DIST_PORT", distribution.to_string())
        .env("RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS", "-kernel inet_dist_use_interface {127,0,0,1} +S 2:2")
        .env("ERL_EPMD_ADDRESS", "127.0.0.1")
        .env("ERL_EPMD_PORT", mapper.to_string());
    command
}

fn java(folder: &Path) -> Command {
    let libraries = std::env::var_os("FERRIC_KAFKA_LIBS").unwrap();
    let mut command = Command::new("java");
    command
        .args(["-Xms256m", "-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Djava.awt.headless=true"])
        .arg(format!("-Dlog4j2.configurationFile={}", folder.join("log4j2.properties").display()))
        .arg("-cp")
        .arg(format!("{}/*", Path::new(&libraries).display()));
    command
}

fn write_kafka_files(folder: &Path, port: u16, controller: u16) {
    let data = folder.join("data");
    let properties = format!(
        "process.roles=broker,controller\n\
         node.id=1\n\
         controller.quorum.voters=1@127.0.0.1:{controller}\n\
         listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}\n\
         advertised.listeners=PLAINTEXT://127.0.0.1:{port}\n\
         controller.listener.names=CONTROLLER\n\
         listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT\n\
         inter.broker.listener.name=PLAINTEXT\n\
         log.dirs={}\n\
         offsets.topic.replication.factor=1\n\
         offsets.topic.num.partitions=4\n\
         transaction.state.log.replication.factor=1\n\
         transaction.state.log.min.isr=1\n\
         group.initial.rebalance.delay.ms=0\n\
         auto.create.topics.enable=false\n",
        data.display()
    );
    let log = "rootLogger.level=WARN\nrootLogger.appenderRefs=stdout\nrootLogger.appenderRef.stdout.ref=STDOUT\n\
               appender.stdout.type=Console\nappender.stdout.name=STDOUT\nappender.stdout.layout.type=PatternLayout\n\
               appender.stdout.layout.pattern=%d %p %m (%c)%n\n";
    for (name, text) in [("server.properties", properties.as_str()), ("log4j2.properties", log)] {
        std::fs::File::create(folder.join(name)).unwrap().write_all(text.as_bytes()).unwrap();
    }
}
