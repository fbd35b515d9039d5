//! Interference between cells, uplink power control, rank and link adaptation, as UEs of a network meet them.

use std::net::Ipv4Addr;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use radio::phy::{
    Area, Carrier, Channel, Cqi, Deployment, Direction, Fading, Fixed, Geometry, MobileUe, Motion, Position, Site,
    UeRadio,
};
use radio::traffic::{self, Flow, FlowSpecification, Kind};
use radio::{
    CellConfig, ChannelStateConfig, FiveTuple, HandoverConfig, LinkCounts, Network, Random, Subscription, Time, Ue,
};

/// Cells in a row, 500 m apart.
fn network(cells: usize, config: &CellConfig, threads: usize) -> (Network, Deployment) {
    let configs = (0..cells).map(|_| config.clone());
    let network = Network::new(configs, HandoverConfig::default(), NonZeroUsize::new(threads).unwrap()).unwrap();
    let at = |cell: usize| Position { x_m: 500.0 * cell as f64, y_m: 0.0 };
    let sites: Arc<[Site]> = (0..cells).map(|cell| Site::new(network.cell(cell).grid(), at(cell))).collect();
    (network, Deployment::new(sites, 7))
}

/// A UE that does not fade at a place, or moves from there on.
fn channel(deployment: &Deployment, cell: usize, [x_m, y_m]: [f64; 2], motion: Motion, random: &mut Random) -> Channel {
    let far = 1e5;
    let area = Area { min: Position { x_m: -far, y_m: -far }, max: Position { x_m: far, y_m: far } };
    let mobile_ue = MobileUe::new(area, Position { x_m, y_m }, motion).unwrap();
    let fading = Fading { branches: 8, min_speed_m_per_s: 0.0 };
    let ue_radio = UeRadio { fading, ..UeRadio::default() };
    Channel::Geometry(Box::new(Geometry::new(deployment.clone(), cell, ue_radio, mobile_ue, random).unwrap()))
}

/// Adds a UE with a constant bit rate in some direction.
fn add(network: &mut Network, cell: usize, channel: Channel, direction: traffic::Direction, rate_bps: u64) {
    let number = network.next_number();
    let address = Ipv4Addr::from(u32::from(Ipv4Addr::new(10, 45, 0, 2)) + number as u32);
    let config = network.cell(cell).config();
    let mut ue = Ue::new(number, Subscription::default(), address, channel, Random::new(5, number), config);
    if rate_bps > 0 {
        let source = Ipv4Addr::new(10, 0, 0, 1);
        let tuple = FiveTuple { source, destination: address, source_port: 1, destination_port: 1, protocol: 17 };
        let kind = Kind::ConstantBitRate { rate_bps, packet_octets: 1400 };
        let specification = FlowSpecification { direction, ..FlowSpecification::new(kind) };
        ue.add_flow(|id, random| Flow::new(id, specification, tuple, random));
    }
    network.add(cell, ue, Time::START, None).unwrap();
}

fn milliwatts(dbm: f64) -> f64 {
    10.0_f64.powf(dbm / 10.0)
}

/// The mean over the last second of the SINR that was measured in a direction, in dB.
fn mean_sinr_db(network: &mut Network, cell: usize, index: usize, direction: Direction) -> f64 {
    let counts = |network: &Network| {
        let ue = network.cell(cell).ue(index).unwrap();
        *if direction == Direction::Downlink { ue.downlink() } else { ue.uplink() }.counts()
    };
    let before = counts(network);
    network.advance(network.cell(0).now() + Duration::from_secs(1));
    let after = counts(network);
    (after.sinr_db - before.sinr_db) / (after.reports - before.reports) as f64
}

/// The gain of the fading of the serving cell, which does not change, in dB: what the SINR is above RSRP over noise and
/// interference.
fn expected_sinr_db(network: &Network, cell: usize, index: usize, activity: &[f64]) -> f64 {
    let geometry = network.cell(cell).ue(index).unwrap().channel().geometry().unwrap();
    let noise_mw = milliwatts(-129.229 + 7.0);
    let others = (0..geometry.sites().len()).filter(|site| *site != cell);
    let sum: f64 = others.map(|site| activity[site] * milliwatts(geometry.rsrp_dbm(site))).sum();
    geometry.rsrp_dbm(cell) - 10.0 * (noise_mw + sum).log10()
}

/// The SINR of a UE with an idle, a half used, a full and a locked neighbour is RSRP over noise and what the neighbour transmits.
#[test]
fn downlink_interference_follows_use_of_neighbour() {
    let sinr_db = |rate_bps: u64, is_locked: bool| {
        let (mut network, deployment) = network(2, &CellConfig::default(), 1);
        let mut random = Random::new(3, 0);
        let at_edge = channel(&deployment, 0, [240.0, 0.0], Motion::Still, &mut random);
        add(&mut network, 0, at_edge, traffic::Direction::Down, 0);
        let near = channel(&deployment, 1, [520.0, 0.0], Motion::Still, &mut random);
        add(&mut network, 1, near, traffic::Direction::Down, rate_bps);
        network.cell_mut(1).set_locked(is_locked);
        network.advance(Time::from_millis(500));
        let before = *network.cell(1).usage(Direction::Downlink);
        let sinr_db = mean_sinr_db(&mut network, 0, 0, Direction::Downlink);
        let usage = network.cell(1).usage(Direction::Downlink).since(&before);
        let always_on = network.cell(1).always_on_share();
        let used = usage.used_share();
        let activity = if is_locked { 0.0 } else { always_on + (1.0 - always_on) * used };
        (sinr_db - expected_sinr_db(&network, 0, 0, &[0.0, activity]), sinr_db, used)
    };
    let (fading_db, locked_db, _) = sinr_db(0, true);
    let mut last_db = locked_db;
    for (rate_bps, used) in [(0, 0.0..0.001), (35_000_000, 0.3..0.7), (200_000_000, 0.999..1.001)] {
        let (gain_db, sinr_db, of) = sinr_db(rate_bps, false);
        assert!(used.contains(&of), "{rate_bps} bit/s: {of}");
        // the mean of SINRs in dB is above the SINR of the mean interference; both means begin up to 10 ms apart
        assert!((-0.15..0.5).contains(&(gain_db - fading_db)), "{rate_bps} bit/s: {gain_db} and {fading_db}");
        assert!(sinr_db < last_db - 1.0, "{rate_bps} bit/s: {sinr_db} after {last_db}");
        last_db = sinr_db;
    }
    assert!(locked_db - last_db > 10.0, "{locked_db} with a locked neighbour, {last_db} with a full one");
}

/// Cells on another carrier do not interfere, those on half of it interfere half.
#[test]
fn interference_needs_common_spectrum() {
    let sinr_db = |frequency_mhz: f64| {
        let other = Carrier { frequency_mhz, ..Carrier::default() };
        let configs = [CellConfig::default(), CellConfig { carrier: other, ..CellConfig::default() }];
        let mut network = Network::new(configs, HandoverConfig::default(), NonZeroUsize::MIN).unwrap();
        let place = |cell| Position { x_m: 500.0 * cell as f64, y_m: 0.0 };
        // with the path loss of one frequency
        let sites: Arc<[Site]> = [0, 1].map(|cell| Site::new(network.cell(0).grid(), place(cell))).into();
        let deployment = Deployment::new(sites, 7);
        let mut random = Random::new(3, 0);
        for (cell, x_m, rate_bps) in [(0, 240.0, 0), (1, 520.0, 200_000_000)] {
            let channel = channel(&deployment, cell, [x_m, 0.0], Motion::Still, &mut random);
            add(&mut network, cell, channel, traffic::Direction::Down, rate_bps);
        }
        assert_eq!(network.is_spectrum_shared(), frequency_mhz < 3639.0);
        network.advance(Time::from_millis(500));
        mean_sinr_db(&mut network, 0, 0, Direction::Downlink)
    };
    let [same, half, next] = [3600.0, 3619.08, 3640.0].map(sinr_db);
    assert!(half > same + 2.0 && half < same + 3.02, "{same} {half}");
    assert!(next > half + 3.0, "{half} {next}");
}

/// Every UE receives every cell, whatever their number, also after a handover.
#[test]
fn number_of_cells_and_handover_keep_interference() {
    let run = |cells: usize| {
        let (mut network, deployment) = network(cells, &CellConfig::default(), 1);
        let mut random = Random::new(3, 0);
        let at_edge = channel(&deployment, 0, [260.0, 0.0], Motion::Still, &mut random);
        add(&mut network, 0, at_edge, traffic::Direction::Down, 0);
        for cell in 0..cells {
            let near = channel(&deployment, cell, [500.0 * cell as f64, 20.0], Motion::Still, &mut random);
            add(&mut network, cell, near, traffic::Direction::Down, 200_000_000);
        }
        network.advance(Time::from_millis(500));
        let before_db = mean_sinr_db(&mut network, 0, 0, Direction::Downlink);
        let fading_db = before_db - expected_sinr_db(&network, 0, 0, &vec![1.0; cells]);
        network.hand_over(0, 0, 1).unwrap();
        network.advance(network.cell(0).now() + Duration::from_millis(100));
        let index = network.cell(1).ues().find(|(_, ue)| ue.number() == 0).unwrap().0;
        let after_db = mean_sinr_db(&mut network, 1, index, Direction::Downlink);
        let other_db = after_db - expected_sinr_db(&network, 1, index, &vec![1.0; cells]);
        assert!((fading_db - other_db).abs() < 0.1, "{cells} cells: {fading_db} and {other_db}");
        [before_db, after_db]
    };
    let two = run(2);
    let mut last = two;
    for cells in [7, 8, 20] {
        let now = run(cells);
        for at in [0, 1] {
            assert!(now[at] <= last[at] + 0.05 && now[at] > two[at] - 2.0, "{cells} cells: {now:?} after {last:?}");
        }
        last = now;
    }
}

/// UEs of a neighbour raise the interference of a cell by what they transmit.
#[test]
fn uplink_interference_follows_grants_of_neighbour() {
    let run = |rate_bps: u64| {
        let (mut network, deployment) = network(2, &CellConfig::default(), 1);
        let mut random = Random::new(3, 0);
        let own = channel(&deployment, 0, [100.0, 0.0], Motion::Still, &mut random);
        add(&mut network, 0, own, traffic::Direction::Up, 0);
        let other = channel(&deployment, 1, [240.0, 0.0], Motion::Still, &mut random);
        add(&mut network, 1, other, traffic::Direction::Up, rate_bps);
        network.advance(Time::from_millis(500));
        let before = *network.cell(1).ue(0).unwrap().uplink().counts();
        let sinr_db = mean_sinr_db(&mut network, 0, 0, Direction::Uplink);
        let other = network.cell(1).ue(0).unwrap();
        let after = *other.uplink().counts();
        let transmissions = |counts: &LinkCounts| counts.blocks + counts.rounds[1..].iter().sum::<u64>();
        let geometry = other.channel().geometry().unwrap();
        let headroom_db = other.uplink().power_headroom_db().unwrap();
        assert!(rate_bps < 50_000_000 || headroom_db < 0.0, "it sends with its largest power");
        let noise_mw = milliwatts(-129.229 + 5.0);
        let over_noise = milliwatts(23.0 - geometry.loss_db(0)) / 1272.0 / noise_mw;
        (sinr_db, transmissions(&after) - transmissions(&before), over_noise)
    };
    let (idle_db, none, _) = run(0);
    let (some_db, some, _) = run(300_000);
    // two uplink slots and four symbols of another in each 5 ms
    let (full_db, full, over_noise) = run(50_000_000);
    assert!(none == 0 && (10..300).contains(&some) && full >= 600, "{none}, {some} and {full} blocks");
    assert!(over_noise > 1.0, "{over_noise}");
    let expected_db = idle_db - 10.0 * (1.0 + over_noise).log10();
    assert!((full_db - expected_db).abs() < 0.1, "{full_db} and not {expected_db}");
    assert!(some_db < idle_db - 0.05 && full_db < some_db - 1.0, "{idle_db} {some_db} {full_db}");
}

/// At the edge of a cell the power of a UE suffices for few PRBs: the SINR of a block falls with its PRBs, and the scheduler
/// limits them. Near the cell it has all PRBs and headroom.
#[test]
fn sinr_of_uplink_blocks_falls_with_granted_bandwidth_at_cell_edge() {
    let run = |x_m: f64, rate_bps: u64| {
        let (mut network, deployment) = network(1, &CellConfig::default(), 1);
        let mut random = Random::new(3, 0);
        let ue = channel(&deployment, 0, [x_m, 0.0], Motion::Still, &mut random);
        add(&mut network, 0, ue, traffic::Direction::Up, rate_bps);
        network.advance(Time::from_millis(1000));
        let ue = network.cell(0).ue(0).unwrap();
        let link = ue.uplink();
        let prbs = link.counts().last_prbs;
        // the power on all granted PRBs over the noise on each
        let geometry = ue.channel().geometry().unwrap();
        let power_mw = (milliwatts(-80.0 + 3.0103 + 0.8 * geometry.loss_db(0)) * f64::from(prbs)).min(milliwatts(23.0));
        let received_dbm = 10.0 * (power_mw / f64::from(12 * prbs)).log10() + 3.0 - geometry.loss_db(0);
        let fading_db = link.sinr_db() - (geometry.uplink_rsrp_dbm() + 129.229 - 5.0);
        let expected_db = received_dbm + 129.229 - 5.0 + fading_db;
        assert!((link.block_sinr_db() - expected_db).abs() < 0.01, "{} and not {expected_db}", link.block_sinr_db());
        let headroom_db = link.power_headroom_db().unwrap();
        let wanted_dbm = -80.0 + 3.0103 + 10.0 * f64::from(prbs).log10() + 0.8 * geometry.loss_db(0);
        assert!((headroom_db - (23.0 - wanted_dbm)).abs() < 0.01, "{headroom_db}");
        let bler = 1.0 - link.counts().rounds[0] as f64 / link.counts().rounds.iter().sum::<u64>().max(1) as f64;
        (prbs, link.block_sinr_db(), headroom_db, bler, link.counts().block_octets)
    };
    let (prbs, near_db, headroom_db, ..) = run(30.0, 200_000_000);
    assert!(prbs == 104 && headroom_db > 0.0 && near_db > 15.0, "{prbs} PRBs, {near_db} dB, {headroom_db} dB left");
    let (few, few_db, ..) = run(500.0, 20_000);
    let (more, more_db, headroom_db, bler, _) = run(500.0, 20_000_000);
    assert!(few < more && more < 104 && headroom_db < 0.0, "{few} and {more} PRBs, {headroom_db} dB left");
    assert!(more_db < few_db - 3.0, "{few_db} dB on {few} PRBs, {more_db} dB on {more}");
    assert!(bler < 0.2, "the MCS follows the granted bandwidth: {bler}");
}

/// The downlink throughput of a UE with a fixed SINR, in Mbit/s.
fn mbps(downlink_layers: u8, sinr_db: f64) -> f64 {
    let carrier = Carrier { downlink_layers, ..Carrier::default() };
    let config = CellConfig { carrier, ..CellConfig::default() };
    let mut network = Network::new([config], HandoverConfig::default(), NonZeroUsize::MIN).unwrap();
    let fixed = Channel::Fixed(Fixed::sinr(sinr_db, 20.0));
    add(&mut network, 0, fixed, traffic::Direction::Down, 400_000_000);
    let octets = |network: &Network| network.cell(0).counts(0).unwrap().dl_rlc.delivered_octets;
    network.advance(Time::from_millis(1000));
    let before = octets(&network);
    network.advance(Time::from_millis(3000));
    (octets(&network) - before) as f64 * 4e-6
}

/// At -5 dB a single layer carries most, and more antennas have no effect on it; at 40 dB all layers carry as much as one each.
#[test]
fn rank_follows_sinr() {
    let [one, two, four] = [1, 2, 4].map(|layers| mbps(layers, -5.0));
    assert!(one > 0.5 && (two / one - 1.0).abs() < 0.01 && (four / one - 1.0).abs() < 0.01, "{one} {two} {four}");
    let [one, two, four] = [1, 2, 4].map(|layers| mbps(layers, 40.0));
    assert!((two / one - 2.0).abs() < 0.02 && (four / one - 4.0).abs() < 0.04, "{one} {two} {four}");
    let [one, two, four] = [1, 2, 4].map(|layers| mbps(layers, 15.0));
    assert!((1.05..1.6).contains(&(two / one)) && (1.2..2.5).contains(&(four / one)), "{one} {two} {four}");
}

/// Without an outer loop the MCS is that of the reported CQI, and follows a change of the channel after the delay of the report,
/// at the next one that is measured.
#[test]
fn mcs_follows_reported_cqi_with_period_and_delay() {
    let ms = Duration::from_millis;
    let adaptation = radio::phy::Adaptation::new(&Carrier::default().check().unwrap(), Direction::Downlink);
    // the exact SINR allows a higher MCS than the CQI
    let is_between = |sinr_db: &f64| adaptation.mcs(*sinr_db) > adaptation.mcs_of_cqi(adaptation.cqi(*sinr_db));
    let better_db = (0..100).map(|step| 12.0 + 0.1 * f64::from(step)).find(is_between).unwrap();
    for (cqi_period, cqi_delay) in [(ms(5), ms(5)), (ms(40), ms(8)), (ms(20), Duration::ZERO), (ms(10), ms(25))] {
        let channel_state = ChannelStateConfig { cqi_period, cqi_delay, ..ChannelStateConfig::default() };
        let config = CellConfig { channel_state, outer_loop: None, ..CellConfig::default() };
        let mut network = Network::new([config], HandoverConfig::default(), NonZeroUsize::MIN).unwrap();
        add(&mut network, 0, Channel::Fixed(Fixed::sinr(3.0, 10.0)), traffic::Direction::Down, 1_000_000);
        network.advance(Time::from_millis(200));
        let changed = network.cell(0).now();
        network.cell_mut(0).ue_mut(0).unwrap().set_channel(Channel::Fixed(Fixed::sinr(better_db, 10.0)));
        let (before, after) = (adaptation.cqi(3.0), adaptation.cqi(better_db));
        let slot = Duration::from_micros(500);
        let mut seen = changed;
        loop {
            network.advance(seen + slot);
            let link = network.cell(0).ue(0).unwrap().downlink();
            let cqi = Cqi(link.cqi());
            assert!(cqi == before || cqi == after);
            assert_eq!(link.mcs(), adaptation.mcs_of_cqi(cqi), "{cqi:?}");
            if cqi == after {
                break;
            }
            seen += slot;
        }
        // 200 ms is a multiple of every period; the channel itself is updated every 5 ms
        let first = if cqi_period > ms(5) { cqi_period } else { ms(5) };
        let expected = changed + cqi_delay..=changed + first + cqi_delay;
        assert!(expected.contains(&seen), "{cqi_period:?}, {cqi_delay:?}: {seen:?} and not {expected:?}");
    }
}

/// UEs that move through loaded cells, with handovers by hand: the same with any number of threads and steps.
#[test]
fn interference_is_independent_of_threads_and_step_size() {
    let run = |threads: usize, step_ms: u64| {
        let (mut network, deployment) = network(5, &CellConfig::default(), threads);
        for number in 0..20_u32 {
            let mut random = Random::new(4, number.into());
            let (cell, heading_deg) = ((number % 5) as usize, f64::from(number) * 17.0);
            let motion = Motion::Straight { speed_m_per_s: 20.0, heading_deg };
            let channel = channel(&deployment, cell, [500.0 * cell as f64 + 60.0, 80.0], motion, &mut random);
            let direction = if number % 3 == 0 { traffic::Direction::Up } else { traffic::Direction::Down };
            add(&mut network, cell, channel, direction, 2_000_000 * u64::from(number % 4));
        }
        let advance = |network: &mut Network, until_ms: u64| {
            let until = Time::from_millis(until_ms);
            while network.cell(0).now() < until {
                let next = network.cell(0).now() + Duration::from_millis(step_ms);
                network.advance(next.min(until));
            }
        };
        advance(&mut network, 600);
        network.hand_over(1, 0, 3).unwrap();
        advance(&mut network, 1500);
        (0..5)
            .flat_map(|cell| (0..network.cell(cell).ue_indices()).map(move |index| (cell, index)))
            .map(|(cell, index)| network.cell(cell).counts(index).unwrap())
            .collect::<Vec<_>>()
    };
    let at_once = run(1, 1500);
    assert!(at_once.iter().any(|counts| counts.ul.blocks > 0));
    assert!(run(3, 1500) == at_once);
    assert!(run(2, 7) == at_once);
}
