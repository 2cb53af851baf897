//! One file for each subcommand.

pub(crate) mod add;
pub(crate) mod checkpoint;
pub(crate) mod create;
pub(crate) mod dedup;
pub(crate) mod delete;
pub(crate) mod doctor;
pub(crate) mod expire;
pub(crate) mod get;
pub(crate) mod plan;
pub(crate) mod query;
pub(crate) mod repair;
pub(crate) mod shell;
pub(crate) mod stats;
pub(crate) mod verify;
