use e2sm::common::Sst;

use super::*;

const A: PlmnIdentity = PlmnIdentity::from_codes(1, 1, 2);
const B: PlmnIdentity = PlmnIdentity::from_codes(1, 2, 2);

fn slice(sst: u8) -> SNssai {
    SNssai { sst: Sst([sst]), sd: None }
}

fn quota(plmn: PlmnIdentity, sst: u8, min: u8, max: u8) -> SlicePrbQuota {
    SlicePrbQuota::of_slice(plmn, slice(sst), min, max)
}

/// Tenants of network A (half), of B with slice 2 (30 %), and of the rest of B (20 %).
fn sla() -> Sla {
    let tenant = |name: &str, share: u32, plmn: &str, more: &str| {
        format!(
            "[[tenant]]\nname = \"{name}\"\nshare_percent = {share}\nplmn = \"{plmn}\"\nric = \"tcp://{name}:1\"\n{more}\n"
        )
    };
    let text =
        tenant("a", 50, "00101", "") + &tenant("b2", 30, "00102", "s_nssais = [\"2\"]") + &tenant("b", 20, "00102", "");
    Sla::parse(&text).unwrap()
}

#[test]
fn ratios_are_scaled_by_the_share() {
    let physical = |min, max| {
        let policy = &Policies::physical(&quota(A, 1, min, max), 0.5).policies[0];
        (policy.min_percent.unwrap(), policy.max_percent.unwrap())
    };
    assert_eq!(physical(60, 100), (30, 100), "what others leave may be used");
    assert_eq!(physical(60, 80), (30, 40));
    assert_eq!(physical(25, 25), (12, 13), "the minimum is rounded down, the maximum up");
}

#[test]
fn quotas_of_others_are_refused() {
    let refused = |tenant, quota: &SlicePrbQuota| {
        Policies::default().after(quota, &CellPolicies::default(), &sla(), tenant).is_err()
    };
    let cases = [
        (0, quota(A, 1, 10, 100), false),
        (0, quota(B, 1, 10, 100), true),
        (1, quota(B, 2, 10, 100), false),
        (1, quota(B, 1, 10, 100), true),
        (2, quota(B, 1, 10, 100), false),
        (2, quota(B, 2, 10, 100), true),
    ];
    for (tenant, quota, expected) in cases {
        assert_eq!(refused(tenant, &quota), expected, "tenant {tenant}: {quota:?}");
    }
    let everyone = SlicePrbQuota {
        policies: vec![RrmPolicyRatio {
            members: vec![],
            min_percent: Some(1),
            max_percent: Some(2),
            dedicated_percent: None,
        }],
    };
    assert!(refused(0, &everyone));
}

#[test]
fn minimum_ratios_are_bounded_by_the_virtual_cell() {
    let policies = Policies::default().after(&quota(A, 1, 60, 100), &CellPolicies::default(), &sla(), 0).unwrap();
    let refusal = policies.after(&quota(A, 2, 41, 100), &CellPolicies::default(), &sla(), 0).unwrap_err();
    assert_eq!(refusal.to_string(), "the minimum ratios would take 101 % of the virtual cell");
    assert_eq!(refusal.cause(), CauseRicRequest::FunctionResourceLimit);
    // a policy of the same members is replaced
    assert!(policies.after(&quota(A, 1, 100, 100), &CellPolicies::default(), &sla(), 0).is_ok());
    assert_eq!(policies.neutral().unwrap(), quota(A, 1, 0, 100));
}

/// Whatever a tenant sets, and whatever its share: the base station reserves at most the share for it.
#[test]
fn physical_minimum_ratios_never_exceed_the_share() {
    let mut state = 1_u32;
    let mut below = |bound: u32| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) % bound
    };
    let sla = sla();
    for seed in 0..500 {
        let share = f64::from(1 + below(1000)) / 1000.0;
        let mut policies = Policies::default();
        for _ in 0..10 {
            let min = below(101) as u8;
            let quota = quota(A, below(5) as u8, min, min + below(101 - u32::from(min)) as u8);
            if let Ok(next) = policies.after(&quota, &CellPolicies::default(), &sla, 0) {
                policies = next;
            }
        }
        let Some(all) = policies.all() else { continue };
        let physical = Policies::physical(&all, share);
        let total: u32 = physical.policies.iter().map(|policy| u32::from(policy.min_percent.unwrap())).sum();
        assert!(f64::from(total) <= 100.0 * share + 1e-6, "seed {seed}: {total} % of {share}");
        let is_ordered = |policy: &RrmPolicyRatio| policy.min_percent <= policy.max_percent;
        assert!(physical.policies.iter().all(is_ordered), "seed {seed}: {physical:?}");
    }
}
