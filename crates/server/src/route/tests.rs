// SPDX-License-Identifier: MIT OR Apache-2.0
use super::*;
use std::sync::mpsc;

#[tokio::test]
async fn work_that_takes_too_long_keeps_its_place_until_it_ends() {
    let slots = Arc::new(Semaphore::new(1));
    let slot = Arc::clone(&slots).try_acquire_owned().ok();
    let (finish, finished) = mpsc::channel::<()>();
    let work = move || {
        finished.recv().ok();
        Ok(Reply::nothing())
    };
    let fault = run(Duration::from_millis(20), slot, work)
        .await
        .unwrap_err();
    assert_eq!((fault.status.as_u16(), fault.code), (503, "timeout"));
    assert_eq!(slots.available_permits(), 0);
    finish.send(()).unwrap();
    let freed = timeout(Duration::from_secs(10), slots.acquire()).await;
    assert!(freed.is_ok(), "the place is given back");
}

#[tokio::test]
async fn work_that_panics_is_an_internal_fault() {
    let fault = run(Duration::from_secs(10), None, || panic!("secret"))
        .await
        .unwrap_err();
    assert_eq!((fault.status.as_u16(), fault.code), (500, "internal"));
    assert!(!fault.detail.contains("secret"));
}

#[test]
fn request_ids_differ() {
    let ids = RequestIds::new();
    assert_ne!(ids.next(), ids.next());
}
