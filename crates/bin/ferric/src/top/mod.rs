//! `ferric top`: cells, UEs and events of a RIC, on the whole terminal, as lines or as JSON.

mod model;
mod source;
mod terminal;
mod time;
mod view;

use std::io::{self, IsTerminal};
use std::time::{Duration, Instant, SystemTime};

use anyhow::Context;
use ferric::link::Address;
use ferric::xapp::{Xapp, XappConfig};
use program::{LogLines, outln};
use ratatui::crossterm::event::{Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

use model::Network;
use source::Sources;
use terminal::Screen;
use view::{Palette, View};

use crate::tls;
use crate::xapp::connect;

/// Show cells, UEs and events of a running RIC.
///
/// A table on the whole terminal: `?` lists the keys. Elsewhere (in a pipe), or with --json, it prints one JSON object per
/// period and nothing else: `time`, `ric`, `cells`, `ues` and the `events` since the last object.
#[derive(Clone, clap::Args)]
pub struct Args {
    /// The RIC's address for xApps.
    #[arg(long, value_name = "URL", env = "FERRIC_RIC", default_value = "tcp://127.0.0.1:36423", value_parser = crate::address::xapp)]
    ric: Address,
    /// End when the connection to the RIC is lost, instead of connecting again.
    #[arg(long)]
    no_reconnect: bool,
    #[command(flatten)]
    pub output: OutputArgs,
    #[command(flatten)]
    tls: tls::TlsArgs,
}

/// What is shown, and how.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Output")]
pub struct OutputArgs {
    /// Reporting period in ms.
    #[arg(long, value_name = "P", default_value_t = 1000, value_parser = clap::value_parser!(u32).range(10..=60_000))]
    pub period_ms: u32,
    /// Print one JSON object per period. [default: where standard output is not a terminal]
    #[arg(long)]
    pub json: bool,
    /// Print one line per cell and period.
    #[arg(long, conflicts_with = "json")]
    pub plain: bool,
    /// End after N seconds. [default: run until Ctrl-C]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub seconds: Option<u32>,
}

/// The form of the output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    Screen,
    Json,
    Plain,
}

impl OutputArgs {
    pub fn form(&self) -> Form {
        match (self.json, self.plain) {
            (true, _) => Form::Json,
            (_, true) => Form::Plain,
            _ if io::stdout().is_terminal() => Form::Screen,
            _ => Form::Json,
        }
    }
}

pub fn run(args: &Args) -> anyhow::Result<()> {
    let mut config = XappConfig::default();
    if args.no_reconnect {
        config.reconnect = None;
    }
    config.link.tls = args.tls.load(None)?;
    let xapp = connect(&args.ric, "ferric-top", config, args.output.seconds)?;
    let log = capture_log(&args.output);
    show(xapp, &args.output, &args.ric.to_string(), log)
}

/// Has log lines go to the screen, if there is one.
pub fn capture_log(args: &OutputArgs) -> Option<LogLines> {
    (args.form() == Form::Screen).then(program::capture_log)
}

/// Shows the network of an xApp's RIC, with the log, until a signal, a key or the given time ends it.
pub fn show(mut xapp: Xapp, args: &OutputArgs, ric: &str, log: Option<LogLines>) -> anyhow::Result<()> {
    let stop = xapp.stop_handle();
    program::signals::stop_on_signal(stop.clone())?;
    program::signals::stop_on_hangup(stop.clone())?;
    let end = args.seconds.map(|seconds| Instant::now() + Duration::from_secs(seconds.into()));
    let form = args.form();
    let mut screen = (form == Form::Screen).then(Screen::open).transpose().context("cannot use the terminal")?;
    let mut network = Network::new(xapp.ric_id().to_string());
    network.event(SystemTime::now(), format!("connected to the RIC at {ric}"));
    let mut sources = Sources::new(args.period_ms);
    let mut view = View { palette: Palette { is_coloured: is_coloured() }, ..View::default() };
    let period = Duration::from_millis(args.period_ms.into());
    let mut next_line = Instant::now() + period;
    let (mut is_stale, mut is_new) = (true, true);
    let mut polled = Ok(());
    while !stop.is_stopped() && !terminal::has_panicked() && end.is_none_or(|end| Instant::now() < end) {
        let patience = Duration::from_millis(if screen.is_some() { 40 } else { 100 });
        polled = xapp.poll(Some(patience), |event, ric| is_stale |= sources.handle(event, ric, &mut network));
        if polled.is_err() {
            break;
        }
        for line in log.iter().flat_map(LogLines::take) {
            network.event(SystemTime::now(), line);
            is_stale = true;
        }
        let Some(screen) = &mut screen else {
            if Instant::now() >= next_line {
                next_line += period;
                print(form, &mut network);
            }
            continue;
        };
        // the first frame, a key or another size is shown even in a pause
        let mut is_touched = std::mem::take(&mut is_new);
        match screen.adapt() {
            Ok(is_resized) => is_touched |= is_resized,
            Err(_) => return Ok(()),
        }
        loop {
            let event = match screen.poll() {
                Ok(Some(event)) => event,
                Ok(None) => break,
                // the terminal is closed
                Err(_) => return Ok(()),
            };
            is_touched = true;
            if let Event::Key(key) = event
                && key.kind != KeyEventKind::Release
                && press(key, &mut view, &network)
            {
                return Ok(());
            }
        }
        if is_touched || (is_stale && !view.is_paused) {
            is_stale = false;
            // a terminal that is gone ends the program as its reader's choice
            if screen.draw(|frame| view::draw(frame, &network, &view)).is_err() {
                return Ok(());
            }
        }
    }
    drop(screen);
    polled.context("connection to the RIC lost")
}

/// Prints what is known, as JSON or as lines.
fn print(form: Form, network: &mut Network) {
    let time = time::rfc3339(SystemTime::now());
    if form == Form::Json {
        return outln!("{}", network.take_json(&time));
    }
    for (node, cell) in network.cells() {
        let shown = |name: &str, value: Option<f64>| value.map_or(String::new(), |value| format!(" {name}={value:.2}"));
        outln!(
            "{time} node={node} ues={}{}{}{}{}",
            network.ues_of(node),
            shown("dl_mbps", cell.values.dl_mbps),
            shown("ul_mbps", cell.values.ul_mbps),
            shown("prb_dl_percent", cell.values.prb_dl()),
            shown("prb_ul_percent", cell.values.prb_ul())
        );
    }
}

/// Whether colours are wanted (no-color.org).
fn is_coloured() -> bool {
    std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

/// Applies a key. Returns whether it ends the program.
fn press(key: KeyEvent, view: &mut View, network: &Network) -> bool {
    let is_control = key.modifiers.contains(KeyModifiers::CONTROL);
    match key.code {
        KeyCode::Char('c' | 'q' | 'd') if is_control => return true,
        _ if view.is_typing => match key.code {
            KeyCode::Enter => view.is_typing = false,
            KeyCode::Esc => (view.is_typing, view.filter) = (false, String::new()),
            KeyCode::Backspace => drop(view.filter.pop()),
            KeyCode::Char(character) if view.filter.len() < 40 => view.filter.push(character),
            _ => {}
        },
        _ if view.shows_help => view.shows_help = false,
        KeyCode::Char('q') => return true,
        // leaves what is open first
        KeyCode::Esc if view.shows_details => view.shows_details = false,
        KeyCode::Esc if !view.filter.is_empty() => view.filter.clear(),
        KeyCode::Esc => return true,
        KeyCode::Char('s') => view.sort = view.sort.next(),
        KeyCode::Char('/') => view.is_typing = true,
        KeyCode::Char('?' | 'h') => view.shows_help = true,
        KeyCode::Char('p' | ' ') => view.is_paused = !view.is_paused,
        KeyCode::Enter | KeyCode::Char('d') => view.shows_details = !view.shows_details,
        KeyCode::Down | KeyCode::Char('j') => select(view, network, 1),
        KeyCode::Up | KeyCode::Char('k') => select(view, network, -1),
        KeyCode::PageDown => select(view, network, 10),
        KeyCode::PageUp => select(view, network, -10),
        _ => {}
    }
    false
}

/// Selects the UE so many places further down.
fn select(view: &mut View, network: &Network, places: isize) {
    let ues = network.sorted_ues(view.sort, &view.filter);
    let now = view.selected.as_ref().and_then(|key| ues.iter().position(|(other, _)| *other == key));
    let at = match now {
        Some(at) => at.saturating_add_signed(places).min(ues.len().saturating_sub(1)),
        None => 0,
    };
    view.selected = ues.get(at).map(|(key, _)| (*key).clone());
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(code: KeyCode) -> KeyEvent {
        KeyEvent::new(code, KeyModifiers::NONE)
    }

    fn network() -> Network {
        let mut network = Network::default();
        network.add_cell("gnb-a", "gNB a");
        let samples: Vec<_> =
            [("amf:1", 1.0), ("amf:2", 2.0)].map(|(ue, value)| (ue.to_owned(), "CQI".to_owned(), Some(value))).into();
        network.ue_report(SystemTime::now(), "gnb-a", &samples, 1000);
        network
    }

    #[test]
    fn keys_sort_filter_select_and_end() {
        let (mut view, network) = (View::default(), network());
        let mut press = |code| press(key(code), &mut view, &network);
        assert!(!press(KeyCode::Char('s')) && !press(KeyCode::Char('/')));
        // while a filter is typed, letters are not commands
        for letter in "q-2".chars() {
            assert!(!press(KeyCode::Char(letter)));
        }
        for code in [KeyCode::Backspace, KeyCode::Enter, KeyCode::Esc, KeyCode::Down, KeyCode::Down, KeyCode::Enter] {
            assert!(!press(code), "{code:?}");
        }
        assert!(!press(KeyCode::Esc), "closes the details");
        assert!(press(KeyCode::Esc));
        assert!(press(KeyCode::Char('q')));
        assert_eq!((view.sort, view.filter.as_str()), (model::SortKey::Downlink, ""));
        assert_eq!(view.selected.as_ref().unwrap().1, "amf:2");
        let control_c = KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL);
        assert!(super::press(control_c, &mut View { is_typing: true, ..View::default() }, &network));
    }

    #[test]
    fn selection_stays_within_the_ues() {
        let (mut view, network) = (View::default(), network());
        select(&mut view, &Network::default(), 1);
        assert_eq!(view.selected, None);
        for (places, expected) in [(1, "amf:1"), (10, "amf:2"), (-10, "amf:1")] {
            select(&mut view, &network, places);
            assert_eq!(view.selected.as_ref().unwrap().1, expected);
        }
    }
}
