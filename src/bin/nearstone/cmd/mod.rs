//! One file for each subcommand.

pub(crate) mod add;
pub(crate) mod bench;
pub(crate) mod checkpoint;
pub(crate) mod create;
pub(crate) mod dedup;
pub(crate) mod delete;
pub(crate) mod doctor;
pub(crate) mod evaluate;
pub(crate) mod expire;
pub(crate) mod explain;
pub(crate) mod export;
pub(crate) mod fingerprint;
pub(crate) mod get;
pub(crate) mod idf;
pub(crate) mod load;
pub(crate) mod merge;
pub(crate) mod pairs;
pub(crate) mod plan;
pub(crate) mod query;
mod query_batch;
mod records;
pub(crate) mod repair;
pub(crate) mod seal;
pub(crate) mod shell;
pub(crate) mod stats;
pub(crate) mod verify;
