//! R-NIB of a RIC with real associations, as a reader of Redis's protocol finds it.
//!
//! `FERRIC_SDL_PYTHON` names a Python with ricsdl and the messages of ricxappframe, which read it too; `scripts/northbound` makes
//! it.

mod common;

use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::Command;
use std::thread::JoinHandle;
use std::time::Instant;

use common::{NAME, PATIENCE, agent, field};
use ferric::StopHandle;
use ferric::link::Address;
use ferric::server::{Server, ServerConfig};
use log_lines::LogBudget;
use oran::rnib::Rnib;
use sdl::{Change, Config, Sdl};

struct Running {
    sdl: Sdl,
    e2: Address,
    stop: StopHandle,
    thread: Option<JoinHandle<()>>,
}

impl Running {
    fn start() -> Self {
        let sdl = Sdl::start(Config::new("tcp://127.0.0.1:0".parse().unwrap()), LogBudget::new(1000)).unwrap();
        // what an earlier run has left
        assert!(sdl.handle().apply(vec![Change::Set { key: b"{e2Manager},RAN:old".to_vec(), octets: b"x".to_vec() }]));
        let e2 = vec!["tcp://127.0.0.1:0".parse().unwrap()];
        let mut server = Server::bind(ServerConfig { e2, xapp: None, ..ServerConfig::default() }).unwrap();
        server.add_iapp(Box::new(Rnib::new(sdl.handle().clone())));
        let (e2, stop) = (server.e2_addresses().next().unwrap().clone(), server.stop_handle());
        let thread = std::thread::spawn(move || server.run().unwrap());
        Running { sdl, e2, stop, thread: Some(thread) }
    }

    fn connect(&self) -> Client {
        let Address::Tcp { host, port } = self.sdl.address() else { panic!("{}", self.sdl.address()) };
        let client = TcpStream::connect((host.as_str(), *port)).unwrap();
        client.set_read_timeout(Some(PATIENCE)).unwrap();
        Client(client)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop.stop();
        let ended = self.thread.take().map(JoinHandle::join);
        assert!(std::thread::panicking() || matches!(ended, Some(Ok(()))));
    }
}

struct Client(TcpStream);

impl Client {
    fn send(&mut self, command: &str) {
        let words: Vec<_> = command.split(' ').map(|word| format!("${}\r\n{word}\r\n", word.len())).collect();
        self.0.write_all(format!("*{}\r\n{}", words.len(), words.concat()).as_bytes()).unwrap();
    }

    fn expect(&mut self, reply: &str) {
        let mut octets = vec![0; reply.len()];
        self.0.read_exact(&mut octets).unwrap();
        assert_eq!(String::from_utf8_lossy(&octets), reply);
    }

    fn expect_message(&mut self, channel: &str, message: &str) {
        let channel = format!("{{e2Manager}},{channel}");
        self.expect(&format!(
            "*3\r\n$7\r\nmessage\r\n${}\r\n{channel}\r\n${}\r\n{message}\r\n",
            channel.len(),
            message.len()
        ));
    }

    /// Reads a bulk string.
    fn bulk(&mut self) -> Vec<u8> {
        let mut line = Vec::new();
        while !line.ends_with(b"\r\n") {
            let mut octet = [0];
            self.0.read_exact(&mut octet).unwrap();
            line.extend(octet);
        }
        let text = String::from_utf8(line).unwrap();
        let length: usize = text.trim_end().trim_start_matches('$').parse().unwrap();
        let mut octets = vec![0; length + 2];
        self.0.read_exact(&mut octets).unwrap();
        octets.truncate(length);
        octets
    }
}

#[test]
fn nodes_are_found_and_their_changes_notified() {
    let running = Running::start();
    let (mut subscriber, mut client) = (running.connect(), running.connect());
    for (channel, length, count) in [("RAN_CONNECTION_STATUS_CHANGE", 40, 1), ("RAN_MANIPULATION", 28, 2)] {
        subscriber.send(&format!("SUBSCRIBE {{e2Manager}},{channel}"));
        subscriber.expect(&format!("*3\r\n$9\r\nsubscribe\r\n${length}\r\n{{e2Manager}},{channel}\r\n:{count}\r\n"));
    }
    let (stop, agent_thread) = agent(&running.e2);
    subscriber.expect_message("RAN_MANIPULATION", &format!("{NAME}_ADDED"));
    subscriber.expect_message("RAN_CONNECTION_STATUS_CHANGE", &format!("{NAME}_CONNECTED"));
    client.send(&format!("GET {{e2Manager}},RAN:{NAME}"));
    let node = client.bulk();
    assert_eq!(field(&node, 1).unwrap(), NAME.as_bytes());
    assert_eq!((field(&node, 5).unwrap(), field(&node, 7).unwrap()), (b"1".to_vec(), b"2".to_vec()));
    let function = field(&field(&node, 9).unwrap(), 2).unwrap();
    assert_eq!((field(&function, 1).unwrap(), field(&function, 3).unwrap()), (b"7".to_vec(), b"3".to_vec()));
    assert_eq!(field(&function, 2).unwrap(), b"20c0646566696e6564");
    assert_eq!(field(&function, 4).unwrap(), b"1.3.6.1.4.1.53148.1.2.2.2");
    let component = field(&field(&node, 9).unwrap(), 4).unwrap();
    assert_eq!(field(&component, 8).unwrap(), b"3", "F1");
    assert_eq!(field(&field(&component, 4).unwrap(), 15).unwrap(), b"5", "the DU");
    let parts = (field(&component, 9).unwrap(), field(&component, 10).unwrap());
    assert_eq!(parts, (b"F1 SETUP REQUEST".to_vec(), b"RESPONSE".to_vec()));
    let id = field(&node, 6).unwrap();
    let bits = format!("{:032b}", 0xe00);
    assert_eq!((field(&id, 1).unwrap(), field(&id, 2).unwrap()), (b"00F110".to_vec(), bits.clone().into_bytes()));
    client.send(&format!("GET {{e2Manager}},GNB:00F110:{bits}"));
    assert_eq!(client.bulk(), node);
    client.send("EXISTS {e2Manager},RAN:old");
    client.expect(":0\r\n");
    client.send("GET {e2Manager},GENERAL");
    assert_eq!(client.bulk(), b"{\"enableRic\":true}");
    read_by_python(&running, "CONNECTED");
    stop.stop();
    agent_thread.join().unwrap();
    subscriber.expect_message("RAN_CONNECTION_STATUS_CHANGE", &format!("{NAME}_DISCONNECTED"));
    client.send(&format!("GET {{e2Manager}},RAN:{NAME}"));
    assert_eq!(field(&client.bulk(), 5).unwrap(), b"2");
    client.send("SCARD {e2Manager},GNB");
    client.expect(":1\r\n");
    read_by_python(&running, "DISCONNECTED");
    let (stop, agent_thread) = agent(&running.e2);
    subscriber.expect_message("RAN_MANIPULATION", &format!("{NAME}_UPDATED"));
    subscriber.expect_message("RAN_CONNECTION_STATUS_CHANGE", &format!("{NAME}_CONNECTED"));
    client.send("SCARD {e2Manager},GNB");
    client.expect(":1\r\n");
    stop.stop();
    agent_thread.join().unwrap();
}

/// Has the messages of the reference platform's framework read by the SDL library.
fn read_by_python(running: &Running, status: &str) {
    const SCRIPT: &str = "
import sys
from ricsdl.syncstorage import SyncStorage
from ricxappframe.entities.rnib import nb_identity_pb2, nodeb_info_pb2
name, status = sys.argv[1:]
sdl = SyncStorage()
[member] = sdl.get_members('e2Manager', 'GNB')
identity = nb_identity_pb2.NbIdentity()
identity.ParseFromString(member)
assert identity.inventory_name == name and identity.global_nb_id.plmn_id == '00F110', identity
node = nodeb_info_pb2.NodebInfo()
node.ParseFromString(sdl.get('e2Manager', {'RAN:' + name})['RAN:' + name])
assert node.ran_name == name and node.node_type == nodeb_info_pb2.Node.GNB and node.HasField('gnb'), node
[component] = node.gnb.node_configs
assert component.e2nodeComponentInterfaceTypeF1.gNB_du_id == 5, component
assert component.e2nodeComponentInterfaceType == component.DESCRIPTOR.fields_by_name['e2nodeComponentInterfaceType'].enum_type.values_by_name['f1'].number
assert component.e2nodeComponentRequestPart == b'F1 SETUP REQUEST' and component.e2nodeComponentResponsePart == b'RESPONSE', component
for message in (identity, node):
    assert nb_identity_pb2.ConnectionStatus.Name(message.connection_status) == status, message
assert node.global_nb_id == identity.global_nb_id
";
    let Some(python) = std::env::var_os("FERRIC_SDL_PYTHON") else {
        println!(
            "NOT TESTED: R-NIB by the messages of ricxappframe: FERRIC_SDL_PYTHON does not name a Python that has them"
        );
        return;
    };
    let Address::Tcp { host, port } = running.sdl.address() else { panic!("{}", running.sdl.address()) };
    let begun = Instant::now();
    let status = Command::new(python)
        .args(["-c", SCRIPT, NAME, status])
        .env("DBAAS_SERVICE_HOST", host)
        .env("DBAAS_SERVICE_PORT", port.to_string())
        .status()
        .unwrap();
    assert!(status.success(), "{status} after {:?}", begun.elapsed());
}
