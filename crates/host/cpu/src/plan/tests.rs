use super::*;
use crate::profile::Group;

fn cpus(text: &str) -> Cpus {
    text.parse().unwrap()
}

fn host(online: &str) -> Host {
    let interrupt = |number, name: &str, device: Option<&str>| Interrupt {
        number,
        names: vec![name.into()],
        device: device.map(Into::into),
    };
    Host {
        online: cpus(online),
        interrupts: vec![interrupt(7, "nvme0q1", None), interrupt(8, "eth0-rx-0", Some("eth0"))],
        ..Host::default()
    }
}

fn request(policy: Policy, profile: &str) -> Request {
    let profile = Profile::built_in(profile).unwrap();
    Request { policy, selection: Selection::default(), profile, scope: PathBuf::new() }
}

fn thread(tid: u32, name: &str) -> Thread {
    Thread {
        pid: 5,
        tid,
        start: 1,
        name: name.into(),
        parent: 1,
        is_kernel: false,
        is_bound: false,
        policy: 0,
        priority: 0,
        cpus: cpus("0-7"),
    }
}

fn lists(all: &[Cpus]) -> Vec<String> {
    all.iter().map(Cpus::to_string).collect()
}

#[test]
fn thread_affinity_on_four_cpus_is_that_of_the_paper() {
    let profile = Profile::built_in("vbbu").unwrap();
    assert_eq!(lists(&thread_cpus(&profile, &cpus("4-7"))), ["4", "5", "6", "7"]);
}

#[test]
fn urgent_groups_share_few_cpus_and_pools_take_many() {
    let of = |profile: &str, own: &str| lists(&thread_cpus(&Profile::built_in(profile).unwrap(), &cpus(own)));
    assert_eq!(of("vbbu", "1"), ["1", "1", "1", "1"]);
    assert_eq!(of("vbbu", "0-1"), ["0", "0", "0", "1"]);
    assert_eq!(of("vbbu", "1-3"), ["1", "1", "2", "3"]);
    assert_eq!(of("vbbu", "2-7"), ["2", "3", "4", "5-7"]);
    assert_eq!(of("oai", "8-15"), ["8", "9", "10-14", "15"]);
}

#[test]
fn no_group_is_ever_without_cpus_or_outside_the_base_station() {
    for profile in crate::profile::BUILT_IN {
        let profile = Profile::built_in(profile).unwrap();
        for first in 0..4 {
            for last in first..12 {
                let own: Cpus = (first..=last).collect();
                let all = thread_cpus(&profile, &own);
                assert_eq!(all.len(), profile.groups.len() + 1);
                assert!(all.iter().all(|cpus| !cpus.is_empty() && cpus.without(&own).is_empty()), "{own} {all:?}");
            }
        }
    }
}

#[test]
fn default_cpus_are_the_upper_half_and_leave_cpu_0() {
    let of = |online: &str| base_station_cpus(&Profile::default(), &host(online)).unwrap().to_string();
    assert_eq!([of("0"), of("0-1"), of("0-2"), of("0-7"), of("0,2,4-5")], ["0", "1", "1-2", "4-7", "4-5"]);
}

#[test]
fn policy_without_cpus_for_the_base_station_is_refused() {
    let refused = |own: &str, expected: &str| {
        let profile = Profile { cpus: Some(cpus(own)), ..Profile::default() };
        let error = base_station_cpus(&profile, &host("0-3")).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    };
    refused("", "no CPU is left for the base station");
    refused("3-4", "CPUs 4 are not online (online: 0-3)");
    let group = Group { name: "x".into(), threads: vec!["a".into()], cpus: Some(cpus("1")), ..Group::default() };
    let mut request = request(Policy::None, "generic");
    request.profile.groups.push(group);
    assert!(
        plan(&request, &host("0-3"))
            .unwrap_err()
            .to_string()
            .contains("group x: CPUs 1 are not the base station's (2-3)")
    );
}

#[test]
fn each_policy_moves_what_the_paper_says() {
    let threads = [thread(10, "ru-thread"), thread(11, "TASK_UDP")];
    let of = |policy| {
        let changes = affinities(&request(policy, "vbbu"), &threads, &cpus("4-7"));
        changes.iter().map(Change::command).collect::<Vec<_>>()
    };
    assert!(of(Policy::None).is_empty() && of(Policy::Ia).is_empty());
    let wide = ["taskset -pc 4-7 10  # ru-thread", "taskset -pc 4-7 11  # TASK_UDP"];
    let each = ["taskset -pc 4 10  # ru-thread", "taskset -pc 7 11  # TASK_UDP"];
    for policy in [Policy::Wa, Policy::IaWa, Policy::Shield] {
        assert_eq!(of(policy), wide);
    }
    for policy in [Policy::Ta, Policy::IaTa, Policy::Isolcpus] {
        assert_eq!(of(policy), each);
    }
    let interrupts = |policy| plan(&request(policy, "vbbu"), &host("0-7")).unwrap();
    assert!(interrupts(Policy::None).changes.is_empty());
    let commands: Vec<_> = interrupts(Policy::Ia).changes.iter().map(Change::command).collect();
    assert_eq!(commands, ["echo 7 > /proc/irq/8/smp_affinity_list"]);
}

#[test]
fn generic_profile_separates_real_time_threads() {
    let fifo = Thread { policy: 1, priority: 50, ..thread(10, "x") };
    let changes = affinities(&request(Policy::Ta, "generic"), &[fifo, thread(11, "y")], &cpus("1-3"));
    assert_eq!(
        changes.iter().map(Change::command).collect::<Vec<_>>(),
        ["taskset -pc 1-2 10  # x", "taskset -pc 3 11  # y"]
    );
}

#[test]
fn knobs_are_planned_by_what_the_host_has() {
    let of = |knob, online: &str, own: &str| {
        let mut request = request(Policy::None, "generic");
        (request.profile.knobs, request.profile.cpus) = (vec![knob], Some(cpus(own)));
        let mut host = host(online);
        host.siblings = [(0, cpus("0,2")), (1, cpus("1,3")), (2, cpus("0,2")), (3, cpus("1,3"))].into();
        let plan = plan(&request, &host).unwrap();
        (plan.changes.iter().map(Change::command).collect::<Vec<_>>(), plan.notes)
    };
    assert_eq!(of(Knob::Workqueue, "0-3", "2-3").0, ["echo 3 > /sys/devices/virtual/workqueue/cpumask"]);
    assert!(of(Knob::Workqueue, "0-3", "0-3").1[0].contains("has all CPUs"));
    assert_eq!(of(Knob::RtThrottling, "0-3", "1").0, ["echo -1 > /proc/sys/kernel/sched_rt_runtime_us"]);
    assert_eq!(of(Knob::Smt, "0-3", "1").0, ["echo 0 > /sys/devices/system/cpu/cpu3/online"]);
    assert!(of(Knob::Smt, "0-3", "2").0.is_empty());
}

#[test]
fn boot_line_of_isolated_cpus_is_generated_and_verified() {
    let mut host = host("0-7");
    let mut isolation = Plan { cpus: cpus("4-7"), ..Plan::default() };
    plan_isolation(&host, &mut isolation).unwrap();
    let line = "isolcpus=domain,managed_irq,4-7 nohz_full=4-7 rcu_nocbs=4-7 irqaffinity=0-3";
    assert_eq!(isolation.boot_line.as_deref(), Some(line));
    assert!(isolation.notes[0].contains("CPUs 4-7 are not isolated"));
    host.isolated = cpus("4-7");
    let mut isolation = Plan { cpus: cpus("4-7"), ..Plan::default() };
    plan_isolation(&host, &mut isolation).unwrap();
    assert!(isolation.notes.is_empty());
    assert!(plan_isolation(&host, &mut Plan { cpus: cpus("0-7"), ..Plan::default() }).is_err());
}

#[test]
fn process_1_the_kernel_and_this_process_are_never_selected() {
    let by_number = |pid| Selection { names: vec![], pids: vec![pid] }.find();
    assert!(by_number(1).unwrap_err().to_string().contains("process 1 is never moved"));
    assert!(by_number(std::process::id()).unwrap_err().to_string().contains("does not move itself"));
    let all = Selection { names: vec!["*".into()], pids: vec![] }.find().unwrap();
    assert!(all.iter().all(|thread| thread.pid != 1 && thread.pid != std::process::id() && !thread.is_kernel));
}

#[test]
fn partition_that_could_not_be_undone_is_refused() {
    let mut host = host("0-3");
    host.cpuset = Some(crate::CpusetMount { version: 2, root: "/nowhere".into() });
    host.kernel = (6, 1);
    let error =
        shield::plan(&request(Policy::Shield, "vbbu"), &host, &[], &mut Plan::default()).unwrap_err().to_string();
    assert!(error.starts_with("Linux 6.1 forgets the affinities"), "{error}");
}
