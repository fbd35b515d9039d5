//! A proxy between a RAN and its RIC that cuts, delays and corrupts connections.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use anyhow::bail;
use ferric::link::Address;

use super::Random;

/// The longest lifetime of a connection before it is cut.
const LIFETIME_MS: u64 = 6_000;

#[derive(Default)]
struct Shared {
    ended: AtomicBool,
    cuts: AtomicU64,
    connections: AtomicU64,
}

pub(super) struct Proxy {
    address: Address,
    shared: Arc<Shared>,
    listener: JoinHandle<()>,
}

impl Proxy {
    pub fn start(target: &Address, seed: u64) -> anyhow::Result<Self> {
        let Address::Tcp { host, port } = target else { bail!("the proxy supports TCP only") };
        let (host, port) = (host.clone(), *port);
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let address = format!("tcp://{}", listener.local_addr()?).parse()?;
        listener.set_nonblocking(true)?;
        let shared = Arc::new(Shared::default());
        let listener = thread::spawn({
            let shared = shared.clone();
            move || {
                let mut random = Random::new(seed ^ 0x5EED);
                let mut connections = Vec::new();
                while !shared.ended.load(Ordering::Acquire) {
                    let Ok((node, _)) = listener.accept() else {
                        thread::sleep(Duration::from_millis(10));
                        continue;
                    };
                    let Ok(ric) = TcpStream::connect((host.as_str(), port)) else { continue };
                    shared.connections.fetch_add(1, Ordering::AcqRel);
                    let (shared, random) = (shared.clone(), Random::new(random.next()));
                    connections.retain(|connection: &JoinHandle<()>| !connection.is_finished());
                    connections.push(thread::spawn(move || drop(forward(node, ric, random, &shared))));
                }
                for connection in connections {
                    let _ = connection.join();
                }
            }
        });
        Ok(Proxy { address, shared, listener })
    }

    pub fn address(&self) -> &Address {
        &self.address
    }

    /// Ends all connections; returns the number of cut connections, and of connections after the first ones.
    pub fn end(self) -> (u64, u64) {
        self.shared.ended.store(true, Ordering::Release);
        let _ = self.listener.join();
        let (cuts, connections) = (&self.shared.cuts, &self.shared.connections);
        (cuts.load(Ordering::Acquire), connections.load(Ordering::Acquire).saturating_sub(2))
    }
}

/// Forwards a connection until the end of its random lifetime.
fn forward(node: TcpStream, ric: TcpStream, mut random: Random, shared: &Shared) -> std::io::Result<()> {
    node.set_nonblocking(false)?;
    let ul = spawn(node.try_clone()?, ric.try_clone()?, random.clone());
    let dl = spawn(ric.try_clone()?, node.try_clone()?, Random::new(random.next()));
    let lifetime = Duration::from_millis(500 + random.below(LIFETIME_MS));
    let mut lived = Duration::ZERO;
    while lived < lifetime && !shared.ended.load(Ordering::Acquire) && !ul.is_finished() && !dl.is_finished() {
        thread::sleep(Duration::from_millis(20));
        lived += Duration::from_millis(20);
    }
    if lived >= lifetime {
        shared.cuts.fetch_add(1, Ordering::AcqRel);
    }
    let _ = (node.shutdown(Shutdown::Both), ric.shutdown(Shutdown::Both));
    let _ = (ul.join(), dl.join());
    Ok(())
}

/// Forwards one direction on a thread; sometimes corrupts or delays octets.
fn spawn(mut from: TcpStream, mut to: TcpStream, mut random: Random) -> JoinHandle<()> {
    thread::spawn(move || {
        let mut buffer = vec![0; 16 * 1024];
        while let Ok(count @ 1..) = from.read(&mut buffer) {
            match random.below(400) {
                0 => {
                    let at = random.below(count as u64) as usize;
                    buffer[at] ^= 1 << random.below(8);
                }
                1 => thread::sleep(Duration::from_millis(random.below(300))),
                _ => {}
            }
            if to.write_all(&buffer[..count]).is_err() {
                return;
            }
        }
        let _ = to.shutdown(Shutdown::Write);
    })
}
