import Documents
import DatastoreModel
import Locks

/// What a datastore in use declares of its key; two that write to one key must declare the same.
struct Declaration: Hashable, Sendable {
  var version: String
  var instanceType: String
  var identifierType: String
  var identifierEncoding: KeyEncoding
  var coding: RecordCoding?
  var indexes: [IndexDescriptor]
}

/// A datastore in use.
protocol DeclaredDatastore: AnyObject, Sendable {
  var declaration: Declaration { get }
  /// What the types tell to tools that know only documents.
  var compiled: any CompiledFormat { get }
}

/// The datastores in use through one persistence, by key.
final class DatastoreRegistry: Sendable {
  private struct Entry { weak var datastore: (any DeclaredDatastore)? }
  /// Counts the datastores that came.
  private let arrivals = Atomic(0)
  private let writers = Mutex<[String: [Entry]]>([:])

  func add(_ datastore: any DeclaredDatastore, key: String) {
    arrivals.add(1, ordering: .acquiringAndReleasing)
    writers.withLock { writers in
      writers[key, default: []].removeAll { $0.datastore == nil }
      writers[key, default: []].append(Entry(datastore: datastore))
    }
  }

  /// The living ones, for tools that edit by the real types; one per key.
  var compiledFormats: [any CompiledFormat] {
    writers.withLock { writers in
      writers.values.compactMap { entries in entries.lazy.compactMap(\.datastore).first?.compiled }
    }
  }

  /// Fails where an older one that still lives declares the key differently. `agreed` remembers that there was none when
  /// the last one came.
  func requireAgreement(_ datastore: any DeclaredDatastore, key: String, agreed: borrowing Atomic<Int>) throws {
    let arrivals = arrivals.load(ordering: .acquiring)
    if agreed.load(ordering: .relaxed) == arrivals { return }
    let oldest = writers.withLock { writers in writers[key]?.lazy.compactMap(\.datastore).first }
    if let oldest, oldest !== datastore, oldest.declaration != datastore.declaration {
      throw DatastoreInterfaceError.duplicateWriters
    }
    agreed.store(arrivals, ordering: .relaxed)
  }
}
