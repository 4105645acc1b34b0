/// Whether the values of a datastore are compressed in the store's file.
///
/// Compressed values take about a third of their length, and are read nearly as fast. Nothing else changes: instances, history, and copies
/// of the store elsewhere. It begins with the next compaction (``DiskPersistence/shortenHistory(keeping:)``, a retention, or `strata
/// compact`), which makes a dictionary of some records, and applies to datastores with more than 256 KiB of values. Programs that do not
/// know compressed values refuse the store from then on.
public enum ValueCompression: Hashable, Sendable {
  /// Values are stored as they are encoded.
  case none
  /// Each value is compressed by itself.
  case values
}
