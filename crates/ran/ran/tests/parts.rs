//! A split gNB, a gNB and an eNB, as a RIC sees them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::mpsc::{self, Sender};
use std::thread;
use std::time::{Duration, Instant};

use e2sm::kpm::Revision;
use ferric::e2::Indication;
use ferric::e2::topology::RanEvent;
use ferric::e2ap::{Codec, Version};
use ferric::link::Address;
use ferric::server::{Iapp, IappContext, IappEvent, Server, ServerConfig};
use ferric::{Endpoint, StopHandle};
use ran::scenario::ScenarioFolders;
use ran::{Ran, RanConfig, Scenario};

/// The timeout of a failed test, more than ten times of what a test takes.
const PATIENCE: Duration = Duration::from_secs(60);

enum Seen {
    Node(String, Vec<u16>),
    /// A complete base station: its id, its number of nodes, and the cells that they have reported.
    Complete(String, usize, BTreeSet<String>),
}

/// Reports nodes and complete base stations.
struct Watch(Sender<Seen>);

impl Iapp for Watch {
    fn name(&self) -> &str {
        "watch"
    }

    fn on_event(&mut self, event: &IappEvent<'_>, ric: &mut IappContext<'_>) {
        let seen = match event {
            IappEvent::NodeUp(node) => {
                let functions = node.functions.iter().map(|function| function.id.0).collect();
                Seen::Node(node.global_id.to_string(), functions)
            }
            IappEvent::Ran(RanEvent::Complete(id)) => {
                let station = ric.ran().station(*id).unwrap();
                let cells = station.cells().map(|(_, cell)| cell.to_string()).collect();
                Seen::Complete(station.key().to_string(), station.nodes().count(), cells)
            }
            _ => return,
        };
        drop(self.0.send(seen));
    }

    fn on_indication(&mut self, _: &Indication<'_>, _: &mut IappContext<'_>) {}
}

const SCENARIO: &str = "
    [[cell]]
    split = true
    [[cell]]
    [[cell]]
    rat = \"lte\"
    [[ue]]
    count = 6
    cell = \"all\"
";

#[test]
fn ric_sees_the_nodes_of_a_split_gnb() {
    for (version, kpm_revision) in [
        (Version::V1_00, Revision::V1_00),
        (Version::V1_01, Revision::V2_01),
        (Version::V2_03, Revision::V3_00),
        (Version::V3_01, Revision::V4_00),
    ] {
        check_nodes(version, kpm_revision);
    }
}

fn check_nodes(e2ap_version: Version, kpm_revision: Revision) {
    let e2 = Endpoint::new(Address::Memory(format!("ran-parts-{e2ap_version}")), Codec::Per);
    let (news, heard) = mpsc::channel();
    let (sender, stops) = mpsc::channel::<StopHandle>();
    let (ric_stop, address) = (sender.clone(), e2.clone());
    let ric = thread::spawn(move || {
        let mut server = Server::bind(ServerConfig { e2: vec![address], ..ServerConfig::default() }).unwrap();
        server.add_iapp(Box::new(Watch(news)));
        ric_stop.send(server.stop_handle()).unwrap();
        server.run().unwrap();
    });
    let mut running = vec![(stops.recv().unwrap(), ric)];
    let ran = thread::spawn(move || {
        let scenario = Scenario::from_toml(SCENARIO, &ScenarioFolders::with_traces(Path::new(""))).unwrap();
        let mut ran =
            Ran::new(RanConfig { rics: vec![e2], scenario, e2ap_version, kpm_revision, ..RanConfig::default() })
                .unwrap();
        sender.send(ran.stop_handle()).unwrap();
        ran.run().unwrap();
    });
    running.push((stops.recv().unwrap(), ran));

    let deadline = Instant::now() + PATIENCE;
    let (mut nodes, mut stations) = (BTreeMap::new(), BTreeMap::new());
    // setups of E2AP v1 contain no interfaces: each node is complete by itself
    let are_linked = matches!(e2ap_version, Version::V2_03 | Version::V3_01);
    while nodes.len() < 5 || are_linked && stations.get("gnb-00101-e00").is_none_or(|(parts, _)| *parts != 3) {
        match heard
            .recv_timeout(deadline.saturating_duration_since(Instant::now()))
            .unwrap_or_else(|_| panic!("not all came in {e2ap_version}: {nodes:?}, {stations:?}"))
        {
            Seen::Node(name, mut functions) => {
                functions.sort_unstable();
                nodes.insert(name, functions);
            }
            Seen::Complete(name, parts, cells) => {
                stations.insert(name, (parts, cells));
            }
        }
    }
    if are_linked {
        let cells = &stations["gnb-00101-e00"].1;
        assert!(cells.iter().eq(["nr-00101-3800001"]), "from the F1 setups: {cells:?}");
    }
    for (stop, thread) in running {
        stop.stop();
        thread.join().unwrap();
    }
    // KPM 2, RC 3, CCC 4, NI 5, LLC 6; the other ids are those of the models
    let expected: [(&str, &[u16]); 5] = [
        ("enb-00101-e02", &[2, 3, 5, 139, 140, 142, 143, 144, 145, 146, 148, 149]),
        ("gnb-00101-e00", &[2, 3, 4, 5, 139, 140, 149]),
        ("gnb-00101-e00-cu-up-1", &[2, 140, 144, 146, 148]),
        ("gnb-00101-e00-du-1", &[2, 3, 4, 6, 140, 142, 143, 145]),
        ("gnb-00101-e01", &[2, 3, 4, 5, 6, 139, 140, 142, 143, 144, 145, 146, 148, 149]),
    ];
    let expected: BTreeMap<String, Vec<u16>> =
        expected.into_iter().map(|(name, functions)| (name.to_owned(), functions.to_vec())).collect();
    assert_eq!(nodes, expected, "{e2ap_version}");
}
