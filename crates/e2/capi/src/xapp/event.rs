//! Events of the session.

use std::ffi::c_char;
use std::os::fd::{AsFd, AsRawFd, RawFd};
use std::os::raw::c_int;
use std::sync::{Arc, Mutex};
use std::{mem, process};

use ferric::xapp::{Event, Feed};

use super::kpm::try_lock;
use super::list::named;
use super::session::{check_process, ferric_xapp, session};
use crate::handle::{InCallback, Table};
use crate::input::result;
use crate::status::{FERRIC_NAME_OCTETS, Failure, ferric_error, guard, guard_real_time};
use crate::wait::{Ending, deadline};

/// The RIC is lost, of several the last one; the session connects again.
pub const FERRIC_XAPP_EVENT_RIC_LOST: u32 = 1;
/// The RIC is back, of several one.
pub const FERRIC_XAPP_EVENT_RIC_BACK: u32 = 2;
/// A node has set up; also each one that is up when the stream begins.
pub const FERRIC_XAPP_EVENT_NODE_UP: u32 = 3;
/// A node is lost.
pub const FERRIC_XAPP_EVENT_NODE_LOST: u32 = 4;
/// The RIC has dropped reports because this session reads too slowly.
pub const FERRIC_XAPP_EVENT_REPORTS_DROPPED: u32 = 5;
/// An event that this version of the header does not have.
pub const FERRIC_XAPP_EVENT_OTHER: u32 = 6;
/// A node is connected to another RIC of the session than before, after it was lost and has set up: streams go on with its reports from
/// there, and those in between are missing.
pub const FERRIC_XAPP_EVENT_NODE_MOVED: u32 = 7;

/// A stream of events.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct ferric_xapp_events {
    /// The number of the object; 0 is none.
    pub id: u64,
}

/// An event.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct ferric_xapp_event {
    /// FERRIC_XAPP_EVENT_….
    pub kind: u32,
    /// The name of the node; empty if the event is about none.
    pub node: [c_char; FERRIC_NAME_OCTETS],
    /// The reports that the RIC has dropped since the session began, in FERRIC_XAPP_EVENT_REPORTS_DROPPED.
    pub count: u64,
}

/// A feed and its end.
pub(super) struct FeedObject<T> {
    process: u32,
    fd: RawFd,
    ending: Ending,
    feed: Mutex<Feed<T>>,
}

impl<T> FeedObject<T> {
    pub fn new(feed: Feed<T>) -> Result<Arc<Self>, Failure> {
        let fd = feed.as_fd().as_raw_fd();
        Ok(Arc::new(FeedObject { process: process::id(), fd, ending: Ending::new()?, feed: Mutex::new(feed) }))
    }

    /// The feed of a handle.
    pub fn of(table: &Table<Arc<Self>>, handle: u64) -> Result<Arc<Self>, Failure> {
        let object = table.share(handle)?;
        check_process(object.process)?;
        Ok(object)
    }

    pub fn fd(&self) -> RawFd {
        self.fd
    }

    /// The next item; waits for it for `timeout_ms`.
    pub fn read(&self, timeout_ms: i32) -> Result<T, Failure> {
        Ok(self.read_counted(timeout_ms)?.0)
    }

    /// The same, with the number of those that were lost.
    pub fn read_counted(&self, timeout_ms: i32) -> Result<(T, u64), Failure> {
        InCallback::refuse()?;
        let mut feed = try_lock(&self.feed)?;
        let until = deadline(timeout_ms);
        loop {
            self.ending.check()?;
            if let Some(item) = feed.try_next()? {
                return Ok((item, feed.lost()));
            }
            self.ending.wait(self.fd, until)?;
        }
    }

    /// Frees the feed of a handle, and wakes its reader.
    pub fn free(table: &Table<Arc<Self>>, handle: u64) -> Result<(), Failure> {
        let object = table.remove(handle)?;
        if object.process == process::id() {
            object.ending.set();
        } else {
            // the session belongs to the other process
            mem::forget(object);
        }
        Ok(())
    }
}

static EVENTS: Table<Arc<FeedObject<Event>>> = Table::new(8);

/// Begins a stream of events: first the nodes that are up.
///
/// # Safety
/// `out` is valid; `error` is NULL or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ferric_xapp_events_new(
    xapp: ferric_xapp,
    out: *mut ferric_xapp_events,
    error: *mut ferric_error,
) -> i32 {
    let call = || {
        // SAFETY: the caller passes a valid pointer
        let out = unsafe { result(out, "out") }?;
        *out = ferric_xapp_events { id: EVENTS.insert(FeedObject::new(session(xapp)?.events()?)?)? };
        Ok(())
    };
    // SAFETY: the caller passes NULL or a valid pointer
    unsafe { guard(error, call) }
}

/// Returns the file descriptor that is readable while events are buffered; -1 if there is no such stream.
#[unsafe(no_mangle)]
pub extern "C" fn ferric_xapp_events_fd(events: ferric_xapp_events) -> c_int {
    FeedObject::of(&EVENTS, events.id).map_or(-1, |feed| feed.fd())
}

/// Reads the next event; waits for it for `timeout_ms` as ferric_xapp_kpm_read does, with the same errors.
///
/// # Safety
/// `out` is valid; `error` is NULL or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ferric_xapp_events_read(
    events: ferric_xapp_events,
    timeout_ms: i32,
    out: *mut ferric_xapp_event,
    error: *mut ferric_error,
) -> i32 {
    let call = || {
        // SAFETY: the caller passes a valid pointer
        let out = unsafe { result(out, "out") }?;
        let (kind, node, count) = match FeedObject::of(&EVENTS, events.id)?.read(timeout_ms)? {
            Event::RicLost => (FERRIC_XAPP_EVENT_RIC_LOST, None, 0),
            Event::RicBack => (FERRIC_XAPP_EVENT_RIC_BACK, None, 0),
            Event::NodeUp(node) => (FERRIC_XAPP_EVENT_NODE_UP, Some(node), 0),
            Event::NodeLost(node) => (FERRIC_XAPP_EVENT_NODE_LOST, Some(node), 0),
            Event::NodeMoved { node, .. } => (FERRIC_XAPP_EVENT_NODE_MOVED, Some(node), 0),
            Event::ReportsDropped(count) => (FERRIC_XAPP_EVENT_REPORTS_DROPPED, None, count),
            _ => (FERRIC_XAPP_EVENT_OTHER, None, 0),
        };
        *out = ferric_xapp_event { kind, node: named(node.as_deref().unwrap_or_default()), count };
        Ok(())
    };
    // SAFETY: the caller passes NULL or a valid pointer
    unsafe { guard(error, call) }
}

/// Ends a stream of events. A thread that waits in a read of it gets FERRIC_ERROR_HANDLE.
#[unsafe(no_mangle)]
pub extern "C" fn ferric_xapp_events_free(events: ferric_xapp_events) -> i32 {
    guard_real_time(|| FeedObject::free(&EVENTS, events.id))
}
