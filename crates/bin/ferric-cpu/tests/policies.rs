//! Policies as their users apply them, with their effect read back from `/proc` and the file systems of control groups. All that is
//! moved is started here; all that is changed of the host is restored within the test, also when the test is killed.

mod support;

use std::fs;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;

use support::{Group, PROGRAM, State, Unit, allowed, assert_same, children, kill, lock, snapshot, two_cpus};

/// The threads of Table 1 in paper 004.
const TABLE_1: [&str; 7] =
    ["ru_thread", "fep_processing", "feptx_thread", "TASK_GTPV1_U", "TASK_UDP", "TASK_S1AP", "TASK_RRC"];

#[test]
#[ignore = "a base station, which the tests start"]
fn unit() {
    support::be_a_unit();
}

#[test]
fn thread_affinity_is_applied_and_undone() {
    let Some(_lock) = lock() else { return };
    let (unit, state) = (Unit::start(&TABLE_1), State::new("ta", None));
    let (last, other) = two_cpus();
    let both = cpu::Cpus::from_iter([last.parse().unwrap(), other.parse().unwrap()]).to_string();
    let before = snapshot(&[&unit]);
    let arguments = ["--pid", &unit.pid(), "--profile", "vbbu", "--cpus", &both];
    let plan = state.succeeds(&[&["plan", "ta"], &arguments[..]].concat());
    assert!(plan.contains(&format!("taskset -pc {other} ")) && plan.contains("# ru_thread"), "{plan}");
    assert_same(&snapshot(&[&unit]), &before);
    assert!(!state.folder.exists(), "a plan writes nothing");
    state.succeeds(&[&["apply", "ta"], &arguments[..]].concat());
    let cpus = unit.cpus();
    for (name, expected) in [("ru_thread", &other), ("lte-softmodem", &other), ("TASK_UDP", &last), ("TASK_RRC", &last)]
    {
        assert_eq!(&cpus[name], expected, "{name}");
    }
    let status = state.succeeds(&["status"]);
    assert!(status.contains("policy ta, applied") && status.contains("in force"), "{status}");
    state.run(&[&["apply", "wa"], &arguments[..]].concat()).complains(1, &["policy ta is applied already", "undo"]);
    state.succeeds(&["undo"]);
    assert_same(&snapshot(&[&unit]), &before);
    assert_eq!(state.succeeds(&["status"]), "no policy is applied");
    assert_eq!(state.succeeds(&["undo"]), "no policy is applied");
}

#[test]
fn threads_and_forks_that_inherit_are_restored_too() {
    let Some(_lock) = lock() else { return };
    let (mut unit, state) = (Unit::start(&TABLE_1), State::new("inherit", None));
    let (last, _) = two_cpus();
    let before = unit.cpus()["ru_thread"].clone();
    state.succeeds(&["apply", "wa", "--pid", &unit.pid(), "--cpus", &last]);
    unit.tell("thread late");
    unit.tell("fork");
    let child = PathBuf::from(format!("/proc/{}", unit.forked()));
    assert_eq!((&unit.cpus()["late"], allowed(&child).as_ref()), (&last, Some(&last)));
    state.succeeds(&["undo"]);
    assert_eq!((&unit.cpus()["late"], allowed(&child).as_ref()), (&before, Some(&before)));
}

#[test]
fn held_policy_follows_new_and_renamed_threads_and_forks() {
    let Some(_lock) = lock() else { return };
    let (mut unit, state) = (Unit::start(&["ru_thread", "TASK_UDP"]), State::new("follow", None));
    let (last, other) = two_cpus();
    let both = cpu::Cpus::from_iter([last.parse().unwrap(), other.parse().unwrap()]).to_string();
    let before = snapshot(&[&unit]);
    let mut program =
        state.start(&["run", "--policy", "ta", "--pid", &unit.pid(), "--profile", "vbbu", "--cpus", &both]);
    program.line("holding ta");
    // of the main thread it inherits the urgent CPU
    unit.tell("thread TASK_SCTP");
    testkit::eventually("the new thread to be moved", || unit.cpus().get("TASK_SCTP") == Some(&last));
    unit.tell("rename TASK_UDP fep_processing");
    testkit::eventually("the renamed thread to be moved", || unit.cpus().get("fep_processing") == Some(&other));
    unit.tell("fork");
    let child = PathBuf::from(format!("/proc/{}", unit.forked()));
    testkit::eventually("the fork to be moved", || allowed(&child).as_ref() == Some(&last));
    // others are refused meanwhile
    let pid = format!("process {} manages", program.id());
    state.run(&["apply", "wa", "--pid", &unit.pid()]).complains(1, &[&pid]);
    state.run(&["undo"]).complains(1, &[&pid]);
    unit.tell("rename fep_processing TASK_UDP");
    testkit::eventually("the thread to be moved back", || unit.cpus().get("TASK_UDP") == Some(&last));
    let outcome = support::stop(program);
    assert!(outcome.stdout.ends_with("restored"), "{}", outcome.stdout);
    let after = snapshot(&[&unit]);
    for (path, text) in &before {
        assert_eq!(after.get(path), Some(text), "{}", path.display());
    }
    assert!(unit.cpus().values().all(|cpus| *cpus == unit.cpus()["ru_thread"]), "{:?}", unit.cpus());
}

#[test]
fn interrupts_and_knobs_are_set_and_restored() {
    let Some(_lock) = lock() else { return };
    // an interrupt that hardly ever comes
    let quiet =
        |interrupt: &cpu::host::Interrupt| interrupt.names.iter().find(|name| name.ends_with("-config")).cloned();
    let host = cpu::Host::read().unwrap();
    let Some(name) = host.interrupts.iter().find_map(quiet) else {
        println!("NOT TESTED: this host has no interrupt that could be moved without harm");
        return;
    };
    let (unit, state) = (Unit::start(&TABLE_1), State::new("knobs", None));
    let (last, other) = two_cpus();
    let before = snapshot(&[&unit]);
    let arguments = ["apply", "ia-wa", "--pid", &unit.pid(), "--cpus", &last, "--irq", &name];
    state.succeeds(&[&arguments[..], &["--with", "workqueue,rt-throttling"]].concat());
    let read = |path: &str| fs::read_to_string(path).unwrap().trim().to_owned();
    let number = host.interrupts.iter().find(|interrupt| interrupt.names.contains(&name)).unwrap().number;
    let changed = (
        read(&format!("/proc/irq/{number}/smp_affinity_list")),
        read("/proc/sys/kernel/sched_rt_runtime_us"),
        cpu::Cpus::from_mask(&read("/sys/devices/virtual/workqueue/cpumask")).unwrap().contains(last.parse().unwrap()),
    );
    state.succeeds(&["undo"]);
    assert_eq!(changed, (other, "-1".to_owned(), false));
    assert_same(&snapshot(&[&unit]), &before);
}

/// The lines of a script's output, each a path and its content.
fn lines(text: &str) -> Vec<(String, String)> {
    let pair = |line: &str| line.split_once(' ').map(|(path, content)| (path.to_owned(), content.to_owned()));
    text.lines().filter_map(pair).filter(|(path, _)| path.starts_with("/sys/")).collect()
}

#[test]
fn packet_steering_is_set_and_restored_for_each_queue() {
    let Some(_lock) = lock() else { return };
    if !support::are_installed(&["ip", "unshare"]) {
        return;
    }
    let (unit, state) = (Unit::start(&TABLE_1), State::new("steering", None));
    let (last, other) = two_cpus();
    // devices of their own, with two queues and with one
    let print = "for f in /sys/class/net/*/queues/*/*ps_cpus; do echo \"$f $(cat $f 2>&1)\"; done";
    let command = format!("{PROGRAM} --state {}", state.folder.display());
    let script = format!(
        "mount -t sysfs none /sys && ip link add two numtxqueues 2 numrxqueues 2 type veth peer name peer && \
         ip link add one numtxqueues 1 numrxqueues 1 type veth peer name last && {print}; {command} apply wa --pid {} --cpus {last} --irq-cpus {other} --irq two --irq one \
         --with rps,xps; echo applied; {print}; {command} undo; echo undone; {print}",
        unit.pid()
    );
    let output = support::output(Command::new("unshare").args(["--net", "--mount", "sh", "-c", &script]));
    let (text, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    if text.is_empty() {
        println!("NOT TESTED: a network namespace with veth: {errors}");
        return;
    }
    let (before, rest) = text.split_once("\napplied\n").unwrap_or_else(|| panic!("{text}{errors}"));
    let (applied, undone) = rest.split_once("\nundone\n").unwrap_or_else(|| panic!("{text}{errors}"));
    let before = lines(before);
    assert!(before.len() >= 6, "{text}");
    assert_eq!(lines(undone), before);
    let mask = cpu::Cpus::from_iter([other.parse().unwrap()]).mask();
    for (path, content) in lines(applied) {
        let number = |mask: &str| u64::from_str_radix(mask, 16).unwrap();
        if path.contains("/two/") || path.contains("/one/queues/rx-") {
            assert_eq!(number(&content), number(&mask), "{path}: {text}{errors}");
        } else {
            assert!(before.contains(&(path, content)), "{text}");
        }
    }
}

#[test]
fn smt_and_governor_are_set_where_the_host_offers_them() {
    let Some(_lock) = lock() else { return };
    let host = cpu::Host::read().unwrap();
    let (unit, state) = (Unit::start(&TABLE_1), State::new("frequency", None));
    let (last, _) = two_cpus();
    let before = snapshot(&[&unit]);
    let governor = PathBuf::from(format!("/sys/devices/system/cpu/cpu{last}/cpufreq/scaling_governor"));
    let own: usize = last.parse().unwrap();
    let siblings = host.siblings[&own].without(&cpu::Cpus::from_iter([own, 0]));
    let old = fs::read_to_string(&governor).ok();
    let arguments = ["apply", "wa", "--pid", &unit.pid(), "--cpus", &last, "--with", "smt,governor"];
    let outcome = state.run(&arguments);
    assert_eq!(outcome.code(), Some(0), "{}", outcome.stderr);
    let set = fs::read_to_string(&governor).ok();
    let online = cpu::Host::read().unwrap().online;
    state.succeeds(&["undo"]);
    if old.is_some() {
        assert_eq!(set.as_deref().map(str::trim), Some("performance"));
    } else {
        println!("NOT TESTED: governor: this host does not control the frequency of its CPUs");
        assert!(outcome.stderr.contains("governor: this host does not control"), "{}", outcome.stderr);
    }
    if siblings.is_empty() {
        println!("NOT TESTED: smt: CPU {last} has no hardware thread beside it");
        assert!(outcome.stderr.contains("smt: the base station's CPUs have no hardware threads"), "{}", outcome.stderr);
    } else {
        assert!(online.common(&siblings).is_empty(), "{online}");
    }
    assert_eq!((fs::read_to_string(&governor).ok(), cpu::Host::read().unwrap().online), (old, host.online));
    assert_same(&snapshot(&[&unit]), &before);
}

#[test]
fn shield_keeps_others_off_and_is_undone() {
    let Some(_lock) = lock() else { return };
    let (unit, other) = (Unit::start(&TABLE_1), Unit::start(&["worker"]));
    let Some(group) = Group::new("shield", &[&unit, &other]) else { return };
    let state = State::new("shield", Some(&group.0));
    let (last, rest) = two_cpus();
    // a control group of somebody else, which loses the CPU
    let inner = group.0.join("container");
    fs::create_dir(&inner).unwrap();
    for file in ["cpuset.cpus", "cpuset.mems"] {
        fs::write(inner.join(file), fs::read_to_string(group.0.join(file)).unwrap()).unwrap();
    }
    let before = snapshot(&[&unit, &other]);
    let arguments =
        ["apply", "shield", "--pid", &unit.pid(), "--cpus", &last, "--scope", group.name(), "--irq", "none"];
    state.succeeds(&arguments);
    assert!(unit.cpus().values().all(|cpus| *cpus == last), "{:?}", unit.cpus());
    assert!(other.cpus().values().all(|cpus| !cpus.contains(&last)), "{:?}", other.cpus());
    assert!(!fs::read_to_string(inner.join("cpuset.cpus")).unwrap().contains(&last), "{rest}");
    let tasks = fs::read_to_string(group.0.join("ferric-base-station/tasks")).unwrap();
    assert_eq!(tasks.lines().count(), unit.thread_count());
    state.run(&arguments).complains(1, &["policy shield is applied already"]);
    state.succeeds(&["undo"]);
    assert_same(&snapshot(&[&unit, &other]), &before);
    fs::remove_dir(inner).unwrap();
}

#[test]
fn held_shield_takes_in_a_base_station_that_starts_later() {
    let Some(_lock) = lock() else { return };
    let (unit, mut later) = (Unit::start(&TABLE_1), Unit::start(&["ru_thread"]));
    let Some(group) = Group::new("later", &[&unit]) else { return };
    let state = State::new("later", Some(&group.0));
    let (last, _) = two_cpus();
    let arguments = ["--cpus", &last, "--scope", group.name(), "--irq", "none"];
    let selection = ["run", "--policy", "shield", "--name", "my-unit", "--pid", &unit.pid(), "--seconds", "120"];
    let mut program = state.start(&[&selection[..], &arguments[..]].concat());
    program.line("holding shield");
    fs::write(group.0.join("ferric-others/cgroup.procs"), later.pid()).unwrap();
    assert!(!later.cpus()["ru_thread"].contains(&last), "{:?}", later.cpus());
    later.tell("call my-unit");
    testkit::eventually("the new base station to be moved", || later.cpus()["ru_thread"] == last);
    support::stop(program);
    assert!(!group.0.join("ferric-others").exists() && !group.0.join("ferric-base-station").exists());
    for unit in [&unit, &later] {
        let cgroup = fs::read_to_string(format!("/proc/{}/cgroup", unit.pid())).unwrap();
        assert!(cgroup.lines().any(|line| line.ends_with(group.name())), "{cgroup}");
    }
}

#[test]
fn policy_of_a_number_is_restored_when_its_process_ends() {
    let Some(_lock) = lock() else { return };
    let (unit, state) = (Unit::start(&TABLE_1), State::new("gone", None));
    let (last, _) = two_cpus();
    let mut program =
        state.start(&["run", "--policy", "ia-wa", "--pid", &unit.pid(), "--cpus", &last, "--irq", "none"]);
    program.line("holding");
    drop(unit);
    let outcome = program.end();
    assert!(
        outcome.code() == Some(0) && outcome.stdout.contains("the base station has ended\nrestored"),
        "{}",
        outcome.stdout
    );
}

#[test]
fn read_only_control_groups_are_refused_without_a_change() {
    let Some(_lock) = lock() else { return };
    let unit = Unit::start(&TABLE_1);
    let Some(group) = Group::new("read-only", &[&unit]) else { return };
    let state = State::new("read-only", Some(&group.0));
    let (last, _) = two_cpus();
    let before = snapshot(&[&unit]);
    let (name, folder, pid) = (group.name(), state.folder.display(), unit.pid());
    let root = group.0.parent().unwrap().display();
    let script = format!(
        "mount --bind {root} {root} && mount -o remount,bind,ro {root} && \
         {PROGRAM} --state {folder} apply shield --pid {pid} --cpus {last} --scope {name} --irq none"
    );
    let output = support::output(Command::new("unshare").args(["--mount", "sh", "-c", &script]));
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && errors.contains("read-only"), "{errors}");
    assert_same(&snapshot(&[&unit]), &before);
    assert_eq!(state.succeeds(&["status"]), "no policy is applied");
}

#[test]
fn missing_right_is_named_and_nothing_stays_changed() {
    let Some(_lock) = lock() else { return };
    let (unit, state) = (Unit::start(&TABLE_1), State::new("right", None));
    let (last, _) = two_cpus();
    let before = snapshot(&[&unit]);
    // where another user may run it
    let copy = testkit::program::File::new("cpu", &fs::read(PROGRAM).unwrap());
    fs::set_permissions(copy.name(), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let mut command = Command::new(copy.name());
    command.args(["--state", state.folder.to_str().unwrap(), "apply", "wa", "--pid", &unit.pid(), "--cpus", &last]);
    let output = support::output(command.uid(65534).gid(65534));
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && errors.contains("CAP_SYS_NICE"), "{errors}");
    assert_same(&snapshot(&[&unit]), &before);
}

#[test]
fn threads_that_end_while_they_are_moved_do_no_harm() {
    let Some(_lock) = lock() else { return };
    let (mut unit, state) = (Unit::start(&TABLE_1), State::new("churn", None));
    let (last, _) = two_cpus();
    unit.tell("churn 4");
    let before = unit.cpus()["ru_thread"].clone();
    for _ in 0..10 {
        state.succeeds(&["apply", "wa", "--pid", &unit.pid(), "--cpus", &last]);
        assert_eq!(unit.cpus()["ru_thread"], last);
        state.succeeds(&["undo"]);
        assert_eq!(unit.cpus()["ru_thread"], before);
    }
}

#[test]
fn process_that_has_ended_is_no_obstacle_to_undo() {
    let Some(_lock) = lock() else { return };
    let (unit, state) = (Unit::start(&TABLE_1), State::new("ended", None));
    let (last, _) = two_cpus();
    state.succeeds(&["apply", "wa", "--pid", &unit.pid(), "--cpus", &last]);
    drop(unit);
    let status = state.succeeds(&["status"]);
    assert!(status.contains("ended"), "{status}");
    state.succeeds(&["undo"]);
    assert_eq!(state.succeeds(&["status"]), "no policy is applied");
}

#[test]
fn watchdog_restores_everything_after_sigkill_at_any_moment() {
    let Some(_lock) = lock() else { return };
    let names: Vec<String> = (0..60).map(|number| format!("TASK_{number}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let (unit, other) = (Unit::start(&names), Unit::start(&["worker"]));
    let Some(group) = Group::new("kill", &[&unit, &other]) else { return };
    let state = State::new("kill", Some(&group.0));
    let (last, _) = two_cpus();
    let before = snapshot(&[&unit, &other]);
    let mut were_changed = 0;
    for round in 0..12 {
        let program = state.start(&[
            "run",
            "--policy",
            "shield",
            "--pid",
            &unit.pid(),
            "--cpus",
            &last,
            "--scope",
            group.name(),
            "--irq",
            "none",
        ]);
        // from before the first change until after the last one: after so many lines of the journal
        let lines = round * 10;
        testkit::eventually("changes in the journal", || {
            fs::read_to_string(state.folder.join("journal")).unwrap_or_default().lines().count() >= lines
        });
        kill(program.id());
        were_changed += u32::from(snapshot(&[&unit, &other]) != before);
        drop(program.end());
        testkit::eventually("the watchdog", || snapshot(&[&unit, &other]) == before);
        testkit::eventually("the journal", || state.run(&["status"]).stdout == "no policy is applied");
    }
    assert!(were_changed > 3, "the program was killed before it had changed anything: {were_changed}");
}

#[test]
fn next_start_repairs_what_program_and_watchdog_have_left() {
    let Some(_lock) = lock() else { return };
    let (unit, state) = (Unit::start(&TABLE_1), State::new("repair", None));
    let (last, _) = two_cpus();
    let before = snapshot(&[&unit]);
    let leave = || {
        let mut program = state.start(&["run", "--policy", "wa", "--pid", &unit.pid(), "--cpus", &last]);
        program.line("holding");
        let watchdogs = children(program.id());
        assert_eq!(watchdogs.len(), 1);
        assert!(kill(watchdogs[0]) && kill(program.id()));
        drop(program.end());
        assert_eq!(unit.cpus()["ru_thread"], last);
    };
    leave();
    state.succeeds(&["undo"]);
    assert_same(&snapshot(&[&unit]), &before);
    leave();
    // the next policy starts from what was before
    let outcome = state.run(&["apply", "none"]);
    assert!(outcome.stderr.contains("was killed: what it has changed is restored"), "{}", outcome.stderr);
    assert_same(&snapshot(&[&unit]), &before);
    state.succeeds(&["undo"]);
}

#[test]
fn applied_policy_survives_its_program_and_the_kill_of_a_later_one() {
    let Some(_lock) = lock() else { return };
    let (unit, state) = (Unit::start(&TABLE_1), State::new("stays", None));
    let (last, _) = two_cpus();
    let before = snapshot(&[&unit]);
    state.succeeds(&["apply", "wa", "--pid", &unit.pid(), "--cpus", &last]);
    state.run(&["run", "--policy", "ta", "--pid", &unit.pid()]).complains(1, &["policy wa is applied already"]);
    assert_eq!(unit.cpus()["ru_thread"], last);
    state.succeeds(&["undo"]);
    assert_same(&snapshot(&[&unit]), &before);
}

#[test]
fn bad_input_is_refused_with_what_to_do() {
    let state = State::new("refused", None);
    let pid = std::process::id().to_string();
    let file = testkit::program::File::new("profile.toml", b"cpus = \"\"\n");
    for (arguments, pieces) in [
        (&["plan", "wa", "--pid", "1"][..], &["process 1 is never moved"][..]),
        (&["plan", "wa", "--name", "no-such-thing"], &["no thread is called no-such-thing", "ps -eLo"]),
        (&["plan", "wa"], &["no process is given", "--name"]),
        (&["plan", "wa", "--pid", &pid, "--cpus", "1023"], &["CPUs 1023 are not online", "--cpus"]),
        (&["plan", "wa", "--pid", &pid, "--cpus", ""], &["no CPU is left for the base station"]),
        (&["plan", "wa", "--pid", &pid, "--profile", file.name()], &["line 1: cpus: no CPU is left"]),
        (
            &["plan", "wa", "--pid", &pid, "--profile", "/nowhere"],
            &["none of oai, srsran, vbbu, generic", "No such file"],
        ),
        (&["plan", "shield", "--pid", &pid, "--scope", "../.."], &["no control group below"]),
    ] {
        state.run(arguments).complains(1, pieces);
    }
    state.run(&["plan", "fast"]).complains(2, &["none of none, wa, ta, ia"]);
    state.run(&["plan", "wa", "--with", "turbo"]).complains(2, &["none of workqueue"]);
    state.run(&["plan", "wa", "--cpus", "a-b"]).complains(2, &["no list of CPUs"]);
}
