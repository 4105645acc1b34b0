package import DatastoreModel
import StorageEngine

/// A remote, and how this store stands to it, as far as was fetched.
package struct RemoteState: Sendable, Hashable {
  package var remote: Remote
  /// Its head, or its heads, as fetched last; none where nothing was.
  package var heads: [Pin]
  /// Commits of head's history that it lacked then, and commits that it had and head's history has not.
  package var ahead: Int
  package var behind: Int
}

extension StoreExchange {
  /// The remotes of this store, by name. Reads no other store.
  ///
  /// - Throws: `ModelError` where the file that lists them is damaged.
  package func remotes() throws -> [RemoteState] {
    let remotes = try RemotesFile(storeAt: store.path).read().sorted { $0.name < $1.name }
    if remotes.isEmpty { return [] }
    let (graph, pins) = (try graph(), try store.pins)
    let head = graph.identity(of: store.engine.head.commit.number)
    return remotes.map { remote in
      let heads = Self.heads(of: remote.name, in: pins)
      let commits = heads.compactMap { graph.identity(of: $0.commit.rawValue) }
      let ours = Set(graph.numbers(in: head.map { [$0] } ?? [], butNotIn: commits))
      let theirs = graph.numbers(in: commits, butNotIn: head.map { [$0] } ?? [])
      return RemoteState(remote: remote, heads: heads, ahead: ours.count, behind: theirs.count)
    }
  }

  /// Takes away the names that stand for a remote's commits.
  package func forget(_ remote: String) throws {
    let name = Self.name(of: remote)
    let known = try onStorage { () throws(StorageError) in try store.engine.names }
    let names = known.keys.filter { $0 == name || $0.hasPrefix(name + "/") }
    if names.isEmpty { return }
    defer { releaseLock() }
    _ = try keepBook(on: nil) { info in info.names = Dictionary(uniqueKeysWithValues: names.map { ($0, nil) }) }
  }
}
