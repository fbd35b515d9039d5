//! Messages of channels of a Redis server, for observers in this process.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use redis::RedisError;
use shared_store::{StoreUrl, remedy};
use tracing::{info, warn};

use crate::handle::Observer;

/// How long it waits for a message before it looks for the end and for new channels.
const PATIENCE: Duration = Duration::from_millis(500);
/// Periods of silence after which the connection is checked.
const SILENT: u32 = 4;
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LAST_PAUSE: Duration = Duration::from_secs(5);

#[derive(Default)]
struct List {
    observers: Mutex<Vec<(Vec<u8>, Observer)>>,
    count: AtomicUsize,
}

/// The observers, and the thread that reads for them, which begins with the first. It ends within a second after the end was asked
/// for, and nobody waits for it.
pub(crate) struct Observers {
    url: StoreUrl,
    stop: Arc<AtomicBool>,
    list: Arc<List>,
}

impl Observers {
    pub fn new(url: StoreUrl, stop: Arc<AtomicBool>) -> Self {
        Observers { url, stop, list: Arc::default() }
    }

    pub fn add(&self, channel: Vec<u8>, observer: Observer) {
        self.list.observers.lock().unwrap_or_else(PoisonError::into_inner).push((channel, observer));
        if self.list.count.fetch_add(1, Ordering::AcqRel) > 0 {
            return; // the thread sees it
        }
        let reader = Reader {
            url: self.url.clone(),
            stop: Arc::clone(&self.stop),
            list: Arc::clone(&self.list),
            pause: FIRST_PAUSE,
            is_logged: false,
        };
        let thread = std::thread::Builder::new().name("sdl-observers".to_owned()).spawn(move || reader.run());
        if let Err(error) = thread {
            warn!(
                "messages of xApps in the shared data layer are not read: cannot start a thread: {error}; raise the limit of threads \
                 (ulimit -u, TasksMax), and restart the RIC"
            );
        }
    }
}

struct Reader {
    url: StoreUrl,
    stop: Arc<AtomicBool>,
    list: Arc<List>,
    pause: Duration,
    is_logged: bool,
}

impl Reader {
    fn run(mut self) {
        while !self.is_stopped() {
            let Err(error) = self.listen() else { continue };
            if !std::mem::replace(&mut self.is_logged, true) {
                let (redis, remedy) = (&self.url, remedy(&error));
                warn!(%redis, %error, "messages of the shared data layer cannot be read: they are lost; retrying; remedy: {remedy}");
            }
            std::thread::sleep(self.pause);
            self.pause = (2 * self.pause).min(LAST_PAUSE);
        }
    }

    fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Acquire)
    }

    /// Passes messages on, until there is another channel or the end.
    fn listen(&mut self) -> Result<(), RedisError> {
        let count = self.list.count.load(Ordering::Acquire);
        let channels: Vec<_> = {
            let observers = self.list.observers.lock().unwrap_or_else(PoisonError::into_inner);
            observers.iter().map(|(channel, _)| channel.clone()).collect()
        };
        let mut connection = self.url.connect_to_server()?;
        let mut subscription = connection.as_pubsub();
        subscription.subscribe(&channels)?;
        subscription.set_read_timeout(Some(PATIENCE))?;
        self.pause = FIRST_PAUSE;
        if std::mem::take(&mut self.is_logged) {
            info!(redis = %self.url, "messages of the shared data layer are read again");
        }
        let mut silent = 0;
        while !self.is_stopped() && self.list.count.load(Ordering::Acquire) == count {
            let message = match subscription.get_message() {
                Ok(message) => message,
                Err(error) if error.is_timeout() && silent < SILENT => {
                    silent += 1;
                    continue;
                }
                Err(error) if error.is_timeout() => {
                    silent = 0;
                    subscription.ping::<()>()?;
                    continue;
                }
                Err(error) => return Err(error),
            };
            silent = 0;
            let channel: Vec<u8> = message.get_channel()?;
            let observers = self.list.observers.lock().unwrap_or_else(PoisonError::into_inner);
            let of_channel = observers.iter().filter(|(observed, _)| *observed == channel);
            of_channel.for_each(|(_, observer)| observer(message.get_payload_bytes()));
        }
        Ok(())
    }
}
