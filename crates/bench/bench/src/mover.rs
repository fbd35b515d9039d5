//! The lower bound of a relay: a program that moves frames from several connections to one.
//!
//! A single thread, epoll, reads of 128 KiB, one write per readiness. It inspects only the frames' lengths, so that frames
//! of different sources do not mix.

use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};

use anyhow::Context;
use ferric::link::{Events, Interest, Poll};

const READ_OCTETS: usize = 128 * 1024;

struct Source {
    stream: TcpStream,
    /// The received part of an incomplete frame.
    partial: Vec<u8>,
}

/// Runs the mover until its sink closes. Prints its addresses: `in=` for sources, `out=` for the sink, which must connect
/// first.
///
/// # Errors
/// If it cannot listen or read.
pub fn mover() -> anyhow::Result<()> {
    let sources = TcpListener::bind("127.0.0.1:0").context("cannot listen")?;
    let sinks = TcpListener::bind("127.0.0.1:0").context("cannot listen")?;
    println!("in=tcp://{}", sources.local_addr()?);
    println!("out=tcp://{}", sinks.local_addr()?);
    let (mut sink, _) = sinks.accept()?;
    sink.set_nodelay(true)?;

    let poll = Poll::new()?;
    sources.set_nonblocking(true)?;
    poll.add(&sources, u64::MAX, Interest::READ)?;
    let mut connected: Vec<Source> = Vec::new();
    let mut events = Events::new();
    let mut buffer = vec![0; READ_OCTETS];
    loop {
        poll.wait(&mut events, None)?;
        for event in events.iter() {
            if event.token == u64::MAX {
                let (stream, _) = sources.accept()?;
                stream.set_nonblocking(true)?;
                poll.add(&stream, connected.len() as u64, Interest::READ)?;
                connected.push(Source { stream, partial: Vec::new() });
                continue;
            }
            let source = &mut connected[event.token as usize];
            let kept = source.partial.len();
            buffer[..kept].copy_from_slice(&source.partial);
            match source.stream.read(&mut buffer[kept..]) {
                Ok(0) => poll.remove(&source.stream)?,
                Ok(count) => {
                    let filled = &buffer[..kept + count];
                    let whole = whole_frames(filled);
                    sink.write_all(&filled[..whole])?;
                    source.partial.clear();
                    source.partial.extend_from_slice(&filled[whole..]);
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
}

/// The octets of the complete frames at the start of `filled`.
fn whole_frames(filled: &[u8]) -> usize {
    let mut end = 0;
    while let Some(head) = filled.get(end..end + 4) {
        let length = u32::from_be_bytes([head[0], head[1], head[2], head[3]]) as usize;
        if end + 4 + length > filled.len() {
            break;
        }
        end += 4 + length;
    }
    end
}
