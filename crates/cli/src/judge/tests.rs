// SPDX-License-Identifier: MIT OR Apache-2.0
use super::*;
use ancile_engine::{JudgeError, Score};
use std::io::Write as _;
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::PathBuf;

/// Time that no test takes.
const LONG: u32 = 300_000;

/// A program in a directory of its own.
struct Program {
    dir: tempfile::TempDir,
}

impl Program {
    /// A shell script of these lines.
    fn of(lines: &str) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let mut file = std::fs::OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o700)
            .open(dir.path().join("judge"))
            .unwrap();
        write!(file, "#!/bin/sh\n{lines}\n").unwrap();
        Self { dir }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// A file that was just written may be busy: the shell runs it.
    fn settings(&self, more: &[&str]) -> JudgeSettings {
        let script = self.path("judge").display().to_string();
        let words = ["/bin/sh", &script].into_iter().chain(more.iter().copied());
        JudgeSettings {
            command: words.map(str::to_owned).collect(),
            time_limit_ms: NonZeroU32::new(LONG).unwrap(),
            ..JudgeSettings::default()
        }
    }

    fn within(&self, limit_ms: u32) -> JudgeSettings {
        JudgeSettings {
            time_limit_ms: NonZeroU32::new(limit_ms).unwrap(),
            ..self.settings(&[])
        }
    }
}

fn ask(settings: &JudgeSettings, text: &str) -> Result<u16, JudgeError> {
    let judge = CommandJudge::of(settings).unwrap();
    judge.ask(text, "web").map(Score::per_mille)
}

fn says(lines: &str) -> Result<u16, JudgeError> {
    ask(&Program::of(lines).settings(&[]), "a text")
}

#[test]
fn a_program_that_prints_a_whole_number_scores_so() {
    assert_eq!(says("echo 0"), Ok(0));
    assert_eq!(says("printf 1000"), Ok(1_000));
    assert_eq!(says("printf ' 0042 \\n\\n'"), Ok(42));
    assert_eq!(says("printf '%064d' 7"), Ok(7), "at the limit");
    assert_eq!(says("echo 1001"), Err(JudgeError::Score(1_001)));
    let long = "it printed more than 64 bytes".to_owned();
    assert_eq!(
        says("printf '%065d' 7"),
        Err(JudgeError::Unreadable(long.clone()))
    );
    assert_eq!(says("yes 1"), Err(JudgeError::Unreadable(long)));
}

#[test]
fn whatever_else_it_prints_is_no_score_and_is_not_repeated() {
    for lines in [
        "true",
        "echo",
        "echo 0.8",
        "echo -1",
        "echo +1",
        "echo 65536",
        "echo '1 2'",
        "echo a secret",
        "printf '\\377'",
    ] {
        match says(lines) {
            Err(JudgeError::Unreadable(text)) => {
                assert!(text.ends_with("bytes that are no whole number of 0 to 1000"));
                assert!(!text.contains("secret"), "{text}");
            }
            other => panic!("{lines}: {other:?}"),
        }
    }
}

#[test]
fn one_that_does_not_end_well_gives_no_score() {
    let ended = |text: &str| Err(JudgeError::Unreadable(text.to_owned()));
    assert_eq!(
        says("echo 0; exit 3"),
        ended("the program ended with status 3")
    );
    assert_eq!(
        says("echo 0; kill -9 $$"),
        ended("the program was ended by signal 9")
    );
    let mut settings = Program::of("echo 0").settings(&[]);
    settings.command[0] = "/nowhere/judge".to_owned();
    match ask(&settings, "a text") {
        Err(JudgeError::Unreachable(text)) => assert!(text.contains("/nowhere/judge"), "{text}"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn it_is_given_the_text_the_channel_and_its_arguments_and_no_shell_reads_them() {
    let program = Program::of(
        "cat > \"$1\"; echo \"$2 $JUDGE_CHANNEL $(pwd)\" >> \"$1\"; env | grep -c ^ANCILE_",
    );
    let seen = program.path("seen").display().to_string();
    let text = "$(touch /tmp/nothing); `id` \u{e9}\n";
    // `grep -c` prints how many it found, and ends with 1 where it is none.
    let ended = "the program ended with status 1".to_owned();
    let answer = ask(&program.settings(&[&seen, "$HOME;id"]), text);
    assert_eq!(answer, Err(JudgeError::Unreadable(ended)));
    let said = std::fs::read_to_string(&seen).unwrap();
    assert_eq!(said, format!("{text}$HOME;id web /\n"));
}

#[test]
fn a_text_of_any_length_neither_hangs_nor_needs_reading() {
    let longest = "a".repeat(1_048_576);
    let program = Program::of("wc -c | tr -d ' ' > \"$1\"; echo 5");
    let seen = program.path("seen").display().to_string();
    assert_eq!(ask(&program.settings(&[&seen]), &longest), Ok(5));
    assert_eq!(std::fs::read_to_string(&seen).unwrap(), "1048576\n");
    let program = Program::of("echo 6");
    assert_eq!(ask(&program.settings(&[]), &longest), Ok(6));
}

/// Whether a process runs; one that ended and that nobody looked after counts as gone.
fn runs(pid: &str) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.trim()));
    stat.is_ok_and(|stat| !stat.contains(") Z "))
}

#[test]
fn one_that_takes_too_long_is_ended_with_all_that_it_started() {
    for lines in [
        "sleep 1000 & echo $! $$ > $0.pids; wait",
        // What it printed counts for nothing while it runs.
        "exec 3>&1; sleep 1000 3>&- & echo $! $$ > $0.pids; echo 1; exec 1>&-; exec 3>&-; wait",
    ] {
        let program = Program::of(lines);
        let answer = ask(&program.within(2_000), "a text");
        assert_eq!(answer, Err(JudgeError::TimedOut), "{lines}");
        let pids = std::fs::read_to_string(program.path("judge.pids")).unwrap();
        assert_eq!(pids.split_whitespace().count(), 2);
        for pid in pids.split_whitespace() {
            // A signal that was sent takes a moment.
            while runs(pid) {
                std::thread::yield_now();
            }
        }
    }
}

#[test]
fn what_one_that_ended_well_left_running_is_ended_too() {
    let program = Program::of("sleep 1000 >/dev/null & echo $! > $0.pids; echo 3");
    assert_eq!(ask(&program.settings(&[]), "a text"), Ok(3));
    let pid = std::fs::read_to_string(program.path("judge.pids")).unwrap();
    while runs(&pid) {
        std::thread::yield_now();
    }
}

#[test]
fn a_command_is_an_absolute_path_with_arguments() {
    for good in [
        "",
        " ",
        "/bin/judge",
        "/usr/bin/python3  /etc/judge.py --fast",
    ] {
        assert_eq!(check(good), Ok(()), "{good}");
    }
    for bad in [
        "judge",
        "./judge",
        "~/judge",
        "sh -c /bin/judge",
        "/bin/judge\0",
    ] {
        assert!(check(bad).is_err(), "{bad}");
    }
    for good in ["command/1", "guard-7b/2", "a/4294967295"] {
        assert_eq!(id_of(good).unwrap().to_string(), good);
    }
    for bad in [
        "",
        "command",
        "/1",
        "a/",
        "a/-1",
        "a/4294967296",
        "a b/1",
        "a/1/2",
    ] {
        assert_eq!(id_of(bad), None, "{bad}");
    }
}

#[test]
fn without_a_command_there_is_no_judge() {
    let settings = JudgeSettings::default();
    assert!(settings.runs().is_ok());
    assert!(settings.config().unwrap().judge.is_none());
    assert_eq!(settings.id.unwrap().to_string(), ID);
}

#[test]
fn a_program_that_others_can_change_or_that_is_none_is_refused() {
    let program = Program::of("echo 0");
    let mut settings = program.settings(&[]);
    settings.command.remove(0);
    let chmod = |mode| {
        let mode = std::fs::Permissions::from_mode(mode);
        std::fs::set_permissions(program.path("judge"), mode).unwrap();
    };
    assert!(settings.runs().is_ok());
    let judge = settings.config().unwrap().judge.unwrap();
    assert_eq!(judge.id().to_string(), ID);
    for (mode, says) in [
        (0o600, "is no program: mode 0600; `chmod +x` it if it is"),
        (
            0o720,
            "has mode 0720: others can change it; `chmod go-w` it",
        ),
        (0o702, "has mode 0702: others can change it"),
    ] {
        chmod(mode);
        let text = settings.runs().unwrap_err().text;
        assert!(text.contains(says), "{text}");
        // Nobody starts one that was not looked at.
        assert_eq!(settings.config().unwrap_err().text, text);
    }
    chmod(0o755);
    assert!(settings.runs().is_ok());
    std::fs::remove_file(program.path("judge")).unwrap();
    let text = settings.runs().unwrap_err().text;
    assert!(text.contains("cannot be looked at: "), "{text}");
}

#[test]
fn what_the_arguments_name_is_in_nobody_elses_hands_either() {
    let program = Program::of("echo 0");
    let rests = |settings: &JudgeSettings| settings.runs().map_err(|failure| failure.text);
    let chmod = |path: &Path, mode| {
        let mode = std::fs::Permissions::from_mode(mode);
        std::fs::set_permissions(path, mode).unwrap();
    };
    let settings = program.settings(&["/nowhere/yet", "/dev/null", "relative"]);
    assert_eq!(rests(&settings), Ok(()));
    for (path, mode) in [
        (program.path("judge"), 0o722),
        (program.dir.path().to_owned(), 0o777),
    ] {
        chmod(&path, mode);
        let text = rests(&settings).unwrap_err();
        let path_text = path.display();
        let says = format!(
            "the judge `/bin/sh` rests on `{path_text}`, which has mode {mode:04o}: others can \
             change it; `chmod go-w` it, or set another `judge.command`"
        );
        assert_eq!(text, says);
        chmod(&path, 0o700);
    }
    let parts = program.path("parts");
    std::fs::create_dir(&parts).unwrap();
    chmod(&parts, 0o757);
    let named = parts.display().to_string();
    assert!(rests(&program.settings(&[&named])).is_err());
    chmod(&parts, 0o755);
    assert_eq!(rests(&program.settings(&[&named])), Ok(()));
}

/// The threads of this process that a judge was given.
fn threads() -> usize {
    let tasks = std::fs::read_dir("/proc/self/task").unwrap();
    let names =
        tasks.filter_map(|task| std::fs::read_to_string(task.ok()?.path().join("comm")).ok());
    names
        .filter(|name| name.starts_with("ancile-judge"))
        .count()
}

#[test]
fn one_that_left_its_group_keeps_nothing_of_ours_waiting() {
    let program = Program::of("setsid sleep 1000 & echo $! > $0.pids; echo 1");
    let longest = "a".repeat(1_048_576);
    // It holds both pipes: nothing more is read, and not all of the text is taken.
    let answer = ask(&program.within(1_000), &longest);
    assert_eq!(answer, Err(JudgeError::TimedOut));
    assert_eq!(threads(), 0);
    let pid = std::fs::read_to_string(program.path("judge.pids")).unwrap();
    assert!(runs(&pid), "it is nobody's to end");
    let pid = rustix::process::Pid::from_raw(pid.trim().parse().unwrap()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
}

#[test]
fn what_runs_when_the_store_is_closed_is_ended_and_none_is_started() {
    let program = Program::of("sleep 1000 & echo $! $$ > $0.some; mv $0.some $0.pids; wait");
    let judge = CommandJudge::of(&program.settings(&[])).unwrap();
    let pids = std::thread::scope(|scope| {
        let asking = scope.spawn(|| judge.ask("a text", "web"));
        let pids = loop {
            if let Ok(pids) = std::fs::read_to_string(program.path("judge.pids")) {
                break pids;
            }
            std::thread::yield_now();
        };
        judge.close();
        let ended = "the program was ended by signal 9".to_owned();
        assert_eq!(asking.join().unwrap(), Err(JudgeError::Unreadable(ended)));
        pids
    });
    for pid in pids.split_whitespace() {
        while runs(pid) {
            std::thread::yield_now();
        }
    }
    std::fs::remove_file(program.path("judge.pids")).unwrap();
    match judge.ask("a text", "web") {
        Err(JudgeError::Unreachable(text)) => assert!(text.contains("is closing"), "{text}"),
        other => panic!("{other:?}"),
    }
    assert!(!program.path("judge.pids").exists());
}
