//! Integration tests of the library and the command-line program: one binary, a module per theme.

mod analysers;
mod batch;
mod bulk;
mod cli;
mod common;
mod copies;
mod corruption;
mod crash;
mod designs;
mod edges;
mod exact;
mod exchange;
mod generations;
mod golden;
mod lifecycle;
mod live;
mod minhash;
mod pairs;
#[cfg(feature = "parquet")]
mod parquet;
mod parts;
mod real_data;
mod refusals;
mod sealed_faults;
mod shell;
mod signatures;
mod texts;
mod threads;
mod upkeep;
mod web;
mod work;
