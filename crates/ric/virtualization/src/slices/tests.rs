use super::*;

const HALF: Part = Part { share: 0.5, tenant: 0 };
const NO_SCHEDULERS: [PrintableString<'static>; 2] = [PrintableString::literal(""), PrintableString::literal("")];

fn slice(id: u32, parameters: NvsParameters) -> Slice<'static> {
    let none = PrintableString::literal("");
    Slice { id, label: none.clone(), ue_scheduler: none, parameters: Parameters::Nvs(parameters) }
}

fn capacity(id: u32, reserved: f32) -> Slice<'static> {
    slice(id, NvsParameters::Capacity(Share { reserved }))
}

fn add(slices: Vec<Slice<'static>>) -> ControlMessage<'static> {
    let dl = DirectionSlices { scheduler: PrintableString::literal("NVS"), slices: slices.into() };
    ControlMessage::AddOrModify(SliceConfiguration { dl, ul: DirectionSlices::default() })
}

fn associate(rnti: u16, dl_id: u32) -> ControlMessage<'static> {
    ControlMessage::Associate(vec![UeSlices { dl_id, ul_id: NO_SLICE, rnti }].into())
}

/// The slices after controls of a tenant with UEs 1 to 3.
fn configured(controls: &[ControlMessage<'static>]) -> Result<VirtualSlices, Refusal> {
    let has_ue = |rnti| (1..=3).contains(&rnti);
    controls.iter().try_fold(VirtualSlices::default(), |slices, control| slices.after(control, &NO_SCHEDULERS, has_ue))
}

fn physical_share(slice: &Slice<'_>) -> f64 {
    share(slice).unwrap()
}

/// The example of the FlexRIC paper, appendix B: 5 of 50 Mbit/s in half of a cell of 100 Mbit/s.
#[test]
fn rate_slice_keeps_its_rate_and_its_reference_is_that_of_the_whole_cell() {
    let rate = NvsParameters::Rate(Rate { required_mbps: 5.0, reference_mbps: 50.0 });
    let physical = configured(&[add(vec![slice(3, rate)])]).unwrap().physical(HALF, std::iter::empty());
    let expected = NvsParameters::Rate(Rate { required_mbps: 5.0, reference_mbps: 100.0 });
    assert_eq!(physical.slices[0][&19].parameters, Parameters::Nvs(expected));
    // the rest of its half
    assert!((physical_share(&physical.slices[0][&31]) - 0.45).abs() < 1e-6);
    assert!((physical_share(&physical.slices[1][&31]) - 0.5).abs() < 1e-6, "the uplink has no slices");
}

#[test]
fn tenant_without_slices_has_its_share() {
    let physical = VirtualSlices::default().physical(HALF, 1..=2);
    for direction in &physical.slices {
        assert_eq!(direction.keys().collect::<Vec<_>>(), [&31]);
        assert!((physical_share(&direction[&31]) - 0.5).abs() < 1e-6);
    }
    assert_eq!(physical.ues, BTreeMap::from([(1, [31, 31]), (2, [31, 31])]));
}

#[test]
fn controls_beyond_the_virtual_cell_are_refused_with_the_reason() {
    let negative = slice(1, NvsParameters::Capacity(Share { reserved: -0.1 }));
    let no_reference = slice(1, NvsParameters::Rate(Rate { required_mbps: 1.0, reference_mbps: 0.0 }));
    let fixed = Parameters::Static(e2sm::slice::Positions { low: 0, high: 3 });
    let cases = [
        (add(vec![capacity(1, 0.7), capacity(2, 0.4)]), "downlink: the slices would take 110.0 % of the virtual cell"),
        (add(vec![capacity(10, 0.1)]), "slice 10: ids are 0 to 9"),
        (add(vec![capacity(1, 0.1), capacity(1, 0.1)]), "slice 1 is named twice"),
        (add(vec![negative]), "slice 1: the share is not a number between 0 and 1"),
        (add(vec![no_reference]), "slice 1: the share is not a number between 0 and 1"),
        (
            add(vec![Slice { parameters: fixed, ..capacity(1, 0.1) }]),
            "STATIC cannot share a cell with other operators; NVS can",
        ),
        (associate(9, NO_SLICE), "there is no UE with RNTI 9"),
        (ControlMessage::Delete(DeleteSlices { dl: vec![4].into(), ul: vec![].into() }), "there is no slice 4"),
    ];
    for (control, reason) in cases {
        assert_eq!(configured(&[control]).unwrap_err().to_string(), reason);
    }
    let two = add(vec![capacity(1, 0.5), capacity(2, 0.5)]);
    assert_eq!(configured(&[two, associate(1, 3)]).unwrap_err(), Refusal::UnknownSlice(3));
}

#[test]
fn deleted_slice_leaves_its_ues_to_the_rest() {
    let slices = configured(&[
        add(vec![capacity(1, 0.5)]),
        associate(2, 1),
        ControlMessage::Delete(DeleteSlices { dl: vec![1].into(), ul: vec![].into() }),
    ])
    .unwrap();
    assert_eq!(slices.ues, BTreeMap::new());
    assert_eq!(slices.physical(HALF, 2..=2).ues[&2], [31, 31]);
}

/// The shares of the base station's slices in the downlink, by id, of a tenant with half of the cell and so many UEs.
fn shares(controls: &[ControlMessage<'static>], ues: u16) -> Vec<(u32, f64)> {
    let physical = configured(controls).unwrap().physical(HALF, 1..=ues);
    physical.slices[0].iter().map(|(id, slice)| (*id, (1e3 * physical_share(slice)).round() / 1e3)).collect()
}

#[test]
fn slices_without_ues_lend_their_shares_to_slices_of_the_same_tenant() {
    let three = add(vec![capacity(1, 0.3), capacity(2, 0.2), capacity(3, 0.1)]);
    let only = |ues: &[(u16, u32)]| {
        let moved = ues.iter().map(|(rnti, slice)| associate(*rnti, *slice));
        [three.clone()].into_iter().chain(moved).collect::<Vec<_>>()
    };
    // nobody would receive anything: all is as the tenant has configured it
    assert_eq!(shares(&only(&[]), 0), [(17, 0.15), (18, 0.1), (19, 0.05), (31, 0.2)]);
    // UEs without a slice have all of the tenant's half
    assert_eq!(shares(&only(&[]), 2), [(17, 0.0), (18, 0.0), (19, 0.0), (31, 0.5)]);
    // one with 30 % and one with 20 %: as 3 to 2
    assert_eq!(shares(&only(&[(1, 1), (2, 2)]), 2), [(17, 0.3), (18, 0.2), (19, 0.0), (31, 0.0)]);
    // one with 30 % and the rest of 40 %
    assert_eq!(shares(&only(&[(1, 1)]), 2), [(17, 0.214), (18, 0.0), (19, 0.0), (31, 0.286)]);
    assert_eq!(shares(&only(&[(1, 1), (2, 2), (3, 3)]), 3), [(17, 0.25), (18, 0.167), (19, 0.083), (31, 0.0)]);
}

#[test]
fn ues_without_a_slice_have_the_cell_of_slices_that_leave_nothing_and_have_no_ues() {
    let all = add(vec![capacity(1, 0.6), capacity(2, 0.4)]);
    assert_eq!(shares(std::slice::from_ref(&all), 2), [(17, 0.0), (18, 0.0), (31, 0.5)]);
    // as in a cell of its own: what slice 1 does not use
    assert_eq!(shares(&[all.clone(), associate(1, 1)], 2), [(17, 0.5), (18, 0.0)]);
    assert_eq!(configured(&[all, associate(1, 1)]).unwrap().physical(HALF, 1..=2).ues[&2][0], NO_SLICE);
}

#[test]
fn rate_slice_lends_its_share_without_ues_and_does_not_borrow() {
    let rate = |id, required_mbps| slice(id, NvsParameters::Rate(Rate { required_mbps, reference_mbps: 50.0 }));
    let both = add(vec![rate(1, 10.0), capacity(2, 0.5)]);
    assert_eq!(shares(&[both.clone(), associate(1, 2)], 1), [(17, 0.0), (18, 0.5), (31, 0.0)]);
    // the capacity slice has what the rate slice does not reserve
    assert_eq!(shares(&[both.clone(), associate(1, 1), associate(2, 2)], 2), [(17, 0.1), (18, 0.4), (31, 0.0)]);
    assert_eq!(shares(&[both, associate(1, 1)], 1), [(17, 0.1), (18, 0.25), (31, 0.15)]);
}

/// A source of random numbers that a seed repeats (xorshift64*).
pub(crate) struct Random(pub u64);

impl Random {
    pub fn below(&mut self, bound: u32) -> u32 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        ((self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33) % u64::from(bound)) as u32
    }
}

fn random_control(random: &mut Random) -> ControlMessage<'static> {
    let id = random.below(20);
    match random.below(4) {
        0 | 1 => {
            let count = random.below(4);
            let slices = (0..count).map(|_| match random.below(2) {
                0 => capacity(random.below(20), random.below(110) as f32 / 100.0),
                _ => {
                    let (required_mbps, reference_mbps) = (random.below(50) as f32, random.below(100) as f32);
                    slice(random.below(20), NvsParameters::Rate(Rate { required_mbps, reference_mbps }))
                }
            });
            add(slices.collect())
        }
        2 => ControlMessage::Delete(DeleteSlices { dl: vec![id].into(), ul: vec![].into() }),
        _ => associate(random.below(6) as u16, id),
    }
}

/// Random tenants, agreements, slices, arrivals and departures: whatever the tenants do, and after each step of each change,
/// the slices of a tenant never take more than its share of the cell, and its slices with UEs take all of it if one of these is a capacity
/// slice; no tenant has a slice or a UE of another one; and the steps lead to what is configured.
#[test]
fn sum_of_a_tenants_slices_never_exceeds_its_share() {
    for seed in 1..=300 {
        let mut random = Random(seed);
        let count = 1 + random.below(4) as usize;
        let shares: Vec<f64> = (0..count).map(|_| f64::from(1 + random.below(100 / count as u32)) / 100.0).collect();
        let mut configured = vec![VirtualSlices::default(); count];
        let mut actual = vec![PhysicalSlices::default(); count];
        let mut owner: BTreeMap<u16, usize> = BTreeMap::new();
        for _ in 0..60 {
            let tenant = random.below(count as u32) as usize;
            let part = Part { share: shares[tenant], tenant: tenant as u32 };
            let rnti = random.below(6) as u16;
            match random.below(4) {
                0 => drop(owner.entry(rnti).or_insert(tenant)),
                1 => {
                    if let Some(left) = owner.remove(&rnti) {
                        configured[left].ues.remove(&rnti);
                        actual[left].ues.remove(&rnti);
                    }
                }
                _ => {
                    let control = random_control(&mut random);
                    let has_ue = |rnti| owner.get(&rnti) == Some(&tenant);
                    if let Ok(next) = configured[tenant].after(&control, &NO_SCHEDULERS, has_ue) {
                        configured[tenant] = next;
                    }
                }
            }
            let own = owner.iter().filter(|(_, of)| **of == tenant).map(|(rnti, _)| *rnti);
            let target = configured[tenant].physical(part, own);
            for step in actual[tenant].steps_to(&target) {
                actual[tenant].apply(&step);
                for slices in &actual[tenant].slices {
                    let total: f64 = slices.values().map(physical_share).sum();
                    assert!(total <= part.share + 1e-5, "seed {seed}: {total} of {}", part.share);
                    assert!(slices.keys().all(|id| Part::tenant_of(*id) == Some(part.tenant)), "seed {seed}");
                }
            }
            assert_eq!(actual[tenant].steps_to(&target), [], "seed {seed}");
            assert_eq!(actual[tenant].slices, target.slices, "seed {seed}");
            for (at, slices) in actual[tenant].slices.iter().enumerate() {
                let used: BTreeSet<u32> = actual[tenant].ues.values().map(|ue| ue[at]).collect();
                let used: Vec<_> = slices.values().filter(|slice| used.contains(&slice.id)).collect();
                let is_capacity = |slice: &&Slice<'_>| matches!(slice.parameters, Parameters::Nvs(NvsParameters::Capacity(Share { reserved })) if reserved > 0.0);
                let total: f64 = used.iter().map(|slice| physical_share(slice)).sum();
                let least = part.share - LEAST_SHARE * slices.len() as f64 - 1e-5;
                assert!(
                    !used.iter().copied().any(|slice| is_capacity(&slice)) || total >= least,
                    "seed {seed}: slices with UEs have {total} of {} in direction {at}",
                    part.share
                );
            }
            assert!(actual[tenant].ues.keys().all(|rnti| owner.get(rnti) == Some(&tenant)), "seed {seed}");
        }
    }
}
