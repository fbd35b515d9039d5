//! The terminal in full screen. It is restored at every end of the program that the program sees.

use std::io::{self, IsTerminal, Stdout, Write};
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::event::{self, Event};
use ratatui::crossterm::terminal::{
    Clear, ClearType, EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode, size,
};
use ratatui::crossterm::{cursor, execute};
use ratatui::layout::{Rect, Size};
use ratatui::{Terminal, TerminalOptions, Viewport};
use rustix::event::{PollFd, PollFlags, Timespec};

/// Whether the terminal is in full screen.
static IS_FULL: AtomicBool = AtomicBool::new(false);
/// Whether a thread of the program has panicked: the screen cannot be trusted any more.
static HAS_PANICKED: AtomicBool = AtomicBool::new(false);

/// The screen; dropping it restores the terminal.
pub struct Screen {
    terminal: Terminal<CrosstermBackend<Stdout>>,
    /// Whether keys can be read: standard input may not be a terminal.
    has_keys: bool,
    size: Size,
}

impl Screen {
    /// Switches the terminal to full screen.
    ///
    /// # Errors
    /// If standard output is not a terminal.
    pub fn open() -> io::Result<Self> {
        restore_at_every_end();
        enable_raw_mode()?;
        IS_FULL.store(true, Ordering::SeqCst);
        // from here on the destructor restores
        let mut screen = match terminal_of(Size::default()) {
            Ok(terminal) => Screen { terminal, has_keys: io::stdin().is_terminal(), size: Size::default() },
            Err(error) => {
                restore();
                return Err(error);
            }
        };
        execute!(io::stdout(), EnterAlternateScreen, cursor::Hide)?;
        screen.adapt()?;
        Ok(screen)
    }

    /// Adapts to the terminal's present size. Returns whether it has changed: all is to be drawn then.
    ///
    /// # Errors
    /// If the terminal is gone.
    pub fn adapt(&mut self) -> io::Result<bool> {
        let (width, height) = size()?;
        let size = Size { width, height };
        if size == self.size {
            return Ok(false);
        }
        self.size = size;
        self.terminal = terminal_of(size)?;
        execute!(io::stdout(), Clear(ClearType::All))?;
        Ok(true)
    }

    /// Draws a frame.
    ///
    /// # Errors
    /// If the terminal is gone.
    pub fn draw(&mut self, render: impl FnOnce(&mut ratatui::Frame<'_>)) -> io::Result<()> {
        self.terminal.draw(render).map(drop)
    }

    /// Returns the next key that has arrived.
    ///
    /// # Errors
    /// If the terminal is closed.
    pub fn poll(&mut self) -> io::Result<Option<Event>> {
        if !self.has_keys {
            return Ok(None);
        }
        // at the end of a terminal that is gone, crossterm would read for ever
        let stdin = io::stdin();
        let mut input = [PollFd::new(&stdin, PollFlags::IN)];
        if rustix::event::poll(&mut input, Some(&Timespec::default())).is_ok()
            && input[0].revents().intersects(PollFlags::HUP | PollFlags::ERR)
        {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        match event::poll(Duration::ZERO) {
            Ok(false) => Ok(None),
            Ok(true) => event::read().map(Some),
            Err(_) => {
                self.has_keys = false;
                Ok(None)
            }
        }
    }
}

/// A terminal of that size. With a fixed size, ratatui does not ask the terminal for its cursor, which some do not answer.
fn terminal_of(size: Size) -> io::Result<Terminal<CrosstermBackend<Stdout>>> {
    let viewport = Viewport::Fixed(Rect::new(0, 0, size.width, size.height));
    Terminal::with_options(CrosstermBackend::new(io::stdout()), TerminalOptions { viewport })
}

impl Drop for Screen {
    fn drop(&mut self) {
        restore();
    }
}

/// Whether a thread has panicked since the program began.
pub fn has_panicked() -> bool {
    HAS_PANICKED.load(Ordering::SeqCst)
}

/// Restores the terminal, once: after a panic, at the second signal, and at the orderly end.
fn restore() {
    if IS_FULL.swap(false, Ordering::SeqCst) {
        // a terminal that is gone needs no restoration
        let _ = execute!(io::stdout(), cursor::Show, LeaveAlternateScreen);
        let _ = disable_raw_mode();
        let _ = io::stdout().flush();
        program::show_log_again();
    }
}

fn restore_at_every_end() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        program::at_exit(restore);
        let report = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            HAS_PANICKED.store(true, Ordering::SeqCst);
            // before the message, which would be lost with the alternate screen
            restore();
            report(panic);
        }));
    });
}
