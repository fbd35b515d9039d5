//! Deployments, antennas, fading and trajectories of scenario files; mistakes are refused with their place.

use std::path::Path;

use radio::Time;
use radio::phy::{
    Antenna, DelayProfile, DeploymentScenario as Environment, Layout, LineOfSight, Multipath, Propagation,
};

use super::{Error, Scenario, ScenarioFolders};
use crate::scenario::DeploymentScenario;

fn read(text: &str) -> Result<Scenario, Error> {
    Scenario::from_toml(text, &ScenarioFolders::with_traces(Path::new("nowhere")))
}

fn error(text: &str) -> String {
    read(text).unwrap_err().to_string()
}

#[test]
fn site_keys_are_read() {
    let text = r#"
        [[cell]]
        sectors = 3
        azimuth_deg = 300
        tilt_deg = 2
        electrical_tilt_deg = 6
        vertical_elements = 8
        antenna_gain_dbi = 7
        power_dbm = 43
        height_m = 20
        propagation = "umi"
        line_of_sight = "probability"
        fading = "tdl-b"
        delay_spread_ns = 80
        [[cell]]
        propagation = "rma"
        [[cell]]
        count = 2
        propagation = "inh-mixed"
        line_of_sight = "always"
        fading = "none"
        azimuth_deg = 180
    "#;
    let cells = read(text).unwrap().cells;
    assert_eq!(cells.len(), 6);
    let azimuths = cells.iter().map(|cell| match cell.site.antenna {
        Antenna::Sector(sector) => Some(sector.azimuth_deg),
        Antenna::Omnidirectional => None,
    });
    assert_eq!(azimuths.collect::<Vec<_>>(), [Some(300.0), Some(60.0), Some(180.0), None, Some(180.0), Some(180.0)]);
    let site = &cells[0].site;
    let Antenna::Sector(sector) = site.antenna else { panic!("{site:?}") };
    assert_eq!((sector.mechanical_tilt_deg, sector.electrical_tilt_deg, sector.vertical_elements), (2.0, 6.0, 8));
    assert_eq!((site.gain_db, site.power_dbm, site.height_m), (7.0, 43.0, 20.0));
    let Propagation { scenario, line_of_sight } = site.propagation;
    assert_eq!((scenario, line_of_sight), (Environment::UrbanMicro, LineOfSight::ByProbability));
    assert_eq!(site.multipath, Multipath::DelayLine { profile: DelayProfile::B, delay_spread_ns: 80.0 });
    let rural = &cells[3].site;
    assert_eq!((rural.height_m, rural.power_dbm, rural.propagation.line_of_sight), (35.0, 46.0, LineOfSight::Never));
    let office = &cells[4].site;
    assert_eq!(
        (office.gain_db, office.power_dbm, office.height_m, office.multipath),
        (5.0, 24.0, 3.0, Multipath::None)
    );
    assert_eq!((cells[1].position, cells[5].position.x_m), (cells[0].position, 500.0));
}

#[test]
fn presets_are_read() {
    let scenario = read("deployment = \"hex7\"\n[[cell]]\n[[ue]]\nper_cell = 4\n").unwrap();
    assert_eq!((scenario.cells.len(), scenario.ues.len()), (21, 84));
    let hex = &scenario.deployment;
    assert_eq!(hex.layout, Some(Layout::Hexagons { rings: 1, inter_site_m: 500.0 }));
    assert_eq!((hex.wrap_around, hex.min_distance_m, hex.site_correlation), (false, 35.0, 0.5));
    let site = &scenario.cells[2].site;
    let Antenna::Sector(sector) = site.antenna else { panic!("{site:?}") };
    assert_eq!((sector.azimuth_deg, sector.electrical_tilt_deg, sector.vertical_elements), (270.0, 12.0, 10));
    assert_eq!(site.propagation.line_of_sight, LineOfSight::ByProbability);

    let text = "[deployment]\npreset = \"hex19\"\ninter_site_m = 300\nwrap_around = false\nmin_distance_m = 5\n\
                site_correlation = 0.2\n[[cell]]\npropagation = \"umi\"\nsectors = 1\n";
    let scenario = read(text).unwrap();
    let expected = DeploymentScenario {
        layout: Some(Layout::Hexagons { rings: 2, inter_site_m: 300.0 }),
        wrap_around: false,
        min_distance_m: 5.0,
        site_correlation: 0.2,
    };
    assert_eq!((scenario.cells.len(), &scenario.deployment), (19, &expected));
    assert_eq!(scenario.cells[0].site.antenna, Antenna::Omnidirectional);
    let micro = read("deployment = \"hex19\"\n[[cell]]\npropagation = \"umi\"\n").unwrap().deployment;
    assert_eq!(micro.layout, Some(Layout::Hexagons { rings: 2, inter_site_m: 200.0 }));
    assert_eq!((micro.wrap_around, micro.min_distance_m), (true, 10.0));

    let office = read("deployment = \"indoor\"\n[[cell]]\n[[ue]]\nx_m = 11\ny_m = 16\n").unwrap();
    assert_eq!((office.cells.len(), office.ues[0].cell), (12, 0), "the UE is below the first site");
    assert_eq!(office.cells[0].site.propagation.scenario, Environment::IndoorOpen);
}

#[test]
fn ue_is_in_the_strongest_cell_if_the_file_says_so() {
    let text = "[[cell]]\ncount = 3\napart_m = 1000\n[[ue]]\ncell = \"strongest\"\nx_m = 1980\ny_m = 10\n[[ue]]\nper_cell = 2\n";
    let scenario = read(text).unwrap();
    assert_eq!(scenario.ues.iter().map(|ue| ue.cell).collect::<Vec<_>>(), [2, 0, 1, 2, 0, 1, 2]);
}

#[test]
fn mistakes_of_deployments_are_rejected_with_place() {
    let hex = |rest: &str| format!("deployment = \"hex7\"\n[[cell]]\n{rest}");
    for (text, expected) in [
        (
            "deployment = \"hex8\"\n[[cell]]",
            "line 1: deployment: \"hex8\" is not one of \"hex7\", \"hex19\", \"indoor\"",
        ),
        ("deployment = 7\n[[cell]]", "line 1: deployment: expected a table"),
        ("[deployment]\n[[cell]]", "line 1: deployment: missing key `preset`: one of hex7, hex19, indoor"),
        (
            "[deployment]\npreset = \"indoor\"\ninter_site_m = 20\n[[cell]]",
            "line 3: deployment: inter_site_m: requires the preset",
        ),
        (
            "[deployment]\npreset = \"hex7\"\ninter_site_m = 5\n[[cell]]",
            "line 3: deployment: inter_site_m: 5 is out of range",
        ),
        (
            "[deployment]\npreset = \"hex7\"\nmin_distance_m = 250\n[[cell]]",
            "line 1: deployment: min_distance_m is 250: must be below",
        ),
        (
            "[deployment]\npreset = \"hex7\"\nsite_correlation = 2\n[[cell]]",
            "line 3: deployment: site_correlation: 2 is out of range",
        ),
        (&hex("x_m = 4"), "line 3: cell[0]: x_m: the preset of `deployment` determines the positions"),
        (&hex("count = 2"), "line 3: cell[0]: count: the preset of `deployment` determines the positions"),
        (&hex("[[cell]]"), "line 3: cell[1]: one [[cell]] describes all cells of the preset"),
        (&hex("[[ue]]\nx_m = 1e5"), "line 3: ue[0]: UE 0: position is (100000, 0): must be within the area"),
        (&hex("[[ue]]\nper_cell = 2\ncount = 2"), "line 4: ue[0]: per_cell: excludes `count`"),
        (&hex("[[ue]]\nper_cell = 2\ncell = 3"), "line 5: ue[0]: cell: excludes `per_cell`"),
        (&hex("[[ue]]\nmcs = 2\ncell = \"strongest\""), "line 5: ue[0]: cell: \"strongest\" requires a position"),
        ("[[cell]]\n[[ue]]\ncell = \"strongest\"", "line 3: ue[0]: cell: \"strongest\" requires a position"),
        ("[[cell]]\nsectors = 7", "line 2: cell[0]: sectors: 7 is out of range 1 to 6"),
        ("[[cell]]\nazimuth_deg = 361", "line 2: cell[0]: azimuth_deg: 361 is out of range -360 to 360"),
        (
            "[[cell]]\nelectrical_tilt_deg = 3",
            "line 2: cell[0]: electrical_tilt_deg: requires `vertical_elements` of 2",
        ),
        ("[[cell]]\nheight_m = 1", "line 2: cell[0]: height_m: 1 is out of range 1.5 to 150"),
        ("[[cell]]\npropagation = \"uma-av\"", "line 2: cell[0]: propagation: \"uma-av\" is not one of \"uma\""),
        ("[[cell]]\nfading = \"tdl-d\"", "line 2: cell[0]: fading: \"tdl-d\" is not one of"),
        ("[[cell]]\ndelay_spread_ns = 30", "line 2: cell[0]: delay_spread_ns: requires the fading \"tdl-a\""),
        (
            "[[cell]]\nfrequency_mhz = 28000",
            "line 2: cell[0]: frequency_mhz: 28000 is above frequency range 1; frequency range 2 is not",
        ),
        (
            "[[cell]]\nscs_khz = 120",
            "line 2: cell[0]: scs_khz: 120 is for frequency range 2; frequency range 2 is not modelled",
        ),
        ("[[cell]]\n[[ue]]\nheight_m = 23", "line 3: ue[0]: height_m: 23 is out of range 1 to 22.5"),
        ("[[cell]]\n[[ue]]\nindoor_percent = 101", "line 3: ue[0]: indoor_percent: 101 is out of range 0 to 100"),
        (
            "[[cell]]\n[[ue]]\nbuilding = \"low-loss\"",
            "line 2: ue[0]: missing key `indoor_percent`: `building` requires it",
        ),
        (
            "deployment = \"indoor\"\n[[cell]]\n[[ue]]\nindoor_percent = 50",
            "line 4: ue[0]: indoor_percent: the sites of an office",
        ),
        ("[[cell]]\n[[ue]]\nmotion = \"route\"", "line 2: ue[0]: missing key `route`: the way points"),
        ("[[cell]]\n[[ue]]\nroute = [{ x_m = 1, y_m = 1 }]", "line 3: ue[0]: route: requires the motion \"route\""),
        ("[[cell]]\n[[ue]]\nmotion = \"route\"\nroute = [{ x_m = 1 }]", "line 4: ue[0].route[0]: missing key `y_m`"),
        (
            "[[cell]]\n[[ue]]\nx_m = 1\nmotion = \"route\"\nroute = [{ x_m = 1, y_m = 1 }]",
            "line 3: ue[0]: x_m: a UE with a route",
        ),
        ("[[cell]]\n[[ue]]\ntrajectory = \"absent.csv\"", "line 3: ue[0]: trajectory: nowhere/absent.csv: "),
        ("[[cell]]\n[[ue]]\ntrajectory = \"a.csv\"\ncount = 2", "line 4: ue[0]: count: excludes `trajectory`"),
        ("[[cell]]\n[[ue]]\ntrajectory_end = \"stop\"", "line 2: ue[0]: missing key `trajectory`"),
        ("[[cell]]\n[[ue]]\ntrajectory = \"a.csv\"\nmcs = 3", "a UE has one channel"),
    ] {
        let found = error(text);
        assert!(found.contains(expected), "{text}\n{found}");
    }
}

#[test]
fn mistakes_in_trajectories_are_located() {
    let folder = std::env::temp_dir().join(format!("ferric-trajectories-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let read = |name: &str, text: &str| {
        std::fs::write(folder.join(name), text).unwrap();
        let file = format!("[[cell]]\n[[ue]]\ntrajectory = \"{name}\"\n");
        Scenario::from_toml(&file, &ScenarioFolders::with_traces(&folder)).map(|scenario| scenario.ues.len())
    };
    assert_eq!(read("two.csv", "0,a,1,2\n1,b,3,4\n2,a,5,6\n").unwrap(), 2);
    for (name, text, expected) in [
        ("late.csv", "0,a,1,2\n0,a,1,2\n", "late.csv: line 2: t is not later"),
        ("short.csv", "0,a\n", "short.csv: line 1: 2 columns"),
        (
            "cars.xml",
            "<fcd-export>\n<timestep time=\"0\">\n<vehicle id=\"a\" x=\"1\"/>",
            "cars.xml: line 3: y is not a number",
        ),
        ("cars.XML", "0,a,1,2\n", "cars.XML: no samples"),
    ] {
        let found = read(name, text).unwrap_err().to_string();
        assert!(found.starts_with("line 3: ue[0]: trajectory: ") && found.contains(expected), "{found}");
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

/// Over a delay line the base station learns the quality of each subband.
#[test]
fn subband_reports_follow_a_delay_line() {
    let cqis = |fading: &str| {
        let text = format!(
            "[[cell]]\nfading = \"{fading}\"\npower_dbm = 20\n[[ue]]\nx_m = 120\n[[ue.flow]]\nkind = \"greedy\"\n"
        );
        let mut network = read(&text).unwrap().network().unwrap();
        network.advance(Time::from_millis(500));
        network.cell(0).ue(0).unwrap().downlink().subband_cqis().to_vec()
    };
    let selective = cqis("tdl-c");
    assert_eq!(selective.len(), 14, "106 PRBs in subbands of 8");
    let (least, most) = (selective.iter().min().unwrap(), selective.iter().max().unwrap());
    assert!(least < most && most - least <= 3, "{selective:?}");
    assert!(cqis("flat").is_empty() && cqis("none").is_empty());
}
