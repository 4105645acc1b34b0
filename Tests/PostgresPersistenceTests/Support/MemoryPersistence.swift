import CodableDatastore
import PostgresPersistence

/// What the suites of the typed library run on here: a store of its own on a server of the tests. Its name is the one that they know, so that
/// the very same files are compiled twice.
///
/// Where no server can be had it is a store in memory, and `ServerTests` says that servers were left out.
final class MemoryPersistence: Persistence {
  typealias AccessMode = ReadWrite

  let _store: _StoreHandle
  let location: String?

  convenience init() { self.init(at: TestServer.shared?.location()) }

  init(at location: String?) {
    self.location = location
    _store =
      location.flatMap { try? PostgresPersistence(lazily: $0)._store } ?? CodableDatastore.MemoryPersistence()._store
  }
}

/// See the one of the typed library's own tests.
enum TestedStore {
  static var isServed: Bool { TestServer.isThere }
}
