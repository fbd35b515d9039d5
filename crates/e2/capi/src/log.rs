//! Log lines of an agent, for the log of the base station.

use std::ffi::{c_char, c_void};
use std::io::{self, Write};

use tracing::{Dispatch, Level};

use crate::handle::InCallback;
use crate::status::Failure;

/// Something failed and stays so until a person acts.
pub const FERRIC_LOG_ERROR: u32 = 1;
/// Something failed; the agent continues or tries again.
pub const FERRIC_LOG_WARNING: u32 = 2;
/// What happens, a line each: set up, subscribed, lost.
pub const FERRIC_LOG_INFO: u32 = 3;
/// Details.
pub const FERRIC_LOG_DEBUG: u32 = 4;

/// Takes a log line: the `user` of the configuration, one of FERRIC_LOG_…, and a text that ends with a zero and is valid during
/// the call. Called on the thread of the agent.
pub type ferric_log_function = Option<unsafe extern "C" fn(user: *mut c_void, level: u32, line: *const c_char)>;

/// Where the lines of an agent go.
#[derive(Clone, Copy)]
pub(crate) struct LogTarget {
    pub function: unsafe extern "C" fn(user: *mut c_void, level: u32, line: *const c_char),
    pub user: *mut c_void,
}

// SAFETY: the base station states that its function and `user` may be used on the agent's thread
unsafe impl Send for LogTarget {}
// SAFETY: as above
unsafe impl Sync for LogTarget {}

/// Collects the octets of a line, and passes it on when it is dropped.
struct Line {
    target: LogTarget,
    level: u32,
    octets: Vec<u8>,
}

impl Write for Line {
    fn write(&mut self, octets: &[u8]) -> io::Result<usize> {
        // a control character, which a peer may have sent, would break the line
        self.octets.extend(octets.iter().map(|octet| if *octet < b' ' { b' ' } else { *octet }));
        Ok(octets.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        let length = self.octets.trim_ascii_end().len();
        self.octets.truncate(length);
        if self.octets.is_empty() {
            return;
        }
        self.octets.push(0);
        let _callback = InCallback::enter();
        // SAFETY: the text ends with a zero, and the base station gave function and user for this call
        unsafe { (self.target.function)(self.target.user, self.level, self.octets.as_ptr().cast()) };
    }
}

struct Lines(LogTarget);

impl<'a> tracing_subscriber::fmt::MakeWriter<'a> for Lines {
    type Writer = Line;

    fn make_writer(&'a self) -> Line {
        self.line(FERRIC_LOG_INFO)
    }

    fn make_writer_for(&'a self, metadata: &tracing::Metadata<'_>) -> Line {
        self.line(match *metadata.level() {
            Level::ERROR => FERRIC_LOG_ERROR,
            Level::WARN => FERRIC_LOG_WARNING,
            Level::INFO => FERRIC_LOG_INFO,
            _ => FERRIC_LOG_DEBUG,
        })
    }
}

impl Lines {
    fn line(&self, level: u32) -> Line {
        Line { target: self.0, level, octets: Vec::new() }
    }
}

/// The log of an agent: lines of `level` and of more severe ones. Without a target nothing is logged.
pub(crate) fn dispatch(target: Option<LogTarget>, level: u32) -> Result<Dispatch, Failure> {
    let level = match level {
        FERRIC_LOG_ERROR => Level::ERROR,
        FERRIC_LOG_WARNING => Level::WARN,
        0 | FERRIC_LOG_INFO => Level::INFO,
        FERRIC_LOG_DEBUG => Level::DEBUG,
        other => return Err(Failure::argument("log_level", format_args!("log_level {other} is not a FERRIC_LOG_…"))),
    };
    let Some(target) = target else { return Ok(Dispatch::none()) };
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(level)
        .with_ansi(false)
        .without_time()
        .with_level(false)
        .with_target(false)
        .with_writer(Lines(target));
    Ok(Dispatch::new(subscriber.finish()))
}
