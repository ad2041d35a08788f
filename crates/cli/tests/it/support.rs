// SPDX-License-Identifier: MIT OR Apache-2.0
use serde_json::Value;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};

/// A directory to run in, with the store in `.ancile`.
pub struct Scene {
    server: Option<Server>,
    dir: tempfile::TempDir,
}

/// What a command said.
pub struct Ran {
    pub code: i32,
    pub out: String,
    pub err: String,
}

/// A server in the foreground of its own process.
pub struct Server {
    child: Child,
    pub welcome: String,
}

impl Scene {
    pub fn new() -> Self {
        Self {
            server: None,
            dir: tempfile::tempdir().unwrap(),
        }
    }

    /// A scene with a server that runs as long as it.
    pub fn served() -> Self {
        let mut scene = Self::new();
        scene.server = Some(scene.serve(&[]));
        scene
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ancile"));
        command
            .args(args)
            .current_dir(self.dir.path())
            .stdin(Stdio::null());
        without_ours(&mut command);
        command
    }

    /// A shell that runs this script, with our binary as `ancile`.
    pub fn shell(&self, script: &str) -> Command {
        let ours = std::path::Path::new(env!("CARGO_BIN_EXE_ancile"));
        let mut path = ours.parent().unwrap().as_os_str().to_owned();
        path.push(":");
        path.push(std::env::var_os("PATH").unwrap_or_default());
        let mut shell = Command::new("sh");
        shell
            .args(["-c", script])
            .env("PATH", path)
            .current_dir(self.dir.path())
            .stdin(Stdio::null());
        without_ours(&mut shell);
        shell
    }

    /// Overwrites these bytes of the store's database where it first has them.
    pub fn edit(&self, old: &[u8], new: &[u8]) {
        let database = self.path(".ancile/data/store.db");
        let mut bytes = std::fs::read(&database).unwrap();
        let mut windows = bytes.windows(old.len());
        let at = windows.position(|window| window == old).unwrap();
        bytes[at..at + new.len()].copy_from_slice(new);
        std::fs::write(&database, bytes).unwrap();
    }

    /// Waits until the server has compared all of its store with the log.
    pub fn settled(&self) {
        while self.run(&["health"]).out.contains("integrity: pending") {
            std::thread::yield_now();
        }
    }

    /// Ends the server.
    pub fn stop(&mut self) {
        let server = self.server.take().unwrap();
        assert_eq!(server.signal("-TERM"), Some(0));
    }

    pub fn run(&self, args: &[&str]) -> Ran {
        Ran::of(self.command(args).output().unwrap())
    }

    pub fn run_with(&self, args: &[&str], input: &str) -> Ran {
        let mut child = self
            .command(args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        child
            .stdin
            .take()
            .unwrap()
            .write_all(input.as_bytes())
            .unwrap();
        Ran::of(child.wait_with_output().unwrap())
    }

    /// Runs with `--json` and reads the answer; the command must succeed.
    pub fn json(&self, args: &[&str]) -> Value {
        let ran = self.run(&[args, &["--json"]].concat());
        assert_eq!(ran.code, 0, "{args:?}: {}{}", ran.out, ran.err);
        serde_json::from_str(&ran.out).unwrap()
    }

    /// Starts a server on a free port and waits until it says where it listens.
    pub fn serve(&self, more: &[&str]) -> Server {
        self.start(self.command(&[&SERVE, more].concat()))
    }

    /// The same from a shell script, which gets the command as its arguments.
    pub fn serve_by(&self, script: &str, more: &[&str]) -> Server {
        let mut shell = self.shell(script);
        shell.args(["sh", env!("CARGO_BIN_EXE_ancile")]);
        shell.args(SERVE).args(more);
        self.start(shell)
    }

    fn start(&self, mut server: Command) -> Server {
        let log = std::fs::File::create(self.path("log")).unwrap();
        let mut child = server.stdout(Stdio::piped()).stderr(log).spawn().unwrap();
        let mut welcome = String::new();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        while !welcome.ends_with(" demo\n") {
            let read = out.read_line(&mut welcome).unwrap();
            assert_ne!(
                read,
                0,
                "{welcome}{}",
                std::fs::read_to_string(self.path("log")).unwrap()
            );
        }
        Server { child, welcome }
    }
}

/// A server on a free port.
const SERVE: [&str; 3] = ["serve", "--listen", "127.0.0.1:0"];

/// Takes out what the environment can say; no test has any of it from outside.
fn without_ours(command: &mut Command) {
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("ANCILE_") {
            command.env_remove(name);
        }
    }
}

impl Ran {
    pub fn of(output: Output) -> Self {
        Self {
            code: output.status.code().unwrap(),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

impl Server {
    pub fn address(&self) -> String {
        let line = self
            .welcome
            .lines()
            .find_map(|line| line.strip_prefix("listening on http://"));
        line.unwrap().to_owned()
    }

    /// Sends a signal by name and waits for the end.
    pub fn signal(mut self, name: &str) -> Option<i32> {
        let id = self.child.id().to_string();
        assert!(
            Command::new("kill")
                .args([name, &id])
                .status()
                .unwrap()
                .success()
        );
        self.child.wait().unwrap().code()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        _ = self.child.kill();
        _ = self.child.wait();
    }
}

/// A text without what differs from run to run: ids, digests, moments, ports.
pub fn filtered(text: &str) -> String {
    let mut out = String::new();
    for (i, line) in text.lines().enumerate() {
        if i > 0 {
            out.push('\n');
        }
        let words = line.split(' ').map(|word| match word {
            word if is_id(word) => "<id>".to_owned(),
            word if word.len() == 64 && word.bytes().all(|b| b.is_ascii_hexdigit()) => {
                "<digest>".to_owned()
            }
            word if word.len() == 20 && word.ends_with('Z') && word.starts_with("20") => {
                "<moment>".to_owned()
            }
            word => port(word),
        });
        out.push_str(&words.collect::<Vec<_>>().join(" "));
    }
    out
}

fn is_id(word: &str) -> bool {
    word.len() == 36 && word.bytes().filter(|b| *b == b'-').count() == 4
}

fn port(word: &str) -> String {
    match word.split_once("127.0.0.1:") {
        Some((before, after)) => {
            let rest = after.trim_start_matches(|c: char| c.is_ascii_digit());
            format!("{before}127.0.0.1:<port>{rest}")
        }
        None => word.to_owned(),
    }
}
