//! A way between a RAN and its RIC that cuts, stalls and corrupts.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use anyhow::bail;
use ferric::link::Address;

use super::Random;

/// How long a connection lives between two cuts, at most.
const LIFE_MS: u64 = 6_000;

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
        let Address::Tcp { host, port } = target else { bail!("only TCP goes through a proxy") };
        let (host, port) = (host.clone(), *port);
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let address = format!("tcp://{}", listener.local_addr()?).parse()?;
        listener.set_nonblocking(true)?;
        let shared = Arc::new(Shared::default());
        let listener = thread::spawn({
            let shared = shared.clone();
            move || {
                let mut random = Random::new(seed ^ 0x5EED);
                let mut lives = Vec::new();
                while !shared.ended.load(Ordering::Acquire) {
                    let Ok((node, _)) = listener.accept() else {
                        thread::sleep(Duration::from_millis(10));
                        continue;
                    };
                    let Ok(ric) = TcpStream::connect((host.as_str(), port)) else { continue };
                    shared.connections.fetch_add(1, Ordering::AcqRel);
                    let (shared, random) = (shared.clone(), Random::new(random.next()));
                    lives.retain(|life: &JoinHandle<()>| !life.is_finished());
                    lives.push(thread::spawn(move || drop(live(node, ric, random, &shared))));
                }
                for life in lives {
                    let _ = life.join();
                }
            }
        });
        Ok(Proxy { address, shared, listener })
    }

    pub fn address(&self) -> &Address {
        &self.address
    }

    /// Ends all connections; tells how many were cut before, and how many there were after the first ones.
    pub fn end(self) -> (u64, u64) {
        self.shared.ended.store(true, Ordering::Release);
        let _ = self.listener.join();
        let (cuts, connections) = (&self.shared.cuts, &self.shared.connections);
        (cuts.load(Ordering::Acquire), connections.load(Ordering::Acquire).saturating_sub(2))
    }
}

/// Carries a connection's octets until its end is drawn.
fn live(node: TcpStream, ric: TcpStream, mut random: Random, shared: &Shared) -> std::io::Result<()> {
    node.set_nonblocking(false)?;
    let up = spawn(node.try_clone()?, ric.try_clone()?, random.clone());
    let down = spawn(ric.try_clone()?, node.try_clone()?, Random::new(random.next()));
    let life = Duration::from_millis(500 + random.below(LIFE_MS));
    let mut lived = Duration::ZERO;
    while lived < life && !shared.ended.load(Ordering::Acquire) && !up.is_finished() && !down.is_finished() {
        thread::sleep(Duration::from_millis(20));
        lived += Duration::from_millis(20);
    }
    if lived >= life {
        shared.cuts.fetch_add(1, Ordering::AcqRel);
    }
    let _ = (node.shutdown(Shutdown::Both), ric.shutdown(Shutdown::Both));
    let _ = (up.join(), down.join());
    Ok(())
}

/// Moves octets one way; now and then a few of them change.
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
