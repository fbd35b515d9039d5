//! What the xApps of the use cases have in common: reports of all cells, period by period, what UEs receive of cells, and cells that are
//! scheduled slot by slot.

pub mod coverage;
pub mod link_adaptation;
pub mod periods;
pub mod slots;

use ferric::xapp::{Error, Ric};

/// An xApp that decides period by period.
pub trait PeriodicXapp {
    /// Waits for the reports of a period, decides, and waits until what it has decided is executed or refused. `print` receives a line
    /// for each order. Returns `false` at the end of the session.
    ///
    /// # Errors
    /// The error that has ended the session. A refused order has a line.
    fn step(&mut self, print: &mut dyn FnMut(String)) -> Result<bool, Error>;
}

/// Connects to a RIC and runs an xApp, which `start` makes. Passes its lines to `print`, until that returns `false`.
///
/// # Errors
/// If there is no session, no node offers the reports, or the session ends.
pub fn run<X: PeriodicXapp>(
    (ric, name): (&str, &str),
    start: impl FnOnce(&Ric) -> Result<X, Error>,
    mut print: impl FnMut(String) -> bool,
) -> Result<(), Error> {
    let ric = Ric::options().address(ric).name(name).connect()?;
    let (mut app, mut wanted) = (start(&ric)?, true);
    while wanted && app.step(&mut |line| wanted &= print(line))? {}
    Ok(())
}
