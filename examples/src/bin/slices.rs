//! An xApp that divides each cell's downlink into two slices, assigns the UEs of one service to theirs, and prints the
//! slices' state.
//!
//! `cargo run -p ferric-examples --bin slices -- tcp://127.0.0.1:36423`, with `ferric ric` and `ferric ran` running
//!
//! The service of a UE is the S-NSSAI that it requested, which nodes report in RRC notifications (FlexRIC paper, 6.1.2).

use std::collections::HashMap;
use std::time::Duration;

use ferric::xapp::{CellId, Direction, Error, Event, Ric, SliceShare, UeReference};

/// The slice service type of the urgent service (TS 23.501 5.15.2.2), its slice, and the slice of all other UEs.
const URLLC: u8 = 2;
const IN_TIME: u32 = 1;
const OTHERS: u32 = 0;
/// The time between two looks at UEs and slices.
const PERIOD: Duration = Duration::from_millis(100);

/// Two downlink slices, each with a share.
fn two_slices(in_time_percent: f32) -> [SliceShare; 2] {
    let slice = |id, label: &str, percent| SliceShare { label: label.to_owned(), ..SliceShare::new(id, percent) };
    [slice(OTHERS, "others", 100.0 - in_time_percent), slice(IN_TIME, "in-time", in_time_percent)]
}

/// Assigns the UEs that are new in their cell to the slice of their service. Returns their number.
fn assign(ric: &Ric, assigned: &mut HashMap<UeReference, CellId>) -> Result<usize, Error> {
    let mut moved = 0;
    for ue in ric.ues()? {
        let Ok(identity) = ue.identity() else { continue }; // it has left
        let Some(cell) = identity.cell.map(CellId::new) else { continue };
        if assigned.get(ue.reference()) == Some(&cell) {
            continue;
        }
        let is_urgent = identity.context.s_nssais.iter().any(|s_nssai| s_nssai.sst.0 == [URLLC]);
        match ue.slice(if is_urgent { IN_TIME } else { OTHERS }) {
            Ok(_) => {
                assigned.insert(ue.reference().clone(), cell);
                moved += 1;
            }
            Err(error) => eprintln!("{}: {error}", ue.reference()),
        }
    }
    Ok(moved)
}

/// Passes a line for each step and slice to `print`, until it returns `false`.
///
/// # Errors
/// If the share is not one, or the session with the RIC ends. A node that refuses the slices has a line.
pub fn run(ric: &str, in_time_percent: f32, mut print: impl FnMut(String) -> bool) -> Result<(), Error> {
    let ric = Ric::options().address(ric).name("slices").connect()?;
    let (mut events, mut assigned) = (ric.events()?, HashMap::new());
    let mut wanted = true;
    while wanted {
        while let Some(event) = events.try_next()? {
            let Event::NodeUp(node) = event else { continue };
            match ric.node(&node)?.slices().set(two_slices(in_time_percent)) {
                Ok(_) => wanted &= print(format!("{node}: slices set")),
                Err(error @ Error::Refused { .. }) => wanted &= print(error.to_string()),
                Err(error) => return Err(error),
            }
        }
        let moved = assign(&ric, &mut assigned)?;
        if moved > 0 {
            wanted &= print(format!("{moved} UEs assigned"));
        }
        for slice in ric.slices().list()?.iter().filter(|slice| slice.direction == Direction::Downlink) {
            let share = slice.share_percent.unwrap_or_default();
            wanted &= print(format!("slice {} {}: {share:.0} %, {} UEs", slice.id, slice.label, slice.ues));
        }
        std::thread::sleep(PERIOD);
    }
    Ok(())
}

fn main() -> Result<(), Error> {
    let ric = std::env::args().nth(1).unwrap_or("tcp://127.0.0.1:36423".into());
    run(&ric, 30.0, |line| {
        println!("{line}");
        true
    })
}
