//! `/v1/positions`: where cells and UEs are, as a client that knows it has stated. No service model reports it.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use rest::{Operation, Problem, Request, Response, Route};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

/// The most cells, and the most UEs.
const MAX_ENTRIES: usize = 10_000;
/// The longest name of a cell or UE, in octets.
const MAX_NAME: usize = 64;
/// The largest coordinate, in metres.
const MAX_M: f64 = 1e7;

/// Positions in a plane, in metres.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "an object: positions")]
struct Positions {
    #[schemars(length(max = 10_000))]
    cells: Vec<CellPosition>,
    #[schemars(length(max = 10_000))]
    ues: Vec<UePosition>,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "an object: the position of a cell")]
struct CellPosition {
    /// The cell's identity: `003800001`.
    #[schemars(length(max = 64))]
    cell: String,
    /// Metres to the east.
    x_m: f64,
    /// Metres to the north.
    y_m: f64,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "an object: the position of a UE")]
struct UePosition {
    /// The UE by one of its names, as in `/v1/ues`: `ip:10.45.0.2`.
    #[schemars(length(max = 64))]
    ue: String,
    /// Metres to the east.
    x_m: f64,
    /// Metres to the north.
    y_m: f64,
}

/// The positions, and how old they are.
#[derive(Serialize, JsonSchema)]
struct KnownPositions {
    #[serde(flatten)]
    positions: Positions,
    /// Time since they were stated; null if they never were.
    age_ms: Option<u64>,
}

#[derive(Default)]
struct Stated {
    positions: Positions,
    at: Option<Instant>,
}

/// Returns the routes.
pub(super) fn routes() -> [Route; 2] {
    let stated = Arc::new(Mutex::new(Stated::default()));
    let read = Operation::get("/v1/positions", "getPositions", "Where cells and UEs are").tag("ues").describe(
        "As they were stated last: E2 reports no positions. `ferric ran --positions` states those of the emulated RAN.",
    );
    let state = Operation::put("/v1/positions", "putPositions", "State where cells and UEs are").tag("ues").describe(
        "For whatever knows it: an emulated RAN, a positioning service, a plan. It replaces what was stated before, and is lost when \
         the RIC stops. The RIC uses it for its page only.",
    );
    let example = json!({
        "cells": [{ "cell": "003800001", "x_m": 0.0, "y_m": 0.0 }],
        "ues": [{ "ue": "ip:10.45.0.2", "x_m": 120.5, "y_m": -40.0 }],
    });
    let state = state.takes::<Positions>().example(example).empties();
    let known = Arc::clone(&stated);
    [
        Route::new(read.returns::<KnownPositions>("The positions."), move |_| {
            let stated = known.lock().unwrap_or_else(PoisonError::into_inner);
            let age_ms = stated.at.map(|at| u64::try_from(at.elapsed().as_millis()).unwrap_or(u64::MAX));
            Ok(Response::ok(KnownPositions { positions: stated.positions.clone(), age_ms }))
        }),
        Route::new(state, move |request| {
            let positions = read_positions(request)?;
            *stated.lock().unwrap_or_else(PoisonError::into_inner) = Stated { positions, at: Some(Instant::now()) };
            Ok(Response::no_content())
        }),
    ]
}

fn read_positions(request: &Request) -> Result<Positions, Problem> {
    let positions: Positions = request.json()?;
    let refused = |at: String, why: String| Problem::unprocessable(format!("{at}: {why}")).with("at", at);
    for (list, count) in [("cells", positions.cells.len()), ("ues", positions.ues.len())] {
        if count > MAX_ENTRIES {
            return Err(refused(list.to_owned(), format!("{count} entries; at most {MAX_ENTRIES} are allowed")));
        }
    }
    let cells = positions.cells.iter().map(|of| ("cells", "cell", &of.cell, of.x_m, of.y_m));
    let ues = positions.ues.iter().map(|of| ("ues", "ue", &of.ue, of.x_m, of.y_m));
    let numbered = cells.enumerate().chain(ues.enumerate());
    for (number, (list, member, name, x_m, y_m)) in numbered {
        if name.is_empty() || name.len() > MAX_NAME {
            return Err(refused(format!("{list}[{number}].{member}"), format!("a name has 1 to {MAX_NAME} octets")));
        }
        for (axis, value) in [("x_m", x_m), ("y_m", y_m)] {
            if value.abs() > MAX_M {
                return Err(refused(format!("{list}[{number}].{axis}"), format!("{value} m is beyond {MAX_M} m")));
            }
        }
    }
    Ok(positions)
}
