//! A small level-triggered wrapper of epoll, and a waker for other threads.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::time::Duration;

use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::event::{EventfdFlags, Timespec, eventfd};
use rustix::io::Errno;
use rustix::time::{Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, timerfd_create, timerfd_settime};

/// The readiness to report for a file descriptor. Errors and hang-ups are always reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interest {
    /// Report when the source can be read.
    pub read: bool,
    /// Report when the source can be written.
    pub write: bool,
}

impl Interest {
    /// Reading only: a link with nothing to write, or a listener.
    pub const READ: Interest = Interest { read: true, write: false };
    /// Both: a link that [`wants_write`](crate::Link::wants_write).
    pub const READ_WRITE: Interest = Interest { read: true, write: true };

    fn flags(self) -> EventFlags {
        let mut flags = EventFlags::empty();
        flags.set(EventFlags::IN, self.read);
        flags.set(EventFlags::OUT, self.write);
        flags
    }
}

/// One file descriptor's readiness.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// The token that the source was added with.
    pub token: u64,
    /// The source can be read or can accept; also set when it failed, since reading returns the error.
    pub readable: bool,
    /// The source can be written; also set when it failed, since that ends a connect.
    pub writable: bool,
}

/// The events that [`Poll::wait`] reports.
#[derive(Default)]
pub struct Events {
    ready: Vec<Event>,
}

/// Events that one wait reports at most; more are reported by the next.
const BATCH: usize = 256;

impl Events {
    /// Creates an empty list.
    pub fn new() -> Self {
        Events::default()
    }

    /// One of the events that the last wait reported.
    pub fn get(&self, at: usize) -> Option<Event> {
        self.ready.get(at).copied()
    }

    /// What the last wait reported.
    pub fn iter(&self) -> impl Iterator<Item = Event> + '_ {
        self.ready.iter().copied()
    }
}

impl From<epoll::Event> for Event {
    fn from(event: epoll::Event) -> Self {
        let (flags, data) = (event.flags, event.data);
        let failed = flags.intersects(EventFlags::ERR | EventFlags::HUP);
        Event {
            token: data.u64(),
            readable: failed || flags.contains(EventFlags::IN),
            writable: failed || flags.contains(EventFlags::OUT),
        }
    }
}

/// Waits for the readiness of many file descriptors, level-triggered: what is still ready is reported again.
pub struct Poll {
    epoll: OwnedFd,
}

impl Poll {
    /// Creates a poll without sources.
    pub fn new() -> io::Result<Self> {
        Ok(Poll { epoll: epoll::create(epoll::CreateFlags::CLOEXEC)? })
    }

    /// Adds a link, a listener or another source.
    pub fn add(&self, source: &impl AsFd, token: u64, interest: Interest) -> io::Result<()> {
        Ok(epoll::add(&self.epoll, source, EventData::new_u64(token), interest.flags())?)
    }

    /// Changes the token or the interest of a watched source.
    pub fn modify(&self, source: &impl AsFd, token: u64, interest: Interest) -> io::Result<()> {
        Ok(epoll::modify(&self.epoll, source, EventData::new_u64(token), interest.flags())?)
    }

    /// Removes a source. Dropping the source does the same.
    pub fn remove(&self, source: &impl AsFd) -> io::Result<()> {
        Ok(epoll::delete(&self.epoll, source)?)
    }

    /// Waits until something is ready or `timeout` has passed (`None`: forever), to the nanosecond as far as the system's
    /// timers allow. A signal may end the wait early, without events.
    pub fn wait(&self, events: &mut Events, timeout: Option<Duration>) -> io::Result<()> {
        let timeout = timeout.map(|timeout| Timespec {
            tv_sec: timeout.as_secs().try_into().unwrap_or(i64::MAX),
            tv_nsec: timeout.subsec_nanos().into(),
        });
        events.ready.clear();
        // The kernel's events contain a pointer and are not `Send`; the converted events are.
        let mut room = [MaybeUninit::uninit(); BATCH];
        match epoll::wait(&self.epoll, &mut room, timeout.as_ref()) {
            Ok((reported, _)) => events.ready.extend(reported.iter().map(|event| Event::from(*event))),
            // a kernel before Linux 5.11, a sandbox, or valgrind
            Err(Errno::NOSYS) => events.ready.extend(self.wait_for_milliseconds(timeout)?),
            Err(Errno::INTR) => {}
            Err(errno) => return Err(errno.into()),
        }
        Ok(())
    }

    /// Waits as [`Poll::wait`] does, with the older system call, whose timeout has milliseconds.
    #[cold]
    #[allow(unsafe_code, reason = "rustix has the newer call only")]
    fn wait_for_milliseconds(&self, timeout: Option<Timespec>) -> io::Result<impl Iterator<Item = Event> + use<>> {
        let timeout = timeout.map_or(-1, milliseconds);
        let mut room = [libc::epoll_event { events: 0, u64: 0 }; BATCH];
        // SAFETY: the array has room for the stated number of events
        let count = unsafe { libc::epoll_wait(self.epoll.as_raw_fd(), room.as_mut_ptr(), BATCH as i32, timeout) };
        let count = match usize::try_from(count) {
            Ok(count) => count,
            Err(_) => match io::Error::last_os_error() {
                error if error.kind() == io::ErrorKind::Interrupted => 0,
                error => return Err(error),
            },
        };
        Ok(room.into_iter().take(count).map(|event| {
            let flags = EventFlags::from_bits_retain(event.events);
            Event::from(epoll::Event { flags, data: EventData::new_u64(event.u64) })
        }))
    }
}

/// Rounds up, so that a deadline has passed after the wait.
fn milliseconds(timeout: Timespec) -> i32 {
    let part = (timeout.tv_nsec + 999_999) / 1_000_000;
    i32::try_from(timeout.tv_sec.saturating_mul(1000).saturating_add(part)).unwrap_or(i32::MAX)
}

impl AsFd for Poll {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.epoll.as_fd()
    }
}

/// Wakes a [`Poll`] from any thread. Clones wake the same one.
#[derive(Clone)]
pub struct Waker {
    eventfd: Arc<OwnedFd>,
}

impl Waker {
    /// Creates a waker whose wake-ups `poll` reports with `token`. Several wake-ups between two waits are one event; no
    /// acknowledgement is needed.
    pub fn new(poll: &Poll, token: u64) -> io::Result<Self> {
        let eventfd = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        // Edge-triggered, so that the counter never needs to be read back.
        epoll::add(&poll.epoll, &eventfd, EventData::new_u64(token), EventFlags::IN | EventFlags::ET)?;
        Ok(Waker { eventfd: Arc::new(eventfd) })
    }

    /// Ends the current wait, or else the next, at once.
    pub fn wake(&self) {
        ring(&self.eventfd);
    }
}

/// Ends a wait of a [`Poll`] at regular intervals. Unlike a timeout of each wait it does not have the kernel set a timer each time.
pub struct Ticker {
    timerfd: OwnedFd,
}

impl Ticker {
    /// Creates a ticker whose ticks `poll` reports with `token` until [`Ticker::acknowledge`]. An interval below 1 ms counts as
    /// 1 ms.
    pub fn new(poll: &Poll, token: u64, interval: Duration) -> io::Result<Self> {
        let interval = interval.max(Duration::from_millis(1));
        let interval = Timespec {
            tv_sec: interval.as_secs().try_into().unwrap_or(i64::MAX),
            tv_nsec: interval.subsec_nanos().into(),
        };
        let timerfd = timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK)?;
        let regular = Itimerspec { it_interval: interval, it_value: interval };
        timerfd_settime(&timerfd, TimerfdTimerFlags::empty(), &regular)?;
        poll.add(&timerfd, token, Interest::READ)?;
        Ok(Ticker { timerfd })
    }

    /// Acknowledges all ticks until now.
    pub fn acknowledge(&self) {
        silence(&self.timerfd);
    }
}

/// Makes an eventfd readable.
pub(crate) fn ring(eventfd: &OwnedFd) {
    match rustix::io::write(eventfd, &1_u64.to_ne_bytes()) {
        // A counter at its maximum is readable already.
        Ok(_) | Err(Errno::AGAIN) => {}
        Err(errno) => panic!("writing to our own eventfd cannot fail otherwise: {errno}"),
    }
}

/// Makes an eventfd or timerfd no longer readable.
pub(crate) fn silence(eventfd: &OwnedFd) {
    match rustix::io::read(eventfd, &mut [0_u8; 8]) {
        Ok(_) | Err(Errno::AGAIN) => {}
        Err(errno) => panic!("reading our own descriptor cannot fail otherwise: {errno}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Instant;

    fn tokens(poll: &Poll, timeout: Option<Duration>) -> Vec<u64> {
        let mut events = Events::new();
        poll.wait(&mut events, timeout).unwrap();
        events.iter().map(|event| event.token).collect()
    }

    #[test]
    fn older_system_call_reports_the_same_events() {
        let poll = Poll::new().unwrap();
        let waker = Waker::new(&poll, 7).unwrap();
        let wait = |nanoseconds| {
            let timeout = Timespec { tv_sec: 0, tv_nsec: nanoseconds };
            poll.wait_for_milliseconds(Some(timeout)).unwrap().map(|event| event.token).collect::<Vec<_>>()
        };
        let start = Instant::now();
        assert!(wait(1).is_empty());
        assert!(start.elapsed() >= Duration::from_millis(1), "the timeout is rounded up");
        waker.wake();
        assert_eq!(wait(0), [7]);
    }

    #[test]
    fn milliseconds_are_rounded_up() {
        let timeout = |tv_sec, tv_nsec| milliseconds(Timespec { tv_sec, tv_nsec });
        assert_eq!((timeout(0, 0), timeout(0, 1), timeout(1, 5_000_000)), (0, 1, 1005));
        assert_eq!((timeout(1, 999_999_999), timeout(i64::MAX, 999_999_999)), (2000, i32::MAX));
    }

    #[test]
    fn wake_from_another_thread_ends_one_wait() {
        let poll = Poll::new().unwrap();
        let waker = Waker::new(&poll, u64::MAX).unwrap();
        let thread = std::thread::spawn({
            let waker = waker.clone();
            move || {
                waker.wake();
                waker.wake();
            }
        });
        thread.join().unwrap();
        assert_eq!(tokens(&poll, None), [u64::MAX]);
        assert_eq!(tokens(&poll, Some(Duration::ZERO)), [0; 0]);
        waker.wake();
        assert_eq!(tokens(&poll, None), [u64::MAX]);
    }

    #[test]
    fn timeout_below_a_millisecond_is_exact() {
        let poll = Poll::new().unwrap();
        let shortest = (0..50)
            .map(|_| {
                let begun = Instant::now();
                assert_eq!(tokens(&poll, Some(Duration::from_micros(200))), [0; 0]);
                begun.elapsed()
            })
            .min()
            .unwrap();
        assert!(shortest >= Duration::from_micros(200), "{shortest:?}");
        assert!(shortest < Duration::from_micros(900), "{shortest:?}");
    }

    #[test]
    fn ticker_ends_waits_at_its_interval() {
        let poll = Poll::new().unwrap();
        let begun = Instant::now();
        let ticker = Ticker::new(&poll, 3, Duration::from_millis(5)).unwrap();
        for ticks in 1..4 {
            assert_eq!(tokens(&poll, None), [3]);
            assert!(begun.elapsed() >= ticks * Duration::from_millis(5));
            ticker.acknowledge();
        }
    }

    #[test]
    fn readiness_is_level_triggered_and_follows_the_interest() {
        let poll = Poll::new().unwrap();
        let source = eventfd(0, EventfdFlags::NONBLOCK).unwrap();
        poll.add(&source, 1, Interest::READ).unwrap();
        assert_eq!(tokens(&poll, Some(Duration::ZERO)), [0; 0]);
        ring(&source);
        assert_eq!(tokens(&poll, None), [1]);
        assert_eq!(tokens(&poll, None), [1]);
        silence(&source);
        assert_eq!(tokens(&poll, Some(Duration::ZERO)), [0; 0]);
        poll.modify(&source, 2, Interest::READ_WRITE).unwrap();
        let mut events = Events::new();
        poll.wait(&mut events, None).unwrap();
        assert_eq!(events.iter().collect::<Vec<_>>(), [Event { token: 2, readable: false, writable: true }]);
        poll.remove(&source).unwrap();
        assert_eq!(tokens(&poll, Some(Duration::ZERO)), [0; 0]);
    }
}
