// SPDX-License-Identifier: MIT OR Apache-2.0
//! How many items a page may have, and how high a quota may be, over HTTP.

use crate::world::{Asked, World};
use serde_json::{Value, json};

#[test]
fn a_page_has_at_most_two_hundred_items() {
    let w = World::new();
    for batch in [101, 100] {
        let entries: Vec<Value> = (0..batch)
            .map(|i| json!({"kind": "memory", "namespace": "main", "text": format!("note {i}")}))
            .collect();
        let body = json!({"entries": entries});
        w.post(&w.user, "/v1/entries/batch", &body).of(201);
    }
    let list = |query: &str| w.get(&w.user, &format!("/v1/entries?namespace=main&{query}"));
    for (limit, rest) in [(199, 2), (200, 1)] {
        let page = list(&format!("limit={limit}")).of(200);
        assert_eq!(page["items"].as_array().unwrap().len(), limit);
        let next = page["next"].as_str().unwrap();
        let page = list(&format!("limit={limit}&cursor={next}")).of(200);
        assert_eq!(page["items"].as_array().unwrap().len(), rest);
        assert_eq!(page["next"], Value::Null);
    }
    for limit in [0, 201] {
        let refused = list(&format!("limit={limit}"));
        assert_eq!(refused.status, 400);
        let detail = refused.json()["detail"].to_string();
        assert!(detail.contains("give 1 to 200"), "{detail}");
    }
    assert_eq!(
        list("limit=1").of(200)["items"].as_array().unwrap().len(),
        1
    );
}

#[test]
fn a_quota_is_a_number_that_every_reader_of_json_takes() {
    let w = World::new();
    let most: i64 = 9_007_199_254_740_991;
    for field in ["entries", "bytes"] {
        for (given, status) in [
            (-1, 400),
            (0, 204),
            (most - 1, 204),
            (most, 204),
            (most + 1, 400),
        ] {
            // Of nobody who writes: nothing is evicted.
            let body = json!({"principal": "nobody", field: given}).to_string();
            let answer = w.send(Some(&w.operator), &Asked::put("/v1/quotas", &body));
            assert_eq!(answer.status, status, "{field} {given} {}", answer.text);
            if status == 400 {
                assert_eq!(answer.code(), "count_out_of_range");
                continue;
            }
            let listed = w.get(&w.operator, "/v1/quotas").of(200);
            assert_eq!(listed["items"][0][field], given, "{listed}");
        }
    }
}
