import DatastoreModel
import Documents
import Exchange
import Expressions
#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
import StorageEngine
import StoreBrowser

// The verbs that exchange a store with its other copies: remote, fetch, merge, push, exchange, clone, serve.

extension VerbRun {
  func remote() throws -> Int32 {
    let store = try ownStore(store())
    let file = RemotesFile(storeAt: store.path)
    switch arguments.operand(1) {
    case nil:
      for remote in try file.read() {
        if isJSON {
          try line(["name": .string(remote.name), "location": .string(remote.location)])
        } else {
          try output.line("\(remote.name)  \(remote.location)")
        }
      }
    case "add": try file.add(Remote(name: required(2), location: required(3)))
    case "remove":
      let name = try required(2)
      try file.remove(name)
      let own = try editableOwnStore()
      for pin in try own.pins where pin.name == StoreExchange.name(of: name) || pin.name.hasPrefix("remotes/\(name)/") {
        try own.pin(pin.name, to: nil)
      }
    case let word?: throw UsageError("it is add or remove, not “\(word)”", verb: arguments.verb)
    }
    return 0
  }

  func fetch() throws -> Int32 {
    let store = try editableOwnStore()
    let exchange = exchange(of: store)
    for remote in try remotes(of: store, arguments.operands(from: 1)) {
      let fetched = try exchange.fetch(peer(remote, of: store), as: remote.name)
      try tell(remote, "fetched", fetched.received, of: store)
    }
    return 0
  }

  func push() throws -> Int32 {
    let store = try editableOwnStore()
    let exchange = exchange(of: store)
    for remote in try remotes(of: store, arguments.operands(from: 1)) {
      try tell(remote, "sent", exchange.push(peer(remote, of: store), as: remote.name), of: store)
    }
    return 0
  }

  func merge() throws -> Int32 {
    let store = try editableOwnStore()
    let exchange = exchange(of: store)
    for (name, commit) in try commitsToMerge(in: store, exchange) {
      let merged = try exchange.merge(
        commit, policy: policy(), unrelated: arguments.has("--unrelated"), isDryRun: arguments.has("--dry-run"),
        named: "Merge \(name)", options: EditOptions())
      try tell(merged, name)
      if !merged.plan.open.isEmpty { return try refuse(merged.plan) }
    }
    return 0
  }

  func exchange() throws -> Int32 {
    let store = try editableOwnStore()
    let exchange = exchange(of: store)
    let policy = try policy()
    let peers = try remotes(of: store, arguments.operands(from: 1)).map { ($0, try peer($0, of: store)) }
    var heads: [(Remote, CommitIdentity)] = []
    for (remote, peer) in peers {
      let fetched = try exchange.fetch(peer, as: remote.name)
      try tell(remote, "fetched", fetched.received, of: store)
      heads += fetched.heads.map { (remote, $0) }
    }
    for (remote, head) in heads {
      let merged = try exchange.merge(head, policy: policy, named: "Merge \(remote.name)")
      try tell(merged, remote.name)
      if !merged.plan.open.isEmpty { return try refuse(merged.plan) }
    }
    for (remote, peer) in peers { try tell(remote, "sent", exchange.push(peer, as: remote.name), of: store) }
    return 0
  }

  func clone() throws -> Int32 {
    let (location, path) = (try required(0), try required(1))
    guard !FileManager.default.fileExists(atPath: path) else {
      throw ModelError.refused(reason: "\(path) is there already")
    }
    // Seen from here now, and from the new store's folder later.
    var kept = location
    if case .path(let text) = try RemoteLocation(parsing: location), !text.hasPrefix("/") {
      kept = FileManager.default.currentDirectoryPath + "/" + text
    }
    let peer = try peers.open(kept, name: location, from: ".")
    let head = try peer.heads().first
    let store = try OwnStore.open(path: path, program: "strata", author: currentUser(), creates: true)
    do {
      let exchange = exchange(of: store)
      let fetched = try exchange.fetch(peer, as: "origin")
      if let head { _ = try exchange.moveHead(to: head) }
      try RemotesFile(storeAt: path).add(Remote(name: "origin", location: kept))
      try tell(Remote(name: "origin", location: kept), "fetched", fetched.received, of: store)
    } catch {
      removeStore(path)
      throw error
    }
    return 0
  }

  func serve() throws -> Int32 {
    let isReadOnly = arguments.has("--read-only")
    let store = try ownStore(openStore(required(0), readOnly: isReadOnly))
    try PeerServer(store, isReadOnly: isReadOnly, now: LocalTime.now)
      .serve(LineReader(path: "-"), LineWriter(descriptor: 1, name: "standard output"))
    return 0
  }

  // MARK: What they share

  private func editableOwnStore() throws -> OwnStore { try ownStore(editableStore()) }

  private func exchange(of store: OwnStore) -> StoreExchange { StoreExchange(store, now: LocalTime.now) }

  private var peers: RemotePeers {
    RemotePeers(
      program: "strata", author: currentUser(), now: LocalTime.now,
      ssh: ProcessInfo.processInfo.environment["STRATA_SSH"])
  }

  private func peer(_ remote: Remote, of store: OwnStore) throws -> any Peer {
    let folder = store.path.lastIndex(of: "/").map { String(store.path[..<$0]) } ?? "."
    return try peers.open(remote.location, name: remote.name, from: folder.isEmpty ? "/" : folder)
  }

  /// The remotes that names mean, or all.
  private func remotes(of store: OwnStore, _ names: [String]) throws -> [Remote] {
    let file = RemotesFile(storeAt: store.path)
    if !names.isEmpty { return try names.map { try file.remote($0) } }
    let remotes = try file.read()
    if remotes.isEmpty {
      throw ModelError.refused(reason: "there is no remote; strata remote PATH add NAME LOCATION adds one")
    }
    return remotes
  }

  private func policy() throws -> MergePolicy {
    let given = [("--ours", MergePolicy.ours), ("--theirs", .theirs), ("--later", .later)].filter {
      arguments.has($0.0)
    }
    if given.count > 1 { throw UsageError("\(given[0].0) and \(given[1].0) exclude one another", verb: arguments.verb) }
    return given.first?.1 ?? .ask
  }

  private func commitsToMerge(in store: OwnStore, _ exchange: StoreExchange) throws -> [(String, CommitIdentity)] {
    let graph = try exchange.graph()
    func identity(_ commit: CommitNumber) throws -> CommitIdentity {
      guard let identity = graph.identity(of: commit.rawValue) else {
        throw ModelError.noSuchCommit("\(commit)", reason: "there is nothing in it to merge")
      }
      return identity
    }
    let pins = try store.pins
    if let name = arguments.operand(1) {
      let heads = Self.heads(of: name, in: pins)
      return try (heads.isEmpty ? [store.resolve(name)] : heads).map { (name, try identity($0)) }
    }
    let names = try RemotesFile(storeAt: store.path).read().map(\.name)
    let heads = names.flatMap { name in Self.heads(of: name, in: pins).map { (name, $0) } }
    if heads.isEmpty { throw ModelError.refused(reason: "nothing was fetched yet") }
    return try heads.map { ($0.0, try identity($0.1)) }
  }

  /// What was fetched from a remote last.
  private static func heads(of remote: String, in pins: [Pin]) -> [CommitNumber] {
    let name = StoreExchange.name(of: remote)
    return pins.filter { $0.name == name || $0.name.hasPrefix(name + "/") }.map(\.commit)
  }

  // MARK: What they print

  private func tell(_ remote: Remote, _ what: String, _ count: Int, of store: OwnStore) throws {
    if isJSON {
      try line(["remote": .string(remote.name), what: .count(count), "head": .commit(store.head.commit)])
    } else {
      try output.line("\(remote.name): \(counted(count, "commit")) \(what)")
    }
  }

  private func tell(_ merged: StoreExchange.Merged, _ name: String) throws {
    let plan = merged.plan
    if isJSON {
      let kind =
        switch plan.kind {
        case .nothing: "nothing"
        case .fastForward: "fast-forward"
        case .merge: "merge"
        }
      try line([
        "merge": .string(name), "kind": .string(kind), "clean": .count(plan.cleanCount),
        "conflicts": .count(plan.conflicts.count), "open": .count(plan.open.count),
        "notes": .array(plan.notes.map { .string($0) }), "commit": merged.head.map(Document.commit) ?? .null,
      ])
      return
    }
    for note in plan.notes { try output.line(note) }
    switch plan.kind {
    case .nothing: try output.line("\(name): nothing to merge")
    case .fastForward: try output.line("\(name): head moved to \(merged.head?.description ?? "its head")")
    case .merge:
      let settled = plan.conflicts.count - plan.open.count
      var text = "\(name): \(counted(plan.cleanCount, "change")) merged"
      if settled > 0 { text += ", \(counted(settled, "conflict")) settled" }
      if let head = merged.head { text += ", \(head)" }
      if plan.open.isEmpty { try output.line(text) }
    }
  }

  /// Prints what nobody has settled, and how to.
  private func refuse(_ plan: MergePlan) throws -> Int32 {
    for conflict in plan.open {
      guard isJSON else {
        try output.line(conflict.sentence)
        for field in conflict.fields {
          func text(_ document: Document?) -> String { document?.compactJSON ?? "—" }
          try output.line(
            "    \(field.path): base \(text(field.base)), ours \(text(field.mine)), theirs \(text(field.theirs))")
        }
        continue
      }
      var members: [Document.Member] = [
        .init("conflict", .string(conflict.sentence)), .init("datastore", .string(conflict.place.datastore)),
        .init("id", .identifier(conflict.place.identifier)),
      ]
      members.append(
        .init(
          "fields",
          .array(
            conflict.fields.map { field in
              var members: [Document.Member] = [.init("field", .string(field.path.description))]
              if let base = field.base { members.append(.init("base", base)) }
              if let ours = field.mine { members.append(.init("ours", ours)) }
              if let theirs = field.theirs { members.append(.init("theirs", theirs)) }
              return .object(members)
            })))
      try line(.object(members))
    }
    try output.flush()
    if arguments.has("--dry-run") {
      complain("\(counted(plan.open.count, "conflict")) to settle, by --ours, --theirs or --later")
    } else {
      complain(ExchangeError.unsettled(plan.open.count).description)
    }
    return 1
  }

  /// Takes away a store that was made for nothing.
  func removeStore(_ path: String) { try? FileManager.default.removeItem(atPath: path) }
}
