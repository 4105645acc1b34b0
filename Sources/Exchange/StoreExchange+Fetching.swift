package import DatastoreModel
import Documents
package import StorageEngine

extension StoreExchange {
  // MARK: A file

  /// What came in.
  package struct Taken: Sendable, Hashable {
    /// Commits that were not here before.
    package var received = 0
    /// The newest one of what came, whether it was here before or not.
    package var newest: CommitNumber?
    package var movedHead = false
  }

  /// Takes in a stream, and moves head where nothing of its history is lost by it.
  package func takeIn(_ lines: LineReader, progress: WorkProgress? = nil) throws -> Taken {
    try requireWritable()
    let receiver = CommitReceiver(store, try graph(), now: now)
    defer { releaseLock() }
    let meter = TransferMeter(progress)
    try Self.read(receiver) { while let line = try lines.next() { try meter.take(line, receiver) } }
    var taken = Taken(received: receiver.received.count)
    guard let newest = receiver.newest, let number = receiver.graph.number(of: newest) else { return taken }
    taken.newest = CommitNumber(number)
    taken.movedHead = try moveHead(to: newest)
    return taken
  }

  // MARK: Fetch

  /// What a fetch brought.
  package struct Fetched: Sendable, Hashable {
    /// Commits that were not here before.
    package var received = 0
    /// The heads that are there to be merged.
    package var heads: [CommitIdentity] = []
    /// Names of the other side that are here now as `remotes/NAME/PIN`.
    package var pins = 0
    /// What a person may want to know, as sentences.
    package var notes: [String] = []
  }

  /// Brings the commits that are missing here, and names the peer's head `remotes/NAME`; of a folder with several, the others
  /// `remotes/NAME/2` and so on. Head stays where it is. What came whole stays also where it fails or is cancelled, beside every history, and
  /// the next fetch goes on from there; compactions keep it for a week, where it is no more than a GiB.
  ///
  /// - Parameters:
  ///   - pins: Brings the other side's names too.
  ///   - progress: Hears, from this thread, how many commits have come and how many are announced; answers whether to go on, and
  ///     `ModelError.cancelled` is thrown where not.
  package func fetch(
    _ peer: any Peer, as remote: String, pins: Bool = false, progress: WorkProgress? = nil
  ) throws -> Fetched {
    try requireWritable()
    defer { releaseLock() }
    let heads = try peer.heads()
    var graph = try graph(while: peer, of: heads, isKnownAs: remote)
    var fetched = Fetched()
    let theirPins = pins ? try peer.pins() : []
    let (before, pinned) = (graph.numbers.last ?? 0, theirPins.map(\.commit))
    if (heads + pinned).contains(where: { graph.number(of: $0) == nil }) {
      do {
        try transfer(from: peer, of: pinned, &graph, &fetched, TransferMeter(progress))
      } catch {
        try keepUnfinished(of: remote, graph, since: before)
        throw error
      }
      if let missing = heads.first(where: { graph.number(of: $0) == nil }), !(peer is FolderPeer) {
        throw ExchangeError.peer(name: peer.name, reason: "its head \(missing.text) did not come")
      }
    }
    fetched.heads = graph.newest(of: heads.filter { graph.number(of: $0) != nil })
    fetched.notes = try clockNotes(fetched.heads, graph, peer.name)
    if heads == [store.engine.head.commit.identity], let there = try peer.headCheck() {
      let (here, there) = (try headCheck().split(separator: "\n"), there.split(separator: "\n"))
      if zip(here, there).contains(where: { $0 != $1 }) {
        fetched.notes.append(
          "\(peer.name): both stores have the head \(heads[0].text), and not the same records (here \(here[0]), there \(there[0])): "
            + "earlier programs merged differently. Write the records anew in the store that has them right, and exchange again"
        )
      }
    }
    fetched.pins = try note(remote, fetched.heads, graph, pins: theirPins)
    try (peer as? FolderPeer)?.sign(graph, reader: store.identity, now: now)
    return fetched
  }

  /// Has a peer send what is missing here.
  private func transfer(
    from peer: any Peer, of tips: [CommitIdentity], _ graph: inout CommitGraph, _ fetched: inout Fetched,
    _ meter: TransferMeter
  ) throws {
    if let folder = peer as? FolderPeer {
      return try folder.fetch(
        announce: { try meter.announce($0) },
        read: { try read($0, requiresParents: $1, &graph, &fetched, meter) },
        received: { fetched.received }, isKnown: { graph.number(of: $0) != nil })
    }
    try Self.asking { wants in
      let haves = try haves(graph)
      let missing = tips.filter { graph.number(of: $0) == nil }
      try receive(&graph, &fetched) { receiver in
        try peer.fetch(haves: haves, wants: wants, of: missing) { try meter.take($0, receiver) }
      }
    }
  }

  /// Reads a file of a folder on.
  private func read(
    _ stream: FolderPeer.Stream, requiresParents: Bool, _ graph: inout CommitGraph, _ fetched: inout Fetched,
    _ meter: TransferMeter
  ) throws {
    let receiver = stream.receiver ?? CommitReceiver(store, graph, now: now)
    stream.receiver = receiver
    receiver.goOn(with: graph, requiresParents: requiresParents)
    let before = receiver.received.count
    defer {
      fetched.received += receiver.received.count - before
      graph = receiver.graph
    }
    try Self.read(receiver) {
      while let line = try stream.next() {
        do {
          try meter.take(line, receiver)
        } catch let error as ExchangeError {
          if case .missing = error { stream.putBack(line) }
          throw error
        }
        receiver.goOn(with: nil, requiresParents: true)
      }
    }
  }

  /// Names what came of a fetch that was cut, so that a compaction keeps it for a week and the next fetch goes on from there. Where that is
  /// more than is kept of one, it has no name, and goes with the next compaction that leaves out history.
  ///
  /// - Parameter before: the newest commit here before the fetch.
  private func keepUnfinished(of remote: String, _ graph: CommitGraph, since before: UInt64) throws {
    guard let newest = graph.numbers.last, newest > before else { return }
    let (heads, known) = (Self.name(of: remote), try store.engine.names)
    let own = known.keys.filter { UnfinishedFetch.isName($0) && $0.hasPrefix(heads + "/") }
    let reached = [store.engine.head.commit.number] + known.filter { !own.contains($0.key) }.values
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
    if !names.isEmpty { _ = try keepBook(on: nil) { $0.names = names } }
  }

  /// The commits that this store has, read while a peer with other heads than those that were fetched last reads its own.
  private func graph(while peer: any Peer, of heads: [CommitIdentity], isKnownAs remote: String) throws -> CommitGraph {
    let known = try store.engine.names[Self.name(of: remote)].map { try store.engine.commit($0).identity }
    if heads == [known].compactMap({ $0 }) { return try graph() }
    return try workingAhead(by: 1, make: { (_: BoundedQueue<Never>) in peer.prepare() }, use: { _ in try graph() })
  }

  private func receive(
    _ graph: inout CommitGraph, _ fetched: inout Fetched, _ body: (CommitReceiver) throws -> Void
  ) throws {
    let receiver = CommitReceiver(store, graph, now: now)
    defer {
      fetched.received += receiver.received.count
      graph = receiver.graph
    }
    try Self.read(receiver) { try body(receiver) }
  }

  /// Reads a stream to its end; what came whole stays also where it fails.
  private static func read(_ receiver: CommitReceiver, _ body: () throws -> Void) throws {
    do {
      try body()
      try receiver.finish()
    } catch {
      try receiver.settle()
      throw error
    }
  }

  /// Sends or fetches, and again with what turns out to be lacking: what one side has pruned the other may have.
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

  /// A clock that goes ahead poisons the dates of all that is made later, and who changed a field last.
  private func clockNotes(_ heads: [CommitIdentity], _ graph: CommitGraph, _ name: String) throws -> [String] {
    var notes: [String] = []
    for head in heads {
      guard let number = graph.number(of: head) else { continue }
      let ahead = try store.engine.commit(number).date - now
      guard ahead > Self.toleratedAhead else { continue }
      notes.append(
        "\(name): its newest commit is dated \(ahead / 60_000_000_000) minutes ahead of this machine's clock; set the clocks right"
      )
    }
    return notes
  }

  private static let toleratedAhead: Int64 = 300_000_000_000
  /// So many names of another side are taken over.
  private static let mostPins = 1_000
  /// So many common ancestors are kept for the next merge.
  private static let mostBases = 16

  /// Names a remote's heads, its pins, and what the first head and ours have in common, which compaction then keeps for the merge, of
  /// several common ancestors each; answers how many pins there are.
  @discardableResult
  private func note(
    _ remote: String, _ heads: [CommitIdentity], _ graph: CommitGraph, pins: [PeerPin]? = nil
  ) throws -> Int {
    // For people alone: that it cannot be kept fails no exchange.
    try? RemotesFile(storeAt: store.path).noteExchange(with: remote, at: now)
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
    if let theirs = heads.first, let ours = graph.identity(of: store.engine.head.commit.number) {
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
      // Pins stay where nobody asked for them this time.
      if names[old] == nil, !isPin || pins?.isEmpty == false { names.updateValue(nil, forKey: old) }
    }
    let changes = names.filter { known[$0.key] != $0.value }
    if !changes.isEmpty { _ = try keepBook(on: nil) { $0.names = changes } }
    return pinCount
  }

  // MARK: Push

  /// Sends what the peer lacks of head, and moves its head where nothing of it is lost.
  ///
  /// - Parameter progress: As for `fetch`; of commits that were sent. Where it ends the work, the other side keeps what came whole.
  /// - Returns: How many commits were sent.
  package func push(_ peer: any Peer, as remote: String, progress: WorkProgress? = nil) throws -> Int {
    let graph = try graph()
    guard let head = graph.identity(of: store.engine.head.commit.number) else { return 0 }
    let theirs = try peer.heads()
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
            head: head, store: store, graph: graph, numbers: missing, progress: progress,
            write: { sink in
              try CommitSender(store, graph, sink: sink).send(missing, since: known, whole: wants, progress: progress)
            }))
      }
      guard isMoved else { throw ExchangeError.fetchFirst(peer.name) }
      sent = missing.count
    }
    guard case .readWrite = store.access else { return sent }
    defer { releaseLock() }
    try note(remote, [head], graph)
    if let folder = peer as? FolderPeer {
      try folder.tidy(store, graph, now: now)
      try folder.sign(graph, reader: store.identity, now: now)
    }
    return sent
  }
}

extension Int {
  /// The sum, or the greatest number: what a stream says of itself may be any.
  func addingClamped(_ other: Int) -> Int {
    let (sum, isTooMuch) = addingReportingOverflow(other)
    return isTooMuch ? .max : sum
  }
}

/// Tells who watches a transfer how many commits have come and how many are to come, over all the streams that it consists of.
private final class TransferMeter {
  private let progress: WorkProgress?
  /// Of the streams that came to their end.
  private var ended = 0
  private var announced = 0
  private weak var stream: CommitReceiver?
  private var endedOfStream = 0
  /// What had ended of the stream before it went on.
  private var before = 0

  init(_ progress: WorkProgress?) { self.progress = progress }

  /// Hears how many commits all streams together say that they have, where that is known before the first.
  func announce(_ count: Int) throws {
    announced = count
    try tell(0, of: 0)
  }

  /// Hands a line to a stream's receiver.
  func take(_ line: [UInt8], _ receiver: CommitReceiver) throws {
    if receiver !== stream {
      ended += endedOfStream
      (stream, endedOfStream, before) = (receiver, 0, receiver.ended)
    }
    try receiver.take(line)
    guard receiver.ended - before != endedOfStream || receiver.line % 1_024 == 0 else { return }
    endedOfStream = receiver.ended - before
    try tell(ended + endedOfStream, of: (ended - before).addingClamped(receiver.announced ?? 0))
  }

  private func tell(_ done: Int, of total: Int) throws {
    guard let progress else { return }
    if !progress(done, max(done, max(total, announced))) { throw ModelError.cancelled }
  }
}
