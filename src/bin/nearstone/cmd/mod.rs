//! One file for each subcommand.

pub(crate) mod add;
pub(crate) mod create;
pub(crate) mod dedup;
pub(crate) mod delete;
pub(crate) mod doctor;
pub(crate) mod get;
pub(crate) mod plan;
pub(crate) mod query;
pub(crate) mod shell;
pub(crate) mod stats;
