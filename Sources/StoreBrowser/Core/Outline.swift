package import StrataModel

/// The contents of a store, as the stores pane shows them: read once per commit; the cost does not depend on the records.
package struct Outline: Sendable, Equatable {
  package var commit: CommitDetails
  package var datastores: [Datastore]
  /// Why other datastores cannot be read, by key.
  package var unreadable: [String: String] = [:]
  package var pins: [Pin]
  package var byteCount: UInt64?
  package var history: HistorySize?

  package struct Datastore: Sendable, Equatable {
    package var descriptor: DatastoreDescriptor
    package var count: Int
    package var indexes: [Index]
    /// The first records that a warm-up or an index left out, until they are mended.
    package var leftOut: [LeftOutRecord] = []
    package var leftOutCount = 0
    /// The share that compressed values take; nil if they are not compressed.
    package var compressedText: String?

    package var key: String { descriptor.key }

    /// The descriptor of an index by name; nil stands for the order by identifier.
    func index(_ name: String?) -> Index? { name.flatMap { name in indexes.first { $0.descriptor.name == name } } }
  }

  package struct Index: Sendable, Equatable {
    package var descriptor: IndexDescriptor
    package var count: Int
  }

  func datastore(_ key: String?) -> Datastore? { key.flatMap { key in datastores.first { $0.key == key } } }
}
