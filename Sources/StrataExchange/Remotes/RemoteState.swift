package import StrataModel
import StrataEngine

/// A remote, and how this store compares to it, as far as was fetched.
package struct RemoteState: Sendable, Hashable {
  /// One head of a remote. Only a folder that several stores write to has more than one.
  package struct Head: Sendable, Hashable {
    package var commit: CommitNumber
    /// Commits of our history that it lacks, and commits that it has and our history lacks.
    package var ahead: Int
    package var behind: Int
  }

  package var remote: Remote
  /// Its head, or its heads, as fetched last; none if nothing was.
  package var heads: [Head]
  /// Commits of our history that none of the heads has, and commits that any of them has and our history lacks.
  package var ahead: Int
  package var behind: Int
}

extension StoreExchange {
  /// Whether remotes can be kept beside the store: a server has no place for them.
  package var keepsRemotes: Bool { !store.engine.isServed }

  /// The remotes of this store, by name. Reads no other store.
  ///
  /// - Throws: `ModelError` if the file that lists them is damaged.
  package func remotes() throws -> [RemoteState] {
    let remotes = try RemotesFile(storeAt: store.path).read().sorted { $0.name < $1.name }
    if remotes.isEmpty { return [] }
    let (graph, pins) = (try graph(), try store.pins)
    let ours = graph.identity(of: store.engine.head.number).map { [$0] } ?? []
    func distance(_ theirs: [CommitIdentity]) -> (ahead: Int, behind: Int) {
      (graph.numbers(in: ours, butNotIn: theirs).count, graph.numbers(in: theirs, butNotIn: ours).count)
    }
    return remotes.map { remote in
      var theirs: [CommitIdentity] = []
      let heads = Self.heads(of: remote.name, in: pins).compactMap { pin -> RemoteState.Head? in
        guard let identity = graph.identity(of: pin.commit.rawValue) else { return nil }
        theirs.append(identity)
        let (ahead, behind) = distance([identity])
        return RemoteState.Head(commit: pin.commit, ahead: ahead, behind: behind)
      }
      let (ahead, behind) = distance(theirs)
      return RemoteState(remote: remote, heads: heads, ahead: ahead, behind: behind)
    }
  }

  /// The heads that were fetched last from a remote, among the names of a store: one, or several of a folder that several stores write to.
  /// Other names under the remote's name are its pins.
  package static func heads(of remote: String, in pins: [Pin]) -> [Pin] {
    let name = name(of: remote)
    return pins.filter { pin in
      pin.name == name || pin.name.hasPrefix(name + "/") && UInt(pin.name.dropFirst(name.utf8.count + 1)) != nil
    }
  }

  /// Removes the names of a remote's commits.
  package func forget(_ remote: String) throws {
    let name = Self.name(of: remote)
    let known = try store.engine.names
    let names = known.keys.filter { $0 == name || $0.hasPrefix(name + "/") }
    if names.isEmpty { return }
    defer { releaseLock() }
    _ = try commitBookkeeping(on: nil) { $0.names = Dictionary(uniqueKeysWithValues: names.map { ($0, nil) }) }
  }
}
