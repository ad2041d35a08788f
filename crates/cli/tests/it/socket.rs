// SPDX-License-Identifier: MIT OR Apache-2.0
use crate::support::{Scene, Server};
use std::io::{Read as _, Write as _};
use std::os::unix::fs::{FileTypeExt as _, PermissionsExt as _};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::process::Command;

/// Longest path of a socket, in bytes.
const PATH_BYTES_MAX: usize = 103;

fn serve(scene: &Scene) -> Server {
    scene.serve(&["--socket", "here"])
}

/// Sends a request over the socket; gives status line, headers and body.
fn ask(path: &Path, head: &str) -> String {
    let mut stream = UnixStream::connect(path).unwrap();
    let head = format!("{head}Host: localhost\r\nConnection: close\r\n\r\n");
    stream.write_all(head.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

/// Starts a server that must be refused, with this text, and make no store.
fn refused(socket: &str, scene: &Scene, code: i32, said: &str) {
    let ran = scene.run(&["serve", "--listen", "127.0.0.1:0", "--socket", socket]);
    assert_eq!(ran.code, code, "{}", ran.err);
    assert!(ran.err.contains(said), "{}", ran.err);
    assert!(!scene.path(".ancile").exists());
}

#[test]
fn a_socket_serves_the_same_store_as_the_address_and_ends_with_the_server() {
    let scene = Scene::new();
    let server = serve(&scene);
    assert!(server.welcome.contains("\nand on the socket here\n"));
    let path = scene.path("here");
    let well = ask(&path, "GET /healthz HTTP/1.1\r\n");
    assert!(well.starts_with("HTTP/1.1 200 OK\r\n"), "{well}");
    scene.json(&["write", "Tea at four"]);
    let unknown = ask(&path, "GET /v1/entries HTTP/1.1\r\n");
    assert!(unknown.starts_with("HTTP/1.1 401 "), "{unknown}");
    let key = std::fs::read_to_string(scene.path(".ancile/keys/user.key")).unwrap();
    let head = format!(
        "GET /v1/entries?namespace=main HTTP/1.1\r\nAuthorization: Bearer {}\r\n",
        key.trim()
    );
    let listed = ask(&path, &head);
    assert!(listed.starts_with("HTTP/1.1 200 OK\r\n"), "{listed}");
    assert!(listed.contains("Tea at four"), "{listed}");
    assert_eq!(server.signal("-TERM"), Some(0));
    assert!(!path.exists());
}

#[test]
fn the_limits_of_the_address_are_those_of_the_socket() {
    let scene = Scene::new();
    let set = ["--set", "limits.body_bytes=1024"];
    let _server = scene.serve(&[&["--socket", "here"], &set[..]].concat());
    let key = std::fs::read_to_string(scene.path(".ancile/keys/user.key")).unwrap();
    let head = format!(
        "POST /v1/entries HTTP/1.1\r\nAuthorization: Bearer {}\r\n\
         Content-Type: application/json\r\nContent-Length: 1025\r\n",
        key.trim()
    );
    let answer = ask(&scene.path("here"), &head);
    assert!(answer.starts_with("HTTP/1.1 413 "), "{answer}");
}

#[test]
fn who_connects_to_the_socket_is_on_this_machine() {
    let scene = Scene::new();
    let access = |word: &str| {
        let set = format!("metrics.access={word}");
        let server = scene.serve(&["--socket", "here", "--set", &set]);
        let answer = ask(&scene.path("here"), "GET /metrics HTTP/1.1\r\n");
        assert_eq!(server.signal("-TERM"), Some(0));
        answer.split(' ').nth(1).unwrap().to_owned()
    };
    assert_eq!(access("operator"), "401");
    assert_eq!(access("loopback"), "200");
}

#[test]
fn a_socket_is_its_owners_alone_whatever_the_mask_is() {
    let scene = Scene::new();
    let _server = scene.serve_by("umask 000; exec \"$@\"", &["--socket", "here"]);
    let found = scene.path("here").symlink_metadata().unwrap();
    assert!(found.file_type().is_socket());
    assert_eq!(found.permissions().mode() & 0o7777, 0o600);
    let store = scene.path(".ancile/data/store.db").metadata().unwrap();
    assert_eq!(store.permissions().mode() & 0o7777, 0o600);
}

#[test]
fn curl_reaches_the_socket_as_it_is_documented() {
    let scene = Scene::new();
    let _server = serve(&scene);
    let mut curl = Command::new("curl");
    curl.args(["-sS", "--unix-socket", "here"])
        .arg("http://localhost/healthz")
        .current_dir(scene.path(""));
    let Ok(ran) = curl.output() else {
        eprintln!("SKIPPED (no curl): curl_reaches_the_socket_as_it_is_documented");
        return;
    };
    let said = String::from_utf8(ran.stdout).unwrap();
    assert!(said.contains("\"status\":"), "{said}");
}

#[test]
fn the_socket_of_a_killed_server_is_taken_over() {
    let scene = Scene::new();
    assert_eq!(serve(&scene).signal("-KILL"), None);
    assert!(scene.path("here").symlink_metadata().is_ok());
    let server = serve(&scene);
    let well = ask(&scene.path("here"), "GET /healthz HTTP/1.1\r\n");
    assert!(well.starts_with("HTTP/1.1 200 OK\r\n"), "{well}");
    assert_eq!(server.signal("-INT"), Some(0));
    assert!(!scene.path("here").exists());
}

#[test]
fn the_socket_of_a_server_that_runs_is_left_to_it() {
    let (scene, other) = (Scene::new(), Scene::new());
    let server = serve(&scene);
    let path = scene.path("here");
    refused(
        path.to_str().unwrap(),
        &other,
        6,
        "another process listens there; choose another by --socket",
    );
    let well = ask(&path, "GET /healthz HTTP/1.1\r\n");
    assert!(well.starts_with("HTTP/1.1 200 OK\r\n"), "{well}");
    assert_eq!(server.signal("-TERM"), Some(0));
}

#[test]
fn what_is_no_socket_is_refused_and_stays() {
    let scene = Scene::new();
    let said = "what is there is no socket, and stays; choose another by --socket";
    std::fs::create_dir(scene.path("directory")).unwrap();
    refused("directory", &scene, 6, said);
    assert!(scene.path("directory").is_dir());
    std::fs::write(scene.path("file"), "dear").unwrap();
    refused("file", &scene, 6, said);
    assert_eq!(std::fs::read(scene.path("file")).unwrap(), b"dear");
    // A link to a socket that nobody answers at: neither is removed.
    drop(UnixListener::bind(scene.path("stale")).unwrap());
    std::os::unix::fs::symlink("stale", scene.path("link")).unwrap();
    refused("link", &scene, 6, said);
    assert!(scene.path("link").is_symlink() && scene.path("stale").exists());
    refused(
        "nowhere/here",
        &scene,
        6,
        "cannot listen on the socket `nowhere/here`: ",
    );
}

#[test]
fn a_socket_is_not_taken_over_by_two_at_once() {
    let scene = Scene::new();
    drop(UnixListener::bind(scene.path("here")).unwrap());
    let directory = std::fs::File::open(scene.path("")).unwrap();
    directory.lock().unwrap();
    refused(
        "here",
        &scene,
        6,
        "its directory is locked by another process; ",
    );
    assert!(scene.path("here").exists());
    drop(directory);
    assert_eq!(serve(&scene).signal("-TERM"), Some(0));
}

#[test]
fn a_path_is_refused_above_its_limit_which_is_named() {
    let scene = Scene::new();
    let longest = "s".repeat(PATH_BYTES_MAX);
    refused(
        &format!("{longest}s"),
        &scene,
        2,
        "it has 104 bytes; it takes the path of a Unix socket, of at most 103 bytes, or nothing",
    );
    let server = scene.serve(&["--socket", &longest]);
    assert!(scene.path(&longest).exists());
    assert_eq!(server.signal("-TERM"), Some(0));
}

#[test]
fn what_took_the_name_meanwhile_is_not_removed() {
    let scene = Scene::new();
    let server = serve(&scene);
    std::fs::remove_file(scene.path("here")).unwrap();
    std::fs::write(scene.path("here"), "dear").unwrap();
    assert_eq!(server.signal("-TERM"), Some(0));
    assert_eq!(std::fs::read(scene.path("here")).unwrap(), b"dear");
}

#[test]
fn a_server_that_cannot_open_its_store_leaves_no_socket() {
    let scene = Scene::new();
    let _server = scene.serve(&[]);
    let ran = scene.run(&["serve", "--listen", "127.0.0.1:0", "--socket", "here"]);
    assert_eq!(ran.code, 6, "{}", ran.err);
    assert!(!scene.path("here").exists());
}
