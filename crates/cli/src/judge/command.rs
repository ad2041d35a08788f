// SPDX-License-Identifier: MIT OR Apache-2.0
//! A program as a judge: it is given a text on its standard input, and prints a score.
//!
//! No shell is in between, the program runs in a process group of its own, and all of that group is
//! ended with it, so that nothing is left of one that takes too long. Of what it writes nothing is
//! logged: it may repeat the text.

use super::JudgeSettings;
use ancile_engine::{Judge, JudgeError, JudgeId, JudgeInput, Score};
use rustix::process::{
    Pid, Signal, WaitId, WaitIdOptions, WaitIdStatus, kill_process_group, waitid,
};
use std::io::{Read as _, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, sync_channel};
use std::time::{Duration, Instant};

/// Longest answer, in bytes.
const ANSWER_BYTES_MAX: usize = 64;
/// The variable that says by which channel the text came in.
const CHANNEL: &str = "JUDGE_CHANNEL";
/// What our own variables begin with; the program gets none of them.
const OURS: &[u8] = b"ANCILE_";
/// How often it is looked whether the program ended: at first, and at most.
const LOOK: (Duration, Duration) = (Duration::from_millis(1), Duration::from_millis(20));

/// Whether a program can be run, and nobody else can change it; else what is wrong, and what to do.
pub fn runs(program: &Path) -> Result<(), String> {
    let found = std::fs::metadata(program)
        .map_err(|fault| format!("cannot be looked at: {fault}; put it there"))?;
    let mode = found.permissions().mode() & 0o7777;
    if !found.is_file() || mode & 0o111 == 0 {
        return Err(format!(
            "is no program: mode {mode:04o}; `chmod +x` it if it is"
        ));
    }
    if mode & 0o022 != 0 {
        return Err(format!(
            "has mode {mode:04o}: others can change it; `chmod go-w` it"
        ));
    }
    Ok(())
}

/// A program that judges.
pub struct CommandJudge {
    id: JudgeId,
    program: String,
    args: Vec<String>,
    limit: Duration,
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
}

impl CommandJudge {
    pub(super) fn ask(&self, text: &str, channel: &str) -> Result<Score, JudgeError> {
        let begun = Instant::now();
        let program = &self.program;
        let started = self.command(channel).spawn();
        let child = started.map_err(|fault| unreachable(program, &fault))?;
        let mut running = Running(child);
        let (input_end, output_end) = (running.0.stdin.take(), running.0.stdout.take());
        let fed = feed(input_end, text.to_owned()).and_then(|()| read(output_end));
        let answer = fed.map_err(|fault| unreachable(program, &fault))?;
        let left = || self.limit.saturating_sub(begun.elapsed());
        let Ok(answer) = answer.recv_timeout(left()) else {
            return Err(JudgeError::TimedOut);
        };
        if answer.len() > ANSWER_BYTES_MAX {
            let text = format!("it printed more than {ANSWER_BYTES_MAX} bytes");
            return Err(JudgeError::Unreadable(text));
        }
        running.ended(left)?;
        score(&answer)
    }
}

fn unreachable(program: &str, fault: &std::io::Error) -> JudgeError {
    JudgeError::Unreachable(format!("`{program}` cannot be run: {fault}"))
}

/// Gives the text to the program, which need not read it.
fn feed(to: Option<ChildStdin>, text: String) -> std::io::Result<()> {
    let thread = std::thread::Builder::new().name("ancile-judge-feed".to_owned());
    let feeding = thread.spawn(move || {
        if let Some(mut to) = to {
            // A program that stopped reading is judged by what it printed.
            let _unread = to.write_all(text.as_bytes());
        }
    });
    feeding.map(|_| ())
}

/// Reads what it prints, and one byte more than it may.
fn read(from: Option<ChildStdout>) -> std::io::Result<Receiver<Vec<u8>>> {
    let (send, answer) = sync_channel(1);
    let thread = std::thread::Builder::new().name("ancile-judge-read".to_owned());
    thread.spawn(move || {
        let mut bytes = Vec::new();
        if let Some(from) = from {
            let most = ANSWER_BYTES_MAX as u64 + 1;
            // What came before a fault is what there is.
            let _fault = from.take(most).read_to_end(&mut bytes);
        }
        let _late = send.send(bytes);
    })?;
    Ok(answer)
}

/// A program that runs. When this goes, nothing of its process group is left.
struct Running(Child);

impl Running {
    fn pid(&self) -> Option<Pid> {
        Pid::from_raw(i32::try_from(self.0.id()).ok()?)
    }

    /// Waits until it ended well, as long as there is time left. It stays a zombie, so that its
    /// number, which is that of its group, is nobody else's yet.
    fn ended(&mut self, left: impl Fn() -> Duration) -> Result<(), JudgeError> {
        let mut pause = LOOK.0;
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        loop {
            let status = self.pid().map(|pid| waitid(WaitId::Pid(pid), options));
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

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(group) = self.pid() {
            // Nothing of it is left where this fails.
            let _gone = kill_process_group(group, Signal::KILL);
        }
        let _reaped = self.0.wait();
    }
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
