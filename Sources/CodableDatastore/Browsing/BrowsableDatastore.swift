public import StrataModel
import StrataEngine

/// A datastore that can be shown in the browser with its own types: every datastore that reads and writes.
public protocol BrowsableDatastore: Sendable {
  /// The datastore's types, as a browser needs them.
  var _browsable: _BrowsableFormat { get }
}

extension Datastore: BrowsableDatastore where AccessMode == ReadWrite {
  /// The datastore's types, as a browser needs them.
  public nonisolated var _browsable: _BrowsableFormat { _BrowsableFormat(format: core) }
}

/// A datastore's types without their names. It has no public members.
public struct _BrowsableFormat: Sendable {
  let format: any DeclaredDatastore
}

extension Persistence where AccessMode == ReadWrite {
  /// This persistence as the browser shows it, with the types of its datastores.
  ///
  /// ```swift
  /// import CodableDatastore
  /// import StoreBrowser
  ///
  /// try await StoreBrowser.browse(persistence.browsable(with: cities, countries))
  /// ```
  ///
  /// - Parameters:
  ///   - datastores: The datastores whose types are known; others are shown too, and edited by proven rules.
  ///   - releasesLock: Whether the writer's lock is released after each commit of the browser, so that other processes can write between.
  ///     An app that keeps writing leaves it false.
  /// - Throws: ``StoreError`` if the store cannot be opened or made.
  public nonisolated func browsable(
    with datastores: any BrowsableDatastore..., releasesLock: Bool = false
  ) throws -> BrowsableStore {
    try browsable(with: datastores, releasesLock: releasesLock)
  }

  /// The same for any number of datastores.
  package nonisolated func browsable(
    with datastores: [any BrowsableDatastore], releasesLock: Bool
  ) throws -> BrowsableStore {
    let engine = try _store.engine()
    let access: StoreAccess =
      engine.isServed ? engine.readOnlyReason.map { .readOnly(reason: $0) } ?? .readWrite : .readWrite
    let formats = datastores.map(\._browsable.format)
    let store = EngineStore(
      engine, path: _store.connection.path ?? (engine.isServed ? engine.path : ""), access: access,
      keepsLock: !releasesLock, formats: formats)
    return BrowsableStore(
      store: store, warmUp: PersistenceWarmUp(store: store, formats: formats, releasesLock: releasesLock))
  }
}
