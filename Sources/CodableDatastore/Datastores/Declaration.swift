import StrataModel
import StrataEngine
import StrataLocks

/// A datastore as it is declared, without its types.
protocol DeclaredDatastore: AnyObject, CompiledFormat {
  var declaration: DatastoreDescriptor { get }
  /// The steps that make the store fit, as `index population, new`.
  func missingSteps(in view: View) throws -> [String]
  /// Runs the steps, and those that are forced.
  func warm(listener: WarmUpListener, forced: WarmUpPlan) async throws
  /// Rewrites all records of older versions.
  func rewriteOlderRecords(_ progress: @escaping WarmUpHandler) async throws
}

/// The datastores in use through one persistence, by key.
final class DatastoreRegistry: Sendable {
  private struct Entry { weak var datastore: (any DeclaredDatastore)? }
  /// Counts the datastores that were added.
  private let arrivals = Atomic(0)
  private let writers = Mutex<[String: [Entry]]>([:])

  func add(_ datastore: any DeclaredDatastore, key: String) {
    arrivals.add(1, ordering: .acquiringAndReleasing)
    writers.withLock { writers in
      writers[key, default: []].removeAll { $0.datastore == nil }
      writers[key, default: []].append(Entry(datastore: datastore))
    }
  }

  /// The formats of the living datastores, for tools that edit by the real types; one per key.
  var compiledFormats: [any CompiledFormat] {
    writers.withLock { writers in
      writers.values.compactMap { entries in entries.lazy.compactMap(\.datastore).first }
    }
  }

  /// Throws if an older datastore that still lives declares the key differently. `agreed` remembers that there was none when the last one
  /// was added.
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
