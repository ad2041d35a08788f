// SPDX-License-Identifier: MIT OR Apache-2.0
//! A program as a judge: it is given a text on its standard input, and prints a score.
//!
//! No shell is in between, the program runs in a process group of its own, and all of that group is
//! ended with it, so that nothing is left of one that takes too long, or that still runs when the
//! store is closed. What left the group, by `setsid`, lives on, and nothing of ours waits for it.
//! Of what the program writes nothing is logged: it may repeat the text.

use super::JudgeSettings;
use crate::trusted::{self, Untrusted};
use ancile_engine::{Judge, JudgeError, JudgeId, JudgeInput, Score};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::io::Errno;
use rustix::process::{
    Pid, Signal, WaitId, WaitIdOptions, WaitIdStatus, kill_process_group, waitid,
};
use std::io::{ErrorKind, Read as _, Write as _};
use std::os::fd::AsFd;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, Instant};

/// Longest answer, in bytes.
const ANSWER_BYTES_MAX: usize = 64;
/// The variable that says by which channel the text came in.
const CHANNEL: &str = "JUDGE_CHANNEL";
/// What our own variables begin with; the program gets none of them.
const OURS: &[u8] = b"ANCILE_";
/// How often it is looked whether the program ended: at first, and at most.
const LOOK: (Duration, Duration) = (Duration::from_millis(1), Duration::from_millis(20));

/// Whether a program can be run, and nobody else can change it or a file or directory that its
/// arguments name; else what is wrong, and what to do.
pub fn runs(program: &Path, args: &[String]) -> Result<(), Untrusted> {
    trusted::check(program)?;
    let fault = |what| Untrusted {
        path: program.to_owned(),
        what,
    };
    let found = std::fs::metadata(program)
        .map_err(|unseen| fault(format!("cannot be looked at: {unseen}; put it there")))?;
    let mode = found.permissions().mode() & 0o7777;
    if !found.is_file() || mode & 0o111 == 0 {
        let text = format!("is no program: mode {mode:04o}; `chmod +x` it if it is");
        return Err(fault(text));
    }
    // An interpreter runs what its arguments name. What is not there yet, a pipe, a socket or a
    // device is nothing that it could run.
    let named = args.iter().map(Path::new).filter(|arg| arg.is_absolute());
    let mut runnable = named.filter(|arg| arg.is_file() || arg.is_dir());
    runnable.try_for_each(trusted::check)
}

/// A program that judges.
pub struct CommandJudge {
    id: JudgeId,
    program: String,
    args: Vec<String>,
    limit: Duration,
    running: Mutex<Groups>,
}

/// The process groups that run.
#[derive(Default)]
struct Groups {
    all: Vec<Pid>,
    /// None is started any more.
    closed: bool,
}

impl CommandJudge {
    /// The judge of these settings, if they name one.
    pub fn of(settings: &JudgeSettings) -> Option<Self> {
        let (program, args) = settings.command.split_first()?;
        Some(Self {
            id: settings.id.clone()?,
            program: program.clone(),
            args: args.to_vec(),
            limit: Duration::from_millis(settings.time_limit_ms.get().into()),
            running: Mutex::default(),
        })
    }

    fn command(&self, channel: &str) -> Command {
        let mut command = Command::new(&self.program);
        command
            .args(&self.args)
            .current_dir("/")
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            // It may say what was in the text.
            .stderr(Stdio::null());
        for (name, _) in std::env::vars_os() {
            if name.as_encoded_bytes().starts_with(OURS) {
                command.env_remove(name);
            }
        }
        command.env(CHANNEL, channel);
        command
    }
}

impl Judge for CommandJudge {
    fn id(&self) -> &JudgeId {
        &self.id
    }

    fn judge(&self, input: &JudgeInput<'_>) -> Result<Score, JudgeError> {
        self.ask(input.text, input.channel.name())
    }

    /// Ends all that runs.
    fn close(&self) {
        let mut groups = lock(&self.running);
        groups.closed = true;
        groups.all.iter().copied().for_each(end);
    }
}

impl CommandJudge {
    pub(super) fn ask(&self, text: &str, channel: &str) -> Result<Score, JudgeError> {
        let begun = Instant::now();
        let mut running = self.start(channel)?;
        let left = || self.limit.saturating_sub(begun.elapsed());
        let ends = (running.child.stdin.take(), running.child.stdout.take());
        let answer = talk(ends, text.as_bytes(), left)?;
        if answer.len() > ANSWER_BYTES_MAX {
            let text = format!("it printed more than {ANSWER_BYTES_MAX} bytes");
            return Err(JudgeError::Unreadable(text));
        }
        running.ended(left)?;
        score(&answer)
    }

    /// Starts it. Under the lock, so that all that was started is known to who ends it.
    fn start(&self, channel: &str) -> Result<Running<'_>, JudgeError> {
        let program = &self.program;
        let mut groups = lock(&self.running);
        if groups.closed {
            let text = format!("`{program}` is run no more: the store is closing");
            return Err(JudgeError::Unreachable(text));
        }
        let started = self.command(channel).spawn();
        let child = started.map_err(|fault| {
            JudgeError::Unreachable(format!("`{program}` cannot be run: {fault}"))
        })?;
        let group = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
        groups.all.extend(group);
        let groups = &self.running;
        Ok(Running {
            child,
            group,
            groups,
        })
    }
}

fn lock(groups: &Mutex<Groups>) -> MutexGuard<'_, Groups> {
    match groups.lock() {
        Ok(groups) => groups,
        Err(poisoned) => poisoned.into_inner(),
    }
}

/// Gives the program as much of the text as it takes, and reads what it prints, up to one byte more
/// than it may. Neither outlasts the time that is left, whoever holds the other ends of the pipes.
fn talk(
    (mut input, output): (Option<ChildStdin>, Option<ChildStdout>),
    mut text: &[u8],
    left: impl Fn() -> Duration,
) -> Result<Vec<u8>, JudgeError> {
    let failed = |fault: Errno| JudgeError::Unreachable(format!("its pipes failed: {fault}"));
    let mut output = output.ok_or_else(|| failed(Errno::BADF))?;
    wait_for_nothing(&output).map_err(failed)?;
    input
        .iter()
        .try_for_each(wait_for_nothing)
        .map_err(failed)?;
    let mut answer = Vec::new();
    let mut some = [0; ANSWER_BYTES_MAX + 1];
    loop {
        input = input.filter(|_| !text.is_empty());
        let time = left();
        if time.is_zero() {
            return Err(JudgeError::TimedOut);
        }
        let (prints, takes) = ready(&output, input.as_ref(), time).map_err(failed)?;
        if takes && let Some(to) = &mut input {
            match to.write(text) {
                Ok(taken) => text = text.get(taken..).unwrap_or_default(),
                Err(fault) if later(fault.kind()) => {}
                // A program that stopped reading is judged by what it printed.
                Err(_) => text = &[],
            }
        }
        if prints {
            match output.read(&mut some) {
                Ok(0) => return Ok(answer),
                Ok(read) => answer.extend_from_slice(some.get(..read).unwrap_or_default()),
                Err(fault) if later(fault.kind()) => continue,
                // What came before a fault is what there is.
                Err(_) => return Ok(answer),
            }
            if answer.len() > ANSWER_BYTES_MAX {
                return Ok(answer);
            }
        }
    }
}

/// Whether it can be tried again.
fn later(fault: ErrorKind) -> bool {
    matches!(fault, ErrorKind::WouldBlock | ErrorKind::Interrupted)
}

/// Has reads and writes of our end of a pipe return at once.
fn wait_for_nothing(end: &impl AsFd) -> Result<(), Errno> {
    fcntl_setfl(end, fcntl_getfl(end)? | OFlags::NONBLOCK)
}

/// Waits until something can be read or written, or so long; says which can.
fn ready(
    output: &ChildStdout,
    input: Option<&ChildStdin>,
    time: Duration,
) -> Result<(bool, bool), Errno> {
    let mut ends = vec![PollFd::new(output, PollFlags::IN)];
    ends.extend(input.map(|input| PollFd::new(input, PollFlags::OUT)));
    let time = Timespec::try_from(time).ok();
    match poll(&mut ends, time.as_ref()) {
        Ok(_) | Err(Errno::INTR) => {}
        Err(fault) => return Err(fault),
    }
    let mut can = ends.iter().map(|end| !end.revents().is_empty());
    Ok((can.next() == Some(true), can.next() == Some(true)))
}

/// A program that runs. When this goes, nothing of its process group is left.
struct Running<'a> {
    child: Child,
    group: Option<Pid>,
    groups: &'a Mutex<Groups>,
}

impl Running<'_> {
    /// Waits until it ended well, as long as there is time left. It stays a zombie, so that its
    /// number, which is that of its group, is nobody else's yet.
    fn ended(&mut self, left: impl Fn() -> Duration) -> Result<(), JudgeError> {
        let mut pause = LOOK.0;
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        loop {
            let status = self.group.map(|pid| waitid(WaitId::Pid(pid), options));
            match status {
                Some(Ok(Some(status))) => return well(&status),
                Some(Ok(None)) => {}
                Some(Err(fault)) => return Err(JudgeError::Unreadable(fault.to_string())),
                None => return Err(JudgeError::Unreadable("it has no number".to_owned())),
            }
            if left().is_zero() {
                return Err(JudgeError::TimedOut);
            }
            std::thread::sleep(pause.min(left()));
            pause = LOOK.1.min(pause.saturating_mul(2));
        }
    }
}

fn well(status: &WaitIdStatus) -> Result<(), JudgeError> {
    let text = match (status.exit_status(), status.terminating_signal()) {
        (Some(0), _) => return Ok(()),
        (Some(status), _) => format!("the program ended with status {status}"),
        (None, Some(signal)) => format!("the program was ended by signal {signal}"),
        (None, None) => "the program did not end well".to_owned(),
    };
    Err(JudgeError::Unreadable(text))
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        if let Some(group) = self.group {
            // Before its number can be another's.
            lock(self.groups).all.retain(|one| *one != group);
            end(group);
        }
        let _reaped = self.child.wait();
    }
}

/// Ends a process group. Where that fails, nothing of it is left.
fn end(group: Pid) {
    let _gone = kill_process_group(group, Signal::KILL);
}

/// The score in an answer: one whole number, and blanks around it.
fn score(answer: &[u8]) -> Result<Score, JudgeError> {
    let bytes = answer.len();
    let digits = answer.trim_ascii();
    let number = match std::str::from_utf8(digits) {
        Ok(text) if digits.iter().all(u8::is_ascii_digit) => text.parse().ok(),
        _ => None,
    };
    match number {
        Some(number) => Score::new(number),
        None => {
            let text = format!("it printed {bytes} bytes that are no whole number of 0 to 1000");
            Err(JudgeError::Unreadable(text))
        }
    }
}
