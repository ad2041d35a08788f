// SPDX-License-Identifier: MIT OR Apache-2.0
use super::*;
use std::sync::{Arc, mpsc};
use tokio::sync::Semaphore;

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

#[tokio::test]
async fn an_answer_that_is_told_too_late_frees_what_is_held_when_it_comes() {
    let slots = Arc::new(Semaphore::new(1));
    let slot = Arc::clone(&slots).try_acquire_owned().unwrap();
    let (give, given) = mpsc::channel::<Done>();
    let begin = |done| {
        give.send(done).unwrap();
        Ok(())
    };
    let fault = told(Duration::from_millis(20), slot, begin)
        .await
        .unwrap_err();
    assert_eq!((fault.status.as_u16(), fault.code), (503, "timeout"));
    assert_eq!(slots.available_permits(), 0);
    given.recv().unwrap()(Ok(Reply::nothing()));
    assert_eq!(slots.available_permits(), 1);
}

#[tokio::test]
async fn work_that_is_refused_or_ends_without_an_answer_keeps_nobody_waiting() {
    let limit = Duration::from_secs(10);
    let refused = told(limit, (), |_| Err(Problem::internal("no"))).await;
    assert_eq!(refused.unwrap_err().code, "internal");
    let ended = told(limit, (), |done| {
        drop(done);
        Ok(())
    });
    let fault = ended.await.unwrap_err();
    assert_eq!((fault.status.as_u16(), fault.code), (503, "stopping"));
}
