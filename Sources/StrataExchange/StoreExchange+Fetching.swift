package import StrataModel
package import StrataEngine

extension StoreExchange {
  // MARK: A file

  /// The commits that came in.
  package struct Taken: Sendable, Hashable {
    /// Commits that were not here before.
    package var received = 0
    /// The newest of the commits that came, whether it was here before or not.
    package var newest: CommitNumber?
    package var movedHead = false
  }

  /// Takes in a stream, and moves head if its history loses nothing by that.
  package func receive(_ lines: LineReader, progress: WorkProgress? = nil) throws -> Taken {
    try requireWritable()
    let receiver = CommitReceiver(store, try graph(), now: now)
    defer { releaseLock() }
    let meter = TransferMeter(progress: progress)
    try receiver.read { while let line = try lines.next() { try meter.receive(line, receiver) } }
    var taken = Taken(received: receiver.received.count)
    guard let newest = receiver.newest, let number = receiver.graph.number(of: newest) else { return taken }
    taken.newest = CommitNumber(number)
    taken.movedHead = try moveHead(to: newest)
    return taken
  }

  // MARK: Fetch

  /// The result of a fetch.
  package struct Fetched: Sendable, Hashable {
    /// Commits that were not here before.
    package var received = 0
    /// The heads to be merged.
    package var heads: [CommitIdentity] = []
    /// The other side's names that are here now as `remotes/NAME/PIN`.
    package var pins = 0
    /// Remarks for the user, as sentences.
    package var notes: [String] = []
  }

  /// Fetches the commits that are missing here, and names the peer's head `remotes/NAME`; further heads of a folder are `remotes/NAME/2`
  /// and so on. Head stays where it is. If the fetch fails or is cancelled, commits that came whole stay beside every history, and the next
  /// fetch goes on from there. Compactions keep them for a week if they are no more than a GiB.
  ///
  /// - Parameters:
  ///   - pins: Whether to fetch the other side's names, too.
  ///   - progress: Called on this thread with the numbers of commits that have come and that are announced. If it returns false,
  ///     `ModelError.cancelled` is thrown.
  package func fetch(
    _ peer: any Peer, as remote: String, pins: Bool = false, progress: WorkProgress? = nil
  ) throws -> Fetched {
    try requireWritable()
    defer { releaseLock() }
    let heads = try peer.heads()
    let receiver = CommitReceiver(store, try graph(while: peer, of: heads, isKnownAs: remote), now: now)
    let theirPins = pins ? try peer.pins() : []
    let (before, pinned) = (receiver.graph.numbers.last ?? 0, theirPins.map(\.commit))
    func isMissing(_ commit: CommitIdentity) -> Bool { receiver.graph.number(of: commit) == nil }
    if (heads + pinned).contains(where: isMissing) {
      do {
        try transfer(from: peer, of: pinned, to: receiver, progress)
      } catch {
        try keepUnfinished(of: remote, receiver.graph, since: before)
        throw error
      }
      if let missing = heads.first(where: isMissing), !(peer is FolderPeer) {
        throw ExchangeError.peer(name: peer.name, reason: "its head \(missing.text) did not come")
      }
    }
    let (graph, unfinished) = (receiver.graph, (peer as? FolderPeer)?.unfinished.values.sorted() ?? [])
    if let note = unfinished.first, store.engine.head.number == 0 {
      throw ExchangeError.peer(name: peer.name, reason: note)
    }
    var fetched = Fetched(received: receiver.received.count)
    fetched.heads = graph.newest(of: heads.filter { graph.number(of: $0) != nil })
    fetched.notes = try clockNotes(fetched.heads, graph, peer.name) + unfinished.map { "\(peer.name): \($0)" }
    if heads == [store.engine.head.commit.identity], let there = try peer.headCheck() {
      let (here, there) = (try headCheck().split(separator: "\n"), there.split(separator: "\n"))
      if zip(here, there).contains(where: { $0 != $1 }) {
        fetched.notes.append(
          "\(peer.name): both stores have the head \(heads[0].text), and not the same records (here \(here[0]), there \(there[0])): "
            + "earlier programs merged differently. Write the records again in the store that has them right, and exchange again"
        )
      }
    }
    fetched.pins = try nameHeads(of: remote, fetched.heads, graph, pins: theirPins)
    try (peer as? FolderPeer)?.sign(graph, reader: store.identity, now: now)
    return fetched
  }

  private func transfer(
    from peer: any Peer, of tips: [CommitIdentity], to receiver: CommitReceiver, _ progress: WorkProgress?
  ) throws {
    var meter = TransferMeter(progress: progress)
    if let folder = peer as? FolderPeer { return try folder.fetch(receiver, &meter) }
    try Self.asking { wants in
      let haves = try haves(receiver.graph)
      let missing = tips.filter { receiver.graph.number(of: $0) == nil }
      try receiver.read { try peer.fetch(haves: haves, wants: wants, of: missing) { try meter.receive($0, receiver) } }
    }
  }

  /// Names the commits of a fetch that was cut off, so that a compaction keeps them for a week and the next fetch goes on from there. If
  /// they are more than the limit, they get no name, and the next compaction that leaves out history removes them.
  ///
  /// - Parameter before: The newest commit here before the fetch.
  private func keepUnfinished(of remote: String, _ graph: CommitGraph, since before: UInt64) throws {
    guard let newest = graph.numbers.last, newest > before else { return }
    let (heads, known) = (Self.name(of: remote), try store.engine.names)
    let own = known.keys.filter { UnfinishedFetch.isName($0) && $0.hasPrefix(heads + "/") }
    let reached = [store.engine.head.number] + known.filter { !own.contains($0.key) }.values
    let came = graph.numbers.filter { $0 > before } + own.compactMap { known[$0] }
    let unreached = graph.numbers(
      in: came.compactMap { graph.identity(of: $0) }, butNotIn: reached.compactMap { graph.identity(of: $0) })
    let bytes = try unreached.reduce(0) { try $0 + store.engine.commit($1).frameBytes }
    var names = Dictionary(uniqueKeysWithValues: own.map { ($0, UInt64?.none) })
    if bytes <= mostUnfinished {
      let tips = graph.newest(of: unreached.compactMap { graph.identity(of: $0) }).compactMap { graph.number(of: $0) }
      for (place, number) in tips.sorted(by: >).prefix(Self.mostBases).enumerated() {
        names.updateValue(number, forKey: UnfinishedFetch.name(under: heads, at: now, place: place))
      }
    }
    if !names.isEmpty { _ = try commitBookkeeping(on: nil) { $0.names = names } }
  }

  /// The commits of this store. If the peer's heads differ from those fetched last, the peer reads its own at the same time.
  private func graph(while peer: any Peer, of heads: [CommitIdentity], isKnownAs remote: String) throws -> CommitGraph {
    let known = try store.engine.names[Self.name(of: remote)].map { try store.engine.commit($0).identity }
    if heads == [known].compactMap({ $0 }) { return try graph() }
    return try workingAhead(by: 1, make: { (_: BoundedQueue<Never>) in peer.prepare() }, use: { _ in try graph() })
  }

  /// Sends or fetches, and again with the commits that turn out to be missing: one side may have them if the other has pruned them.
  private static func asking(_ body: (_ wants: [CommitIdentity]) throws -> Void) throws {
    var wants: [CommitIdentity] = []
    while true {
      do {
        return try body(wants)
      } catch ExchangeError.missing(let commit, let line) {
        guard !wants.contains(commit), wants.count < 1_000 else { throw ExchangeError.missing(commit, line: line) }
        wants.append(commit)
      }
    }
  }

  /// A clock that is ahead falsifies the dates of all later commits, and which side changed a field last.
  private func clockNotes(_ heads: [CommitIdentity], _ graph: CommitGraph, _ name: String) throws -> [String] {
    var notes: [String] = []
    for head in heads {
      guard let number = graph.number(of: head) else { continue }
      let date = try store.engine.commit(number).date
      guard date > now + Self.toleratedAhead else { continue }
      notes.append(
        "\(name): its newest commit is dated \((date - now) / 60_000_000_000) minutes ahead of this machine's clock; set the clocks right"
      )
    }
    return notes
  }

  private static let toleratedAhead: Int64 = 300_000_000_000
  private static let mostPins = 1_000
  private static let mostBases = 16

  /// Names a remote's heads, its pins, and the common ancestors of its first head and ours, of several also their own: compaction then
  /// keeps these for the merge. Returns the number of pins.
  @discardableResult
  private func nameHeads(
    of remote: String, _ heads: [CommitIdentity], _ graph: CommitGraph, pins: [PeerPin]? = nil
  ) throws -> Int {
    // It serves people alone: if it cannot be written, the exchange still succeeds.
    try? RemotesFile(storeAt: store.path).recordExchange(with: remote, at: now)
    let name = Self.name(of: remote)
    let known = try store.engine.names
    var names: [String: UInt64?] = [:]
    for pin in (pins ?? []).prefix(Self.mostPins) {
      guard let number = graph.number(of: pin.commit), pin.isPlain else { continue }
      names.updateValue(number, forKey: "\(name)/\(pin.name)")
    }
    let pinCount = names.count
    for (place, head) in heads.enumerated() {
      names[place == 0 ? name : "\(name)/\(place + 1)"] = .some(graph.number(of: head))
    }
    if let theirs = heads.first, let ours = graph.identity(of: store.engine.head.number) {
      let bases = graph.basesOfMerge(ours, theirs).compactMap { graph.number(of: $0) }
      for (place, base) in bases.prefix(Self.mostBases).enumerated() {
        names[place == 0 ? name + "/common" : "\(name)/\(place + 1)/common"] = .some(base)
      }
    }
    for old in known.keys where UnfinishedFetch.isExpired(old, at: now) { names.updateValue(nil, forKey: old) }
    for old in known.keys where old == name || old.hasPrefix(name + "/") {
      let isPin =
        old != name && !UnfinishedFetch.isName(old) && !old.hasSuffix("/common")
        && UInt(old.dropFirst(name.utf8.count + 1)) == nil
      // Pins stay if they were not asked for this time.
      if names[old] == nil, !isPin || pins?.isEmpty == false { names.updateValue(nil, forKey: old) }
    }
    let changes = names.filter { known[$0.key] != $0.value }
    if !changes.isEmpty { _ = try commitBookkeeping(on: nil) { $0.names = changes } }
    return pinCount
  }

  // MARK: Push

  /// Runs a fetch, a merge and a push. Another program may commit to the peer after the fetch, and the push is refused then; so all of it
  /// is run again, `mostRounds` times at most, while each fetch moves head.
  package func untilPushed<R>(_ round: () throws -> R) throws -> R {
    var refused: CommitNumber?
    for _ in 1..<Self.mostRounds {
      do {
        return try round()
      } catch ExchangeError.fetchFirst where store.head.commit != refused {
        refused = store.head.commit
      }
    }
    return try round()
  }

  private static let mostRounds = 64

  /// Sends the commits of head that the peer lacks, and moves its head if that loses nothing.
  ///
  /// - Parameter progress: As for `fetch`, with the commits that were sent. If it ends the work, the other side keeps the commits that came
  ///   whole.
  /// - Returns: The number of commits that were sent.
  package func push(_ peer: any Peer, as remote: String, progress: WorkProgress? = nil) throws -> Int {
    var graph = try self.graph()
    guard let head = graph.identity(of: store.engine.head.number) else { return 0 }
    var theirs = try peer.heads()
    if let folder = peer as? FolderPeer, case .readWrite = store.access, !theirs.contains(head),
      theirs.contains(where: { !graph.knows($0) })
    {
      // Only reading tells files that are not all there, which refuse no push.
      defer { releaseLock() }
      let askedOnly: WorkProgress = { _, _ in progress?(0, 0) ?? true }
      var meter = TransferMeter(progress: askedOnly)
      try folder.fetch(CommitReceiver(store, graph, now: now), &meter)
      graph = try self.graph()
      theirs = try folder.heads()
    }
    var sent = 0
    if !theirs.contains(head) {
      for other in theirs where try !graph.contains(other, in: head) && !isReplacing(other, by: head, graph) {
        throw ExchangeError.fetchFirst(peer.name)
      }
      let known = try peer is FolderPeer ? theirs : known(peer.haves(), in: graph)
      let missing = graph.numbers(in: [head], butNotIn: known)
      var isMoved = false
      try Self.asking { wants in
        isMoved = try peer.push(
          OutgoingCommits(
            head: head, store: store, graph: graph, numbers: missing, whole: wants, progress: progress,
            write: { sink in
              try CommitSender(store, graph, sink: sink).send(missing, since: known, whole: wants, progress: progress)
            }))
      }
      guard isMoved else { throw ExchangeError.fetchFirst(peer.name) }
      sent = missing.count
    }
    guard case .readWrite = store.access else { return sent }
    defer { releaseLock() }
    try nameHeads(of: remote, [head], graph)
    if let folder = peer as? FolderPeer {
      try folder.tidy(store, graph, now: now)
      try folder.sign(graph, reader: store.identity, now: now)
    }
    return sent
  }
}

/// Reports how many commits have come and how many are to come, over all the streams of a transfer.
struct TransferMeter {
  let progress: WorkProgress?
  var announced = 0

  /// Takes the number of commits that all streams together announce, if that is known before the first.
  mutating func announce(_ count: Int) throws {
    announced = count
    try tell(0, of: 0)
  }

  func receive(_ line: [UInt8], _ receiver: CommitReceiver) throws {
    let known = receiver.ended
    try receiver.receive(line)
    guard receiver.ended != known || receiver.place.line % 1_024 == 0 else { return }
    let before = receiver.ended - receiver.place.ended
    try tell(receiver.ended, of: before.addingClamped(receiver.place.announced ?? 0))
  }

  private func tell(_ ended: Int, of total: Int) throws {
    if let progress, !progress(ended, max(ended, max(total, announced))) { throw ModelError.cancelled }
  }
}
