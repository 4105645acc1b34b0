import StrataModel
import StrataDocuments
import StrataExchange
import StrataExpressions
import StrataFoundation
import StrataEngine
import StoreBrowser

// The verbs that exchange a store with its other copies: remote, fetch, merge, push, exchange, clone, serve.

extension VerbRun {
  func remote() throws {
    let store = try ownStore(store())
    let file = RemotesFile(storeAt: store.path)
    switch arguments.operand(1) {
    case nil:
      for state in try StoreExchange(store, now: LocalTime.now).remotes() { try tell(state) }
    case "add": try file.add(Remote(name: required(2), location: required(3)))
    case "remove":
      let name = try file.remote(required(2)).name
      try editableExchange().forget(name)
      // Last: what could not be finished can be asked for again.
      try file.remove(name)
    case let word?: throw UsageError("it is add or remove, not “\(word)”", verb: arguments.verb)
    }
  }

  func fetch() throws -> Int32 { try forEachPeer { try fetch($0, $1, $2) } }
  func push() throws -> Int32 { try forEachPeer { try push($0, $1, $2) } }

  /// Goes on after a remote that fails, and returns 1 then. The error of an only remote is thrown.
  private func forEachPeer(_ body: (any Peer, Remote, StoreExchange) throws -> Void) throws -> Int32 {
    let exchange = try editableExchange()
    let remotes = try remotes(of: exchange.store, arguments.operands(from: 1))
    var status: Int32 = 0
    for remote in remotes {
      do {
        try body(peers.open(remote, of: exchange.store), remote, exchange)
      } catch let error where remotes.count > 1 && !(error is OutputClosed || error is OutputFailed) {
        try output.flush()
        let sentence = Program.ending(error).sentence
        complain(sentence.hasPrefix(remote.name) ? sentence : "\(remote.name): \(sentence)")
        status = 1
      }
    }
    return status
  }

  @discardableResult
  private func fetch(
    _ peer: any Peer, _ remote: Remote, _ exchange: StoreExchange
  ) throws -> StoreExchange.Fetched {
    let fetched = try exchange.fetch(
      peer, as: remote.name, pins: arguments.has("--pins"),
      progress: ProgressMeter("fetching from \(remote.name)").report)
    try tell(remote, "fetched", fetched.received, of: exchange.store)
    for note in fetched.notes { complain(note) }
    return fetched
  }

  private func push(_ peer: any Peer, _ remote: Remote, _ exchange: StoreExchange) throws {
    let sent = try exchange.push(
      peer, as: remote.name, progress: ProgressMeter("sending to \(remote.name)").report)
    try tell(remote, "sent", sent, of: exchange.store)
  }

  func merge() throws -> Int32 {
    let exchange = try editableExchange()
    if arguments.has("--step-back") {
      if arguments.operand(1) != nil { throw UsageError("--step-back is over head alone", verb: arguments.verb) }
      try printCommit(exchange.stepBack(over: exchange.store.head.commit))
      return 0
    }
    return try merge(commitsToMerge(in: exchange.store, exchange), exchange)
  }

  /// Merges commits up to the first with an open conflict, and returns the status.
  private func merge(
    _ heads: [(name: String, CommitIdentity)], _ exchange: StoreExchange
  ) throws -> Int32 {
    let policy = ["ours", "theirs", "later"].first { arguments.has("--\($0)") }.flatMap(MergePolicy.init) ?? .ask
    for (name, commit) in heads {
      let merged = try exchange.merge(
        commit, policy: policy, unrelated: arguments.has("--unrelated"), isDryRun: arguments.has("--dry-run"),
        named: "Merge \(name)")
      try tell(merged, name, exchange)
      if !merged.plan.open.isEmpty { return try refuse(merged.plan) }
    }
    return 0
  }

  func exchange() throws -> Int32 {
    let exchange = try editableExchange()
    let remotes = try remotes(of: exchange.store, arguments.operands(from: 1))
    let peers = try remotes.map { ($0, try self.peers.open($0, of: exchange.store)) }
    return try exchange.untilPushed {
      let heads = try peers.flatMap { remote, peer in
        try fetch(peer, remote, exchange).heads.map { (remote.name, $0) }
      }
      let status = try merge(heads, exchange)
      if status == 0 { for (remote, peer) in peers { try push(peer, remote, exchange) } }
      return status
    }
  }

  func clone() throws {
    let (location, path) = (try required(0), try required(1))
    // The location is relative to this folder now, and to the new store's folder later.
    var kept = location
    let here = FileManager.default.currentDirectoryPath
    switch try RemoteLocation(parsing: location) {
    case .path(let text) where !text.hasPrefix("/"): kept = here + "/" + text
    case .folder(let text) where !text.hasPrefix("/"): kept = "folder:" + here + "/" + text
    default: break
    }
    let peer = try peers.open(kept, name: location, from: ".")
    _ = try peer.heads()
    try making(path) { workPath in
      let store = try EngineStore.open(path: workPath, program: "strata", author: currentUser(), creates: true)
      let exchange = StoreExchange(store, now: LocalTime.now)
      let origin = Remote(name: "origin", location: kept)
      // A folder may have the heads of several copies.
      for (place, head) in try fetch(peer, origin, exchange).heads.enumerated() {
        if place == 0 { _ = try exchange.moveHead(to: head) }
        let merged = try exchange.merge(head, policy: .ask, named: "Merge origin")
        if !merged.plan.open.isEmpty { try tell(merged, "origin", exchange) }
      }
      try RemotesFile(storeAt: workPath).add(origin)
      try store.engine.close()
    }
  }

  func serve() throws {
    let isReadOnly = arguments.has("--read-only")
    let store = try ownStore(openStore(required(0), readOnly: isReadOnly))
    try PeerServer(store, isReadOnly: isReadOnly, now: LocalTime.now).serve(
      LineReader(path: "-", patience: PeerServer.patience),
      LineWriter(descriptor: 1, name: "standard output", patience: PeerServer.patience))
  }

  // MARK: Shared functions

  private func editableExchange() throws -> StoreExchange {
    StoreExchange(try ownStore(editableStore()), now: LocalTime.now)
  }

  var peers: RemotePeers {
    RemotePeers(
      program: "strata", author: currentUser(), now: LocalTime.now, notice: { complain($0) })
  }

  /// The remotes with these names, or all.
  private func remotes(of store: EngineStore, _ names: [String]) throws -> [Remote] {
    let file = RemotesFile(storeAt: store.path)
    if !names.isEmpty { return try names.map { try file.remote($0) } }
    let remotes = try file.read()
    if remotes.isEmpty {
      throw ModelError.refused(reason: "there is no remote; strata remote PATH add NAME LOCATION adds one")
    }
    return remotes
  }

  private func commitsToMerge(in store: EngineStore, _ exchange: StoreExchange) throws -> [(String, CommitIdentity)] {
    let graph = try exchange.graph()
    func identity(_ commit: CommitNumber) throws -> CommitIdentity {
      guard let identity = graph.identity(of: commit.rawValue) else {
        throw ModelError.noSuchCommit("\(commit)", reason: "there is nothing in it to merge")
      }
      return identity
    }
    let pins = try store.pins
    if let name = arguments.operand(1) {
      let heads = StoreExchange.heads(of: name, in: pins).map(\.commit)
      return try (heads.isEmpty ? [store.resolve(name)] : heads).map { (name, try identity($0)) }
    }
    let names = try RemotesFile(storeAt: store.path).read().map(\.name)
    let heads = names.flatMap { name in StoreExchange.heads(of: name, in: pins).map { (name, $0.commit) } }
    if heads.isEmpty { throw ModelError.refused(reason: "nothing was fetched yet") }
    return try heads.map { ($0.0, try identity($0.1)) }
  }

  // MARK: Output

  private func tell(_ remote: Remote, _ what: String, _ count: Int, of store: EngineStore) throws {
    try tell(
      ["remote": .string(remote.name), what: .count(count), "head": .commit(store.head.commit)],
      or: "\(remote.name): \(counted(count, "commit")) \(what)")
  }

  private func tell(_ state: RemoteState) throws {
    let remote = state.remote
    let distance = state.heads.isEmpty ? "nothing fetched yet" : "\(state.ahead) ahead, \(state.behind) behind"
    try tell(
      [
        "name": .string(remote.name), "location": .string(remote.location),
        "heads": .array(state.heads.map { .commit($0.commit) }), "ahead": .count(state.ahead),
        "behind": .count(state.behind), "exchanged": remote.exchangedAt.map { .string(Clock.iso8601($0)) } ?? .null,
      ], or: "\(remote.name)  \(remote.location)  \(distance)")
  }

  private func tell(_ definition: DefinitionConflict) throws {
    try line([
      "conflict": .string(definition.sentence), "datastore": .string(definition.datastore),
      "definition": .string(definition.name), "settled": .bool(definition.isSettled),
      "ours": definition.ours.map { .string($0) } ?? .null, "theirs": definition.theirs.map { .string($0) } ?? .null,
      "taken": .string(definition.taken == .theirs ? "theirs" : "ours"),
    ])
  }

  private func tell(_ merged: StoreExchange.Merged, _ name: String, _ exchange: StoreExchange) throws {
    let plan = merged.plan
    if isJSON {
      try line([
        "merge": .string(name), "kind": .string(plan.kind.rawValue), "clean": .count(plan.cleanCount),
        "conflicts": .count(plan.conflicts.count), "open": .count(plan.open.count),
        "notes": .array((plan.notes + plan.dangling.map(\.sentence)).map { .string($0) }),
        "commit": merged.head.map(Document.commit) ?? .null,
      ])
      try exchange.forEachChange(of: plan) { place, kind in
        try line([
          "change": .string(kind.rawValue), "datastore": .string(place.datastore), "id": .identifier(place.identifier),
        ])
      }
      for definition in plan.definitions { try tell(definition) }
      for conflict in plan.conflicts where conflict.isSettled { try tell(conflict) }
      return
    }
    for remark in plan.remarks { try output.line(remark) }
    switch plan.kind {
    case .nothing: try output.line("\(name): nothing to merge")
    case .twin: try output.line("\(name): holds the same; nothing to merge")
    case .fastForward:
      try output.line(
        merged.head.map { "\(name): head moved to \($0)" } ?? "\(name): head would move to \(plan.second)")
    case .merge:
      let text = "\(name): \(plan.result(isDone: merged.head != nil))"
      if plan.open.isEmpty { try output.line(merged.head.map { "\(text), \($0)" } ?? text) }
    }
  }

  /// Prints the unsettled conflicts, and how to settle them.
  private func refuse(_ plan: MergePlan) throws -> Int32 {
    for conflict in plan.open { try tell(conflict) }
    try output.flush()
    let collisions = plan.open.count { $0.isCollision }
    if collisions > 0 {
      complain(
        "\(counted(collisions, "collision")), which no policy settles: give a record another value (strata put, or the browser's merge screen)"
      )
    }
    let open = plan.open.count - collisions
    if arguments.has("--dry-run"), open > 0 {
      complain("\(counted(open, "conflict")) to settle, by --ours, --theirs or --later")
    } else if open > 0 {
      complain(ExchangeError.unsettled(open).description)
    }
    return 1
  }

  private func tell(_ conflict: MergeConflict) throws {
    guard isJSON else {
      try output.line(conflict.sentence)
      for field in conflict.fields {
        func text(_ document: Document?) -> String { document?.compactJSON ?? "—" }
        try output.line(
          "    \(field.path): base \(text(field.base)), ours \(text(field.mine)), theirs \(text(field.theirs))")
      }
      return
    }
    let fields = conflict.fields.map { field in
      Document.object(of: [
        "field": .string(field.path.description), "base": field.base, "ours": field.mine, "theirs": field.theirs,
      ])
    }
    try line([
      "conflict": .string(conflict.sentence), "datastore": .string(conflict.place.datastore),
      "id": .identifier(conflict.place.identifier), "settled": .bool(conflict.isSettled), "fields": .array(fields),
    ])
  }

  /// Makes a store at a path; if `body`, or giving it its name, throws, nothing is left there.
  ///
  /// - Parameter body: Builds the store at the path that it gets, and closes it.
  func making<R>(_ path: String, _ body: (_ workPath: String) throws -> R) throws -> R {
    let draft = try onStorage { try StoreDraft(at: path) }
    defer { draft.cancel() }
    let result = try body(draft.workPath)
    try onStorage { try draft.finish() }
    return result
  }
}
