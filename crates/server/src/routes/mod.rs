// SPDX-License-Identifier: MIT OR Apache-2.0
//! What each route does: one plain function each, from a request to an answer.

pub(crate) mod entries;
pub(crate) mod keys;
pub(crate) mod mandates;
pub(crate) mod review;
pub(crate) mod sessions;
pub(crate) mod sources;
pub(crate) mod tools;

use crate::ask::List;
use crate::route::{Route, delete, get, in_session, open, post, put};
use crate::wire::act::{CallAnswerBody, FireAnswerBody, FireBody, ProposeBody};
use crate::wire::chat::{AddedBody, ImportBody, MessagesBody};
use crate::wire::entry::{
    BatchBody, BatchWrittenBody, EntryBody, ErasureBody, LineageBody, TaskViewBody, WriteBody,
    WrittenBody,
};
use crate::wire::health::HealthBody;
use crate::wire::key::{KeyBody, KeyMadeBody, KeyViewBody, NamespaceBody, RotateBody, TenantBody};
use crate::wire::lists::{
    IndexBody, IntegrityBody, NamespaceListsBody, NamespaceViewBody, PrincipalViewBody, QuotaBody,
    QuotaViewBody, TenantViewBody,
};
use crate::wire::mandate::{DraftBody, MandateBody, MandateViewBody, ManifestSetBody};
use crate::wire::query::{CONSISTENCY, NAMESPACE_PAGE, PAGE, REPORT, TASK_PAGE};
use crate::wire::recall::{PackBody, RecallBody, SessionPackBody};
use crate::wire::reply::{FilteredBody, ReplyBody};
use crate::wire::report::{RefusalReportBody, ToolModeBody, ToolViewBody};
use crate::wire::review::{ApprovalBody, DigestBody, EndorseBody, QuarantineBody, ReleaseBody};
use crate::wire::session::{SessionBody, SessionOpenedBody, SessionViewBody};
use crate::wire::source::{GradeBody, RevokeBody, SourceBody, SourceViewBody};
use crate::wire::step::{StepAnswerBody, StepBody};
use serde_json::Value;

/// Every route there is.
pub const ROUTES: &[Route] = &[
    open("/healthz", "Say how the store stands", keys::health).gives::<HealthBody>(),
    post("/v1/sessions", "Open a session", sessions::open)
        .takes::<SessionBody>()
        .creates::<SessionOpenedBody>(),
    get("/v1/sessions", "List sessions", sessions::list)
        .with_query(PAGE)
        .gives::<List<SessionViewBody>>(),
    get("/v1/sessions/{id}", "Show a session", sessions::show).gives::<SessionViewBody>(),
    in_session(
        "/v1/sessions/{id}/step",
        "Run operations in order, all or none",
        sessions::step,
    )
    .takes::<StepBody<'_>>()
    .gives::<StepAnswerBody>(),
    in_session(
        "/v1/sessions/{id}/act",
        "Ask the act gate about a call",
        sessions::act,
    )
    .or_then(sessions::act_then)
    .takes::<ProposeBody>()
    .gives::<CallAnswerBody>(),
    in_session(
        "/v1/sessions/{id}/recall",
        "Recall within a session",
        sessions::recall,
    )
    .takes::<RecallBody>()
    .gives::<SessionPackBody>(),
    in_session(
        "/v1/sessions/{id}/reply",
        "Take unnamed links and images out of a reply",
        sessions::reply,
    )
    .takes::<ReplyBody>()
    .gives::<FilteredBody>(),
    in_session(
        "/v1/sessions/{id}/messages",
        "Take chat messages, and facts of single user turns",
        sessions::add_messages,
    )
    .takes::<MessagesBody>()
    .writes::<AddedBody>(),
    in_session(
        "/v1/sessions/{id}/close",
        "Close a session",
        sessions::close,
    ),
    post(
        "/v1/entries",
        "Write an entry outside a session",
        entries::write,
    )
    .takes::<WriteBody>()
    .writes::<WrittenBody>(),
    post(
        "/v1/entries/batch",
        "Write entries outside a session, all or none",
        entries::batch,
    )
    .takes::<BatchBody>()
    .writes::<BatchWrittenBody>(),
    get("/v1/entries", "List entries", entries::list)
        .with_query(NAMESPACE_PAGE)
        .gives::<List<EntryBody>>(),
    get("/v1/entries/{id}", "Show an entry", entries::show).gives::<EntryBody>(),
    delete(
        "/v1/entries/{id}",
        "Destroy the content of an entry",
        entries::erase,
    )
    .gives::<ErasureBody>(),
    post(
        "/v1/entries/{id}/endorse",
        "Answer for an entry, by its exact digest",
        review::endorse,
    )
    .takes::<EndorseBody>()
    .creates::<WrittenBody>(),
    get(
        "/v1/entries/{id}/lineage",
        "Show what an entry rests on",
        entries::lineage,
    )
    .gives::<LineageBody>(),
    get(
        "/v1/entries/{id}/proof",
        "Prove that an entry is in the log",
        entries::proof,
    )
    .gives::<Value>(),
    get(
        "/v1/export",
        "Give entries with all that proves them",
        entries::export,
    )
    .with_query(NAMESPACE_PAGE)
    .gives_lines(),
    post(
        "/v1/import",
        "Write entries from elsewhere",
        entries::import,
    )
    .takes::<ImportBody>()
    .writes::<BatchWrittenBody>(),
    post("/v1/recall", "Recall for a person", entries::recall)
        .takes::<RecallBody>()
        .gives::<PackBody>(),
    get("/v1/tasks", "List tasks", sessions::tasks)
        .with_query(TASK_PAGE)
        .gives::<List<TaskViewBody>>(),
    post("/v1/tasks/{id}/fire", "Fire a due task", sessions::fire)
        .takes::<FireBody>()
        .gives::<FireAnswerBody>(),
    post(
        "/v1/tasks/{id}/cancel",
        "Have a task fire no more",
        sessions::cancel,
    ),
    get("/v1/manifest", "Show the tool manifest", mandates::manifest).gives::<Value>(),
    put(
        "/v1/manifest",
        "Set the tool manifest",
        mandates::set_manifest,
    )
    .takes::<Value>()
    .gives::<ManifestSetBody>(),
    get("/v1/tools", "List the tools of the manifest", tools::list)
        .with_query(PAGE)
        .gives::<List<ToolViewBody>>(),
    put(
        "/v1/tools/{name}/mode",
        "Set whether decisions on a tool's calls bind",
        tools::set_mode,
    )
    .takes::<ToolModeBody>(),
    get(
        "/v1/report/refusals",
        "Report what was refused, or would have been",
        tools::refusals,
    )
    .with_query(REPORT)
    .gives::<RefusalReportBody>(),
    post("/v1/mandates", "Grant a mandate", mandates::grant)
        .takes::<MandateBody>()
        .creates::<MandateViewBody>(),
    get("/v1/mandates", "List mandates", mandates::list)
        .with_query(PAGE)
        .gives::<List<MandateViewBody>>(),
    post(
        "/v1/mandates/draft",
        "Show the Cedar text of a mandate",
        mandates::draft,
    )
    .takes::<MandateBody>()
    .gives::<DraftBody>(),
    post(
        "/v1/mandates/{id}/revoke",
        "Revoke a mandate",
        mandates::revoke,
    ),
    get("/v1/approvals", "List asks", review::approvals)
        .with_query(PAGE)
        .gives::<List<ApprovalBody>>(),
    get("/v1/approvals/{id}", "Show an ask", review::approval).gives::<ApprovalBody>(),
    post(
        "/v1/approvals/{id}/approve",
        "Approve exactly this call, once",
        review::approve,
    )
    .takes::<DigestBody>()
    .gives::<ApprovalBody>(),
    post("/v1/approvals/{id}/deny", "Deny an ask", review::deny).gives::<ApprovalBody>(),
    get("/v1/sources", "List sources", sources::list)
        .with_query(PAGE)
        .gives::<List<SourceViewBody>>(),
    post("/v1/sources", "Register a source", sources::register).takes::<SourceBody>(),
    post(
        "/v1/sources/{name}/approve",
        "Grade a field of a source",
        sources::approve,
    )
    .takes::<GradeBody>(),
    post(
        "/v1/sources/{name}/revoke",
        "Take approval back",
        sources::revoke,
    )
    .takes::<RevokeBody>(),
    get("/v1/quarantine", "List what is quarantined", review::shelf)
        .with_query(NAMESPACE_PAGE)
        .gives::<List<QuarantineBody>>(),
    post(
        "/v1/quarantine/{id}/release",
        "Release from quarantine",
        review::release,
    )
    .takes::<ReleaseBody>()
    .gives::<EntryBody>(),
    post(
        "/v1/quarantine/{id}/discard",
        "Discard from quarantine",
        review::discard,
    )
    .takes::<DigestBody>(),
    post("/v1/keys", "Make a key", keys::make)
        .takes::<KeyBody>()
        .creates::<KeyMadeBody>(),
    get("/v1/keys", "List keys", keys::list)
        .with_query(PAGE)
        .gives::<List<KeyViewBody>>(),
    post(
        "/v1/keys/{id}/rotate",
        "Make a key like another, which ends",
        keys::rotate,
    )
    .takes::<RotateBody>()
    .creates::<KeyMadeBody>(),
    post("/v1/keys/{id}/revoke", "Revoke a key", keys::revoke),
    get("/v1/principals", "List principals", keys::principals)
        .with_query(PAGE)
        .gives::<List<PrincipalViewBody>>(),
    post("/v1/tenants", "Make a tenant", keys::make_tenant)
        .takes::<TenantBody>()
        .creates::<KeyMadeBody>(),
    get("/v1/tenants", "List tenants", keys::tenants)
        .with_query(PAGE)
        .gives::<List<TenantViewBody>>(),
    post("/v1/namespaces", "Make a namespace", keys::make_namespace).takes::<NamespaceBody>(),
    get("/v1/namespaces", "List namespaces", keys::namespaces)
        .with_query(PAGE)
        .gives::<List<NamespaceViewBody>>(),
    put(
        "/v1/namespaces/{name}",
        "Change who may read and write a namespace",
        keys::change_namespace,
    )
    .takes::<NamespaceListsBody>(),
    get("/v1/quotas", "List quotas", keys::quotas)
        .with_query(PAGE)
        .gives::<List<QuotaViewBody>>(),
    put(
        "/v1/quotas",
        "Set a quota, or take one away",
        keys::set_quota,
    )
    .takes::<QuotaBody>(),
    get(
        "/v1/integrity",
        "Say how the store stands, for an operator",
        keys::integrity,
    )
    .gives::<IntegrityBody>(),
    get(
        "/v1/index",
        "Say how the index stands, for an operator",
        keys::index,
    )
    .gives::<IndexBody>(),
    post(
        "/v1/index/rebuild",
        "Make the index anew from the log, beside the requests",
        keys::rebuild_index,
    )
    .gives::<IndexBody>(),
    get(
        "/v1/checkpoint",
        "Show the signed checkpoint",
        keys::checkpoint,
    )
    .gives_text(),
    get(
        "/v1/consistency",
        "Prove that an earlier log is a prefix of today's",
        keys::consistency,
    )
    .with_query(CONSISTENCY)
    .gives::<Value>(),
];
