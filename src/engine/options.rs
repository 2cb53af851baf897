//! How RocksDB is set up. Every option that is not the default says why.

use rocksdb::statistics::StatsLevel;
use rocksdb::{
    BlockBasedIndexType, BlockBasedOptions, BlockBasedTablePinningTier, Cache, DBCompressionType, DataBlockIndexType,
    LogLevel, Options, SliceTransform,
};

use super::expiry::{Expiry, ExpiryFactory, Values};
use crate::format::families::Family;

/// The resources of an open store; none of them changes what is stored.
#[derive(Clone, Copy, Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is an option of its own")]
pub(crate) struct Resources {
    pub(crate) cache_bytes: usize,
    pub(crate) write_buffer_bytes: usize,
    pub(crate) max_open_files: Option<u32>,
    /// Whether files are read past the system's cache.
    pub(crate) reads_directly: bool,
    /// How many threads read for a query, its own included.
    pub(crate) read_threads: usize,
    /// Whether reads are counted.
    pub(crate) counts_reads: bool,
    /// Whether indexes are small enough to stay in the cache.
    pub(crate) pins_index: bool,
    /// About what the indexes take that do.
    pub(crate) pinned_bytes: u64,
    /// Whether the database is to be opened although files of it may be missing.
    pub(crate) is_lenient: bool,
}

/// An index takes about this part of what it is of.
const INDEX_SHARE: u64 = 200;

impl Resources {
    /// The resources for files of so many bytes. Their index stays in the cache where it takes a quarter of it at most:
    /// to look a part of it up there costs nearly as much as to look up what it leads to.
    pub(crate) fn for_files(mut self, bytes: u64) -> Self {
        let index = bytes / INDEX_SHARE;
        self.pins_index = index <= self.cache_bytes as u64 / 4;
        self.pinned_bytes = if self.pins_index { index } else { 0 };
        self
    }

    pub(crate) fn for_repair(mut self) -> Self {
        self.is_lenient = true;
        self
    }
}

/// How a file of pages is laid out.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PageLayout {
    /// Whether compression saves anything.
    pub(crate) is_compressible: bool,
    /// How many bytes of pages are read together. What is read from a medium at once should be what a probe needs; a
    /// block more costs as much as a seek, and bytes that are not needed take cache.
    pub(crate) block_bytes: usize,
}

impl PageLayout {
    /// The smallest block that is worth a read.
    const DOCUMENT_BLOCK_BYTES: usize = 4 << 10;

    /// The layout of documents and holders, which are looked up one by one.
    pub(crate) fn of_documents(is_compressible: bool) -> Self {
        Self { is_compressible, block_bytes: Self::DOCUMENT_BLOCK_BYTES }
    }

    /// The layout of a table with blocks of so many bytes.
    pub(crate) fn of_table(block_bytes: u64) -> Self {
        Self { is_compressible: false, block_bytes: usize::try_from(block_bytes).unwrap_or(Self::DOCUMENT_BLOCK_BYTES) }
    }
}

/// Files of this size keep the number of files, and of open table readers, small.
const TARGET_FILE_BYTES: u64 = 64 << 20;

/// Less than this would be a file for every few documents; zero would mean no limit.
const MIN_WRITE_BUFFER_BYTES: usize = 1 << 20;

pub(super) fn database(resources: &Resources) -> Options {
    let mut options = Options::default();
    let threads = std::thread::available_parallelism().map_or(2, |n| i32::try_from(n.get()).unwrap_or(2).max(2));
    options.increase_parallelism(threads);
    options.set_max_background_jobs(threads);
    options.set_max_subcompactions(2);
    // One budget for the write buffers of all families; without it memory grows with their number.
    options.set_db_write_buffer_size(resources.write_buffer_bytes.max(MIN_WRITE_BUFFER_BYTES));
    // A log file lives until every family that it holds data of was flushed. With many families the
    // default limit is gigabytes.
    options.set_max_total_wal_size((resources.write_buffer_bytes as u64).saturating_mul(2).max(64 << 20));
    options.set_max_open_files(resources.max_open_files.map_or(-1, |n| i32::try_from(n).unwrap_or(i32::MAX)));
    options.set_use_direct_reads(resources.reads_directly);
    if resources.counts_reads {
        options.enable_statistics();
        // Counts only: to take times would cost as much as a probe.
        options.set_statistics_level(StatsLevel::ExceptHistogramOrTimers);
    }
    options.set_paranoid_checks(!resources.is_lenient);
    options.set_bytes_per_sync(1 << 20);
    options.set_wal_bytes_per_sync(512 << 10);
    options.set_max_manifest_file_size(1 << 20);
    options.set_track_and_verify_wals_in_manifest(true);
    options.set_avoid_unnecessary_blocking_io(true);
    options.set_keep_log_file_num(5);
    options.set_max_log_file_size(16 << 20);
    options.set_log_level(LogLevel::Warn);
    options.set_stats_dump_period_sec(0);
    options
}

/// The options of a family of a store with a retention. `expiry` lets compactions drop what has expired.
pub(super) fn of(
    of: Option<Family>,
    retention_millis: Option<u64>,
    cache: &Cache,
    resources: &Resources,
    expiry: Option<&Expiry>,
) -> Options {
    let mut options = family(of, None, cache, resources);
    if let (Some(of), Some(expiry), Some(retention)) = (of, expiry, retention_millis) {
        expire(&mut options, of, expiry, retention);
    }
    options
}

fn family(family: Option<Family>, layout: Option<PageLayout>, cache: &Cache, resources: &Resources) -> Options {
    let mut blocks = BlockBasedOptions::default();
    // Always the one shared cache: a family without one gets 32 MiB of its own.
    blocks.set_block_cache(cache);
    blocks.set_cache_index_and_filter_blocks(true);
    blocks.set_pin_l0_filter_and_index_blocks_in_cache(true);
    let mut options = Options::default();
    options.set_compression_type(DBCompressionType::Lz4);
    options.set_bottommost_compression_type(DBCompressionType::Zstd);
    options.set_target_file_size_base(TARGET_FILE_BYTES);
    options.set_write_buffer_size((resources.write_buffer_bytes / 4).clamp(1 << 20, 64 << 20));
    options.set_max_write_buffer_number(3);
    // Both default to 30 days, which would rewrite a store at rest every month.
    options.set_ttl(0);
    options.set_periodic_compaction_seconds(0);
    match family.map_or(0, Family::prefix_bytes) {
        _ if family.is_some_and(Family::is_sealed) => {
            // Pages share nothing with the keys before them: each is found by bisection.
            blocks.set_block_restart_interval(1);
            // Pages are found by the key that comes after what is looked for: a filter could not say no.
            options.set_compression_type(DBCompressionType::None);
            options.set_bottommost_compression_type(DBCompressionType::None);
            options.set_write_buffer_size(1 << 20);
            options.set_disable_auto_compactions(true);
        }
        0 => {
            blocks.set_block_size(16 << 10);
            blocks.set_bloom_filter(10.0, false);
            blocks.set_data_block_index_type(DataBlockIndexType::BinaryAndHash);
            blocks.set_data_block_hash_ratio(0.75);
            // Most ids that are looked up are new: a filter says so before the buffer is searched.
            options.set_memtable_whole_key_filtering(true);
            options.set_memtable_prefix_bloom_ratio(0.02);
        }
        prefix_bytes => {
            blocks.set_block_size(8 << 10);
            // No key is looked up as a whole, so the filters hold prefixes only.
            blocks.set_whole_key_filtering(false);
            blocks.set_bloom_filter(10.0, false);
            options.set_prefix_extractor(SliceTransform::create_fixed_prefix(prefix_bytes));
            options.set_memtable_prefix_bloom_ratio(0.02);
            if matches!(family, Some(Family::Table { .. })) {
                // The bottom level of a table that was filled holds nearly every prefix: a filter there
                // says no to nothing. Holders are looked up for sketches that are new, too.
                options.set_optimize_filters_for_hits(true);
            } else {
                // Where a sketch loses many holders, the deleted ones lie in the way of the next.
                options.add_compact_on_deletion_collector_factory(10_000, 2_000, 0.2);
            }
        }
    }
    blocks.set_index_type(BlockBasedIndexType::TwoLevelIndexSearch);
    blocks.set_partition_filters(true);
    blocks.set_metadata_block_size(8 << 10);
    if let Some(layout) = layout {
        blocks.set_block_size(layout.block_bytes);
    }
    if resources.pins_index {
        blocks.set_partition_pinning_tier(BlockBasedTablePinningTier::All);
    }
    blocks.set_top_level_index_pinning_tier(BlockBasedTablePinningTier::All);
    options.set_block_based_table_factory(&blocks);
    options
}

/// The options of a file of pages that is to be ingested.
pub(super) fn page_file(family: Family, layout: PageLayout, cache: &Cache, resources: &Resources) -> Options {
    let mut options = self::family(Some(family), Some(layout), cache, resources);
    if layout.is_compressible {
        options.set_bottommost_compression_type(DBCompressionType::Zstd);
    }
    options
}

/// Files are looked at again, to drop what has expired, at least once in this part of the retention.
const LOOKS_PER_RETENTION: u64 = 4;

/// Lets compactions drop what has expired.
fn expire(options: &mut Options, family: Family, expiry: &Expiry, retention_millis: u64) {
    let values = match family {
        Family::Documents { .. } => Values::Documents,
        Family::Holders { .. } => Values::Holders,
        // Tables do not know when a sketch was stored, and what is sealed is sealed anew.
        _ => return,
    };
    options.set_compaction_filter_factory(ExpiryFactory { expiry: expiry.clone(), values, retention_millis });
    let seconds = (retention_millis / 1000 / LOOKS_PER_RETENTION).clamp(60 * 60, 30 * 24 * 60 * 60);
    options.set_periodic_compaction_seconds(seconds);
}
