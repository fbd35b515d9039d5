//! Table 2: the storage that a controller needs.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context as _;

use crate::table::{Cell, Table};
use crate::{Context, Figure, FigureReport, Setting};
use plot::{Panel, Plot, X};

/// FlexRIC with the hello-world model: its smallest image, in MB.
const FLEXRIC_HW_MB: f64 = 76.0;
/// The paper's values in MB.
const PAPER: [(&str, f64); 5] = [
    ("FlexRIC + HW-E2SM, image", FLEXRIC_HW_MB),
    ("FlexRIC + statistics E2SMs, image", 94.0),
    ("O-RAN RIC, platform images", 2469.0),
    ("O-RAN HW xApp, image", 170.0),
    ("O-RAN statistics xApp, image", 166.0),
];
/// The programs of the examples.
const EXAMPLES: [(&str, &str); 3] = [
    ("iapp", "controller with one internal app, KPM"),
    ("ran_function", "agent with one function"),
    ("xapp", "xApp, KPM"),
];

pub(super) fn table2(context: &Context<'_>) -> anyhow::Result<FigureReport> {
    let program = context.ferric;
    let mut table = Table::new(["component", "mb", "found"]);
    let mut notes = Vec::new();
    let of_program = megabytes(program)?;
    let libraries = libraries()?;
    let of_libraries = libraries.iter().map(|path| megabytes(path)).sum::<anyhow::Result<f64>>()?;
    let found = |path: &Path| Cell::Text(path.display().to_string());
    table.row(["ferric: controller, agents, xApps, all models".into(), of_program.into(), found(program)]);
    let names: Vec<_> =
        libraries.iter().filter_map(|path| path.file_name()).map(|name| name.to_string_lossy()).collect();
    table.row(["its shared libraries".into(), of_libraries.into(), Cell::Text(names.join(" "))]);
    table.row(["ferric with its libraries".into(), (of_program + of_libraries).into(), Cell::Nothing]);
    for (name, what) in EXAMPLES {
        let path = program.with_file_name(name);
        match megabytes(&path) {
            Ok(size) => table.row([what.into(), size.into(), found(&path)]),
            Err(_) => {
                table.row([what.into(), Cell::Nothing, Cell::Nothing]);
                notes.push(format!("{} is not built: run `cargo build --release -p ferric-examples`", path.display()));
            }
        }
    }
    for (component, size) in PAPER {
        table.row([component.into(), size.into(), "paper".into()]);
    }
    if cfg!(debug_assertions) {
        notes.push("This is a debug build; a release build is much smaller.".into());
    }
    let categories =
        ["ferric", "libraries", "both", "iapp", "agent", "xApp", "FlexRIC", "+ stats", "O-RAN", "xApp", "xApp"];
    let panel = Panel {
        x: X::Categories(categories.map(Into::into).to_vec()),
        y_label: "MB".into(),
        series: vec![table.series("files of ours, images of the paper's", None, "mb")],
        marks: Vec::new(),
    };
    Ok(FigureReport {
        figure: Figure::Table2,
        setting: Setting {
            paper: "images of Docker: FlexRIC with one model and with three, O-RAN's platform in 15 images, an xApp in each",
            ours: "the files: the program `ferric`, which contains the controller, agents and xApps with all models; the shared \
                   libraries of such a program; the examples, if they are built beside it",
            differs: vec!["files instead of images, without a distribution; an image of these files alone is as large"],
        },
        plot: Plot { title: "Table 2: storage of a controller".into(), panels: vec![panel] },
        claim: "FlexRIC needs 76 to 94 MB, O-RAN's RIC 2,469 MB and some 170 MB more for each xApp",
        judged: "`ferric` with its libraries is smaller than FlexRIC's smallest image",
        statements: Vec::new(),
        holds: Some(of_program + of_libraries <= FLEXRIC_HW_MB),
        values: table,
        summary: None,
        samples: None,
        course: None,
        notes,
    })
}

fn megabytes(path: &Path) -> anyhow::Result<f64> {
    let length = fs::metadata(path).with_context(|| format!("cannot find {}", path.display()))?.len();
    Ok(length as f64 / 1e6)
}

/// The shared libraries that this process has mapped, with the dynamic linker. `ferric` uses the same.
fn libraries() -> anyhow::Result<BTreeSet<PathBuf>> {
    let maps = fs::read_to_string("/proc/self/maps").context("cannot read /proc/self/maps")?;
    let paths = maps.lines().filter_map(|line| line.split_whitespace().nth(5)).map(Path::new);
    let is_library = |path: &&Path| {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        name.contains(".so")
    };
    Ok(paths.filter(is_library).map(Path::to_owned).collect())
}
