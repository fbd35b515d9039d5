//! The form of log lines: one line each, without control characters, and of bounded length; and a bound of their number.

use std::collections::HashMap;
use std::fmt::{self, Debug, Write};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use log_lines::Bounded;
use tracing::callsite::Identifier;
use tracing::field::{Field, Visit};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::field::RecordFields;
use tracing_subscriber::fmt::format::{Format, Full, Writer};
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields};
use tracing_subscriber::registry::LookupSpan;

/// The most octets of a line.
const MAX_LINE_OCTETS: usize = 1024;
/// Of these, the time stamp, the level, their colours, the note on what was cut, and the line feed.
const FRAME_OCTETS: usize = 120;

const MINUTE: Duration = Duration::from_secs(60);

/// Writes message and fields as `tracing_subscriber` does by default, but escaped and bounded.
pub(super) struct Fields;

impl<'writer> FormatFields<'writer> for Fields {
    fn format_fields<R: RecordFields>(&self, mut writer: Writer<'writer>, fields: R) -> fmt::Result {
        let is_coloured = writer.has_ansi_escapes();
        let line = Bounded::new(writer.by_ref(), MAX_LINE_OCTETS - FRAME_OCTETS);
        let mut visitor = Visitor { line, is_coloured, is_empty: true, result: Ok(()) };
        fields.record(&mut visitor);
        visitor.result?;
        visitor.line.finish()?;
        // what was cut may have ended within a coloured name
        if is_coloured { writer.write_str("\u{1b}[0m") } else { Ok(()) }
    }
}

struct Visitor<'writer> {
    line: Bounded<Writer<'writer>>,
    is_coloured: bool,
    is_empty: bool,
    result: fmt::Result,
}

impl Visitor<'_> {
    fn write(&mut self, field: &Field, value: &dyn Debug) -> fmt::Result {
        if !std::mem::take(&mut self.is_empty) {
            self.line.write_str(" ")?;
        }
        let name = field.name().trim_start_matches("r#");
        match (name, self.is_coloured) {
            ("message", _) => {}
            (name, true) => write!(self.line, "\u{1b}[3m{name}\u{1b}[0m\u{1b}[2m=\u{1b}[0m")?,
            (name, false) => write!(self.line, "{name}=")?,
        }
        self.line.write_escaped(format_args!("{value:?}"))
    }
}

impl Visit for Visitor<'_> {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        if self.result.is_ok() {
            self.result = self.write(field, value);
        }
    }
}

/// Bounds the number of lines per minute, whatever causes them, behind the budget of lines about peers: a kind of line, which is
/// its place in the code, may use at most half of what the others left.
pub(super) struct Lines {
    format: Format<Full>,
    per_minute: &'static AtomicU32,
    state: Mutex<State>,
}

struct State {
    since: Instant,
    written: u32,
    suppressed: u64,
    kinds: HashMap<Identifier, u32>,
}

impl Lines {
    pub fn new(format: Format<Full>, per_minute: &'static AtomicU32) -> Self {
        Lines { format, per_minute, state: Mutex::new(State::new(Instant::now())) }
    }
}

impl<S, N> FormatEvent<S, N> for Lines
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(&self, context: &FmtContext<'_, S, N>, mut writer: Writer<'_>, event: &Event<'_>) -> fmt::Result {
        // who asks for finer levels wants all lines
        if *event.metadata().level() <= Level::INFO {
            let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
            let suppressed = state.renew(Instant::now());
            if suppressed > 0 {
                writeln!(writer, "{suppressed} log lines of the last minute were suppressed: there were too many")?;
            }
            if !state.allow(self.per_minute.load(Ordering::Relaxed), &event.metadata().callsite()) {
                return Ok(());
            }
        }
        self.format.format_event(context, writer, event)
    }
}

impl State {
    fn new(since: Instant) -> Self {
        State { since, written: 0, suppressed: 0, kinds: HashMap::new() }
    }

    fn allow(&mut self, per_minute: u32, kind: &Identifier) -> bool {
        let left = per_minute.saturating_sub(self.written);
        let used = self.kinds.get(kind).copied().unwrap_or_default();
        if used >= left {
            self.suppressed += 1;
            return false;
        }
        self.written += 1;
        self.kinds.insert(kind.clone(), used + 1);
        true
    }

    /// Begins a new minute if the last one is over. Returns the number of lines that were suppressed in it.
    fn renew(&mut self, now: Instant) -> u64 {
        if now.duration_since(self.since) < MINUTE {
            return 0;
        }
        let suppressed = self.suppressed;
        *self = State::new(now);
        suppressed
    }
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::sync::Arc;

    use tracing_subscriber::fmt::format;
    use tracing_subscriber::layer::SubscriberExt;

    use super::*;

    static TEN: AtomicU32 = AtomicU32::new(10);
    static HUNDRED: AtomicU32 = AtomicU32::new(100);

    #[derive(Clone, Default)]
    struct Text(Arc<Mutex<Vec<u8>>>);

    impl io::Write for Text {
        fn write(&mut self, octets: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(octets);
            Ok(octets.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// What `log` writes, in colours or not.
    fn logged(per_minute: &'static AtomicU32, is_coloured: bool, log: impl FnOnce()) -> String {
        let text = Text::default();
        let writer = text.clone();
        let lines = tracing_subscriber::fmt::layer()
            .with_writer(move || writer.clone())
            .with_ansi(is_coloured)
            .fmt_fields(Fields)
            .event_format(Lines::new(format::format().with_target(false), per_minute));
        tracing::subscriber::with_default(tracing_subscriber::registry().with(lines), log);
        let octets = text.0.lock().unwrap().clone();
        String::from_utf8(octets).unwrap()
    }

    #[test]
    fn text_of_a_peer_stays_in_its_line() {
        let forged = "m\n2026-01-01T00:00:00Z  INFO RIC stopped\u{1b}[2J\u{9b}\u{202e}";
        let text = logged(&TEN, false, || {
            tracing::warn!(name = forged, shown = %forged, debug = ?forged, number = 7, "measurements: {forged}");
        });
        assert_eq!(text.lines().count(), 1, "{text}");
        assert!(!text.trim_end().contains(log_lines::is_unsafe), "{text}");
        assert!(text.contains("measurements: m\\n2026") && text.contains(" number=7"), "{text}");
        assert!(text.contains(" shown=m\\n") && text.contains(" name=\"m\\n"), "{text}");
    }

    #[test]
    fn line_has_at_most_1024_octets() {
        for is_coloured in [false, cfg!(feature = "terminal")] {
            let long = "é".repeat(200_000);
            let text = logged(&TEN, is_coloured, || tracing::warn!(long, more = %long, "{long}"));
            assert_eq!(text.lines().count(), 1, "{text}");
            assert!(text.len() <= MAX_LINE_OCTETS, "{} octets", text.len());
            assert!(text.contains("octets more)"), "{text}");
        }
    }

    #[test]
    fn lines_of_one_kind_leave_half_to_others() {
        let text = logged(&HUNDRED, false, || {
            for _ in 0..1000 {
                tracing::warn!("of one kind");
            }
            tracing::warn!("of another kind");
        });
        assert_eq!(text.lines().filter(|line| line.ends_with("of one kind")).count(), 50, "{text}");
        assert_eq!(text.lines().filter(|line| line.ends_with("of another kind")).count(), 1, "{text}");
    }

    #[test]
    fn suppressed_lines_are_counted() {
        let mut state = State::new(Instant::now());
        let kind = tracing::callsite!(name: "kind", kind: tracing::metadata::Kind::EVENT, fields: );
        let kind = tracing::callsite::Callsite::metadata(kind).callsite();
        assert_eq!((0..10).filter(|_| state.allow(2, &kind)).count(), 1);
        let now = state.since + MINUTE;
        assert_eq!((state.renew(now), state.renew(now)), (9, 0));
    }
}
