package import StrataModel
import StrataDocuments
package import StrataEngine

/// Takes commits from a stream into a store: the one reader, for fetch, push and import with history.
///
/// A stream never moves `head` or gives a name. A commit is taken whole or not at all. If a line is wrong, `ExchangeError.stream` says
/// which and why, and the commits before it stay, beside every history. Commits that exist already are skipped, and compared by their
/// digests.
///
/// Memory: a commit's lines up to 16 MiB; further lines go into the store's file as they come. While a commit comes in, writers of this
/// process wait only if it is longer than that. A commit of more than 16 GiB of lines is refused, so that a peer that never ends one takes
/// no more of the disk. `CommitApplication` states its limit of memory.
package final class CommitReceiver {
  private let store: EngineStore
  package private(set) var graph: CommitGraph
  /// Numbers of the commits that were taken in.
  package private(set) var received: [UInt64] = []
  /// The last commit that came whole, or was there already.
  package private(set) var newest: CommitIdentity?
  /// Commits whose end came, also of those that were here before, in all streams that were read.
  private(set) var ended = 0
  /// The place in the stream that is read now.
  private(set) var place = StreamPlace()
  /// Refuses a commit of which a parent is not here, as missing. It may get the commit's line again: another stream may bring the parent,
  /// and a commit is linked to the parents that are here when it comes.
  var requiresParents = false
  private let now: Int64
  private let mostUnannounced: Int
  private let mostOfCommit: Int
  private var commit: Incoming?
  private var last: PendingCommit?

  /// The bytes of a commit that wait for its end.
  private static let mostWaiting = 16 << 20
  private static let dayAhead: Int64 = 86_400_000_000_000
  /// The most blank lines of a stream, against a peer that floods.
  private static let mostBlankLines = 1_000
  /// The most bytes of a stream that does not announce how many commits it has.
  package static let mostUnannounced = 1 << 30
  /// The most bytes of the lines of one commit.
  package static let mostOfCommit = 16 << 30

  /// The place up to which a stream was read: a stream that waits for the commits of others goes on from there.
  struct StreamPlace {
    /// The line that was taken last, from 1.
    var line = 0
    /// The number of commits that it announces; nil if it announces none.
    var announced: Int?
    /// Commits whose end came, also of those that were here before.
    var ended = 0
    fileprivate var hasHeader = false
    fileprivate var bytes = 0
    fileprivate var blankLines = 0
  }

  /// A commit of which the end has not come.
  private struct Incoming {
    var identity: CommitIdentity
    var isKnown = false
    var base: UInt64 = 0
    var info = CommitInfo()
    var changes = 0
    var bytes = 0
    var check: UInt32
    var waiting: [[UInt8]] = []
    var waitingBytes = 0
    var application: CommitApplication?
  }

  /// - Parameter now: Nanoseconds since 1970, by this machine's clock.
  package init(
    _ store: EngineStore, _ graph: CommitGraph, now: Int64, mostUnannounced: Int = mostUnannounced,
    mostOfCommit: Int = mostOfCommit
  ) {
    self.store = store
    self.graph = graph
    self.now = now
    self.mostUnannounced = mostUnannounced
    self.mostOfCommit = mostOfCommit
  }

  deinit { commit?.application?.cancel() }

  /// Reads a stream to its end, whose lines `body` takes; commits that came whole stay even if it fails.
  ///
  /// - Parameter start: The place up to which it was read before.
  func read(from start: StreamPlace = StreamPlace(), _ body: () throws -> Void) throws {
    place = start
    do {
      try body()
      try finish()
    } catch {
      try finishCommits()
      throw error
    }
  }

  /// Takes the next line, without its end.
  package func receive(_ bytes: [UInt8]) throws {
    place.line += 1
    if bytes.allSatisfy({ $0 == 0x20 || $0 == 0x0D || $0 == 0x09 }) {
      place.blankLines += 1
      guard place.blankLines <= Self.mostBlankLines else { throw wrong("there are more than 1,000 blank lines") }
      return
    }
    guard let parsed = StreamLine(bytes) else { throw wrong("it is not a JSON object on one line") }
    if !place.hasHeader { return try readHeader(parsed) }
    place.bytes += bytes.count
    guard place.announced != nil || place.bytes <= mostUnannounced else {
      throw wrong("the stream does not say how many commits it has, and goes on after \(mostUnannounced) bytes")
    }
    switch parsed.kind {
    case "commit": try begin(parsed)
    case "end": try end(parsed)
    default: try change(parsed)
    }
  }

  /// Ends the stream: makes durable the commits that came. Throws if a commit was cut off.
  package func finish() throws {
    let open = commit?.identity
    try finishCommits()
    if let open { throw wrong("the stream ends within commit \(open.text)") }
    if !place.hasHeader { throw wrong("the stream is empty") }
    if let announced = place.announced, place.ended < announced {
      throw wrong("the stream ends after \(place.ended) of \(announced) commits")
    }
  }

  /// Makes durable the commits that came whole, and gives up one that did not: it keeps others from writing if it is long.
  package func finishCommits() throws {
    commit?.application?.cancel()
    commit = nil
    if let last { try last.wait() }
    last = nil
  }

  private func wrong(_ reason: String) -> ExchangeError { .stream(line: place.line, reason: reason) }

  private func readHeader(_ header: StreamLine) throws {
    guard header.kind == "strata", let version = header.number("strata") else {
      throw wrong("a stream of commits begins with {\"strata\":1,…}")
    }
    guard version == 1 else { throw wrong("this is a stream of version \(version); this program knows version 1") }
    place.hasHeader = true
    place.announced = header.number("commits").flatMap { Int(exactly: $0) }
  }

  // MARK: Commits

  private func begin(_ line: StreamLine) throws {
    if let commit { throw wrong("commit \(commit.identity.text) has no end") }
    if let announced = place.announced, place.ended >= announced {
      throw wrong("more commits come than the \(announced) that were announced")
    }
    guard let identity = line.text("commit").flatMap(CommitIdentity.init(text:)) else {
      throw wrong("the commit has no identity")
    }
    guard let parents = identities(line, "parents"), parents.count <= 2 else {
      throw wrong("the parents of a commit are a list of at most two identities")
    }
    guard let date = line.text("date").flatMap(MomentText.nanoseconds) else { throw wrong("the commit has no date") }
    guard let flags = StreamFlags.flags(line.texts("flags") ?? []) else { throw wrong("it has unknown flags") }
    let undoes = line.text("undoes").flatMap(CommitIdentity.init(text:))
    let texts = try (action: text(line, "action"), program: text(line, "program"), author: text(line, "author"))
    let digest = CommitDigest.text(
      identity: identity, parents: parents, date: date, action: texts.action, program: texts.program,
      author: texts.author, flags: flags, undoes: undoes)
    guard line.text("digest") == digest else { throw wrong("the digest of \(identity.text) is another one") }
    var incoming = Incoming(identity: identity, check: line.check(0))
    if let number = graph.number(of: identity), let node = graph[identity] {
      let known = try store.engine.commit(number)
      guard CommitDigest.text(of: known, node) == digest else { throw ExchangeError.cloned(identity) }
      incoming.isKnown = true
      commit = incoming
      return
    }
    if requiresParents, let parent = parents.first(where: { graph.number(of: $0) == nil }) { throw missing(parent) }
    let base = try self.base(line, parents)
    try check(date: date, on: base)
    incoming.base = base?.number ?? 0
    let squashed = try runs(line)
    // A commit that comes whole is not linked to a parent, even if that is here: its changes count from the empty store.
    let linked = base == nil ? [] : linked(base, parents)
    for number in linked.dropFirst() { try check(date: date, on: store.engine.commit(number)) }
    let isTold = Set(linked.compactMap { graph.identity(of: $0) }) == Set(parents)
    let undone = undoes.flatMap { graph.number(of: $0) }
    var pedigree: Pedigree?
    if !isTold || !squashed.isEmpty || (undoes != nil && undone == nil) {
      pedigree = Pedigree(parents: isTold ? nil : parents, undoes: undone == nil ? undoes : nil, squashed: squashed)
    }
    incoming.info = CommitInfo(
      date: date, action: texts.action, program: texts.program, author: texts.author, flags: flags, undoes: undone,
      parents: Array(linked), movesHead: false, identity: identity, pedigree: pedigree, durability: .collated)
    incoming.info.clock = line.text("clock").flatMap(MomentText.nanoseconds)
    commit = incoming
  }

  /// The commit here that the changes are made on; nil means the empty store.
  private func base(_ line: StreamLine, _ parents: [CommitIdentity]) throws -> CommitRecord? {
    var wanted = parents.first
    if line.has("on") {
      wanted = line.text("on").flatMap(CommitIdentity.init(text:))
      if wanted == nil, line.document("on") != .null { throw wrong("“on” is not an identity") }
    }
    guard let wanted else { return nil }
    guard let number = graph.number(of: wanted) else { throw missing(wanted) }
    return try store.engine.commit(number)
  }

  /// The line of the commit may come again.
  private func missing(_ parent: CommitIdentity) -> ExchangeError {
    defer { place.line -= 1 }
    return ExchangeError.missing(parent, line: place.line)
  }

  /// The parent that its changes are made on, and another parent that is here.
  private func linked(_ base: CommitRecord?, _ parents: [CommitIdentity]) -> ArraySlice<UInt64> {
    ([base?.number].compactMap { $0 } + parents.compactMap { graph.number(of: $0) })
      .reduce(into: [UInt64]()) { if !$0.contains($1) { $0.append($1) } }.prefix(2)
  }

  private func check(date: Int64, on base: CommitRecord?) throws {
    if let base, date < base.date { throw wrong("it is dated before the commit that it was made on") }
    guard date <= now.addingReportingOverflow(Self.dayAhead).partialValue else {
      throw wrong("it is dated \(MomentText.text(date)), more than a day ahead of this machine's clock")
    }
  }

  private func text(_ line: StreamLine, _ name: String) throws -> String {
    guard line.has(name) else { return "" }
    guard let text = line.text(name), text.utf8.count <= Limits.text else {
      throw wrong("“\(name)” is not text of at most \(Limits.text) bytes")
    }
    return text
  }

  private func identities(_ line: StreamLine, _ name: String) -> [CommitIdentity]? {
    guard let texts = line.texts(name) else { return nil }
    let identities = texts.compactMap(CommitIdentity.init(text:))
    return identities.count == texts.count && Set(identities).count == texts.count ? identities : nil
  }

  private func runs(_ line: StreamLine) throws -> [Pedigree.Run] {
    guard let raw = line.raw("squashed") else { return [] }
    // A run takes at least 27 bytes with its three commas, so that the parsed list is not many times as long as its text.
    guard raw.count(where: { $0 == UInt8(ascii: ",") }) <= raw.count / 8 + 1,
      case .array(let elements)? = try? JSONParser.parse(Array(raw))
    else { throw wrong("“squashed” is not a list of runs") }
    var runs: [Pedigree.Run] = []
    for element in elements {
      guard case .array(let parts) = element, parts.count == 3, case .string(let first) = parts[0],
        let from = CommitIdentity(text: first), case .number(let number) = parts[1], let to = UInt64(number.text),
        to >= from.number, case .array(let parents) = parts[2], parents.count <= 2
      else { throw wrong("“squashed” holds [\"origin:first\", last, [parents]]") }
      let identities = parents.compactMap { parent -> CommitIdentity? in
        guard case .string(let text) = parent else { return nil }
        return CommitIdentity(text: text)
      }
      guard identities.count == parents.count else { throw wrong("“squashed” has a parent that is not an identity") }
      runs.append(Pedigree.Run(origin: from.origin, numbers: from.number...to, parents: identities))
    }
    return runs
  }

  // MARK: Changes

  private func change(_ parsed: StreamLine) throws {
    guard var incoming = commit else { throw wrong("“\(parsed.kind)” stands outside of a commit") }
    incoming.changes += 1
    incoming.bytes += parsed.bytes.count
    guard incoming.bytes <= mostOfCommit else {
      incoming.application?.cancel()
      throw wrong("commit \(incoming.identity.text) goes on after \(mostOfCommit) bytes, and more is not taken of one")
    }
    incoming.check = parsed.check(incoming.check)
    // Only one variable holds the waiting lines, so that appending does not copy them.
    commit = nil
    defer { commit = incoming }
    guard !incoming.isKnown else { return }
    if let application = incoming.application {
      return try making(application) { try application.apply(parsed) }
    }
    incoming.waiting.append(parsed.bytes)
    incoming.waitingBytes += parsed.bytes.count
    if incoming.waitingBytes > Self.mostWaiting { try begin(&incoming) }
  }

  /// Takes the writer's turn and makes the changes that wait.
  private func begin(_ incoming: inout Incoming) throws {
    try store.engine.admitCommitsOfOthers()
    let transaction = try store.engine.beginBlocking(on: incoming.base)
    // One that compaction has left out here may come again.
    guard transaction.origin != incoming.identity.origin || graph.knows(incoming.identity) else {
      throw wrong("it claims to be a commit that this store made and does not have")
    }
    let theirs = try incoming.info.parents?.dropFirst().first.map { try store.engine.view(at: $0) }
    let application = CommitApplication(transaction, takingFrom: theirs)
    incoming.application = application
    place.line -= incoming.waiting.count
    for bytes in incoming.waiting {
      place.line += 1
      guard let parsed = StreamLine(bytes) else { throw wrong("it is not a JSON object") }
      try making(application) { try application.apply(parsed) }
    }
    incoming.waiting = []
  }

  /// Makes changes, or gives up their commit.
  private func making<Made>(_ application: CommitApplication, _ change: () throws -> Made) throws -> Made {
    do {
      return try change()
    } catch {
      application.cancel()
      if let error = error as? ChangeError { throw wrong(error.reason) }
      throw error
    }
  }

  private func end(_ parsed: StreamLine) throws {
    guard var incoming = commit else { throw wrong("an end without its commit") }
    guard parsed.text("end") == incoming.identity.text else {
      throw wrong("it is the end of another commit than \(incoming.identity.text)")
    }
    guard parsed.number("changes") == UInt64(incoming.changes) else {
      throw wrong(
        "\(incoming.changes) changes came, and it counts \(parsed.number("changes").map(String.init) ?? "none")")
    }
    guard parsed.text("check") == Hexadecimal.text(of: UInt64(incoming.check)) else {
      throw wrong("the check of commit \(incoming.identity.text) is another one: something was garbled on the way")
    }
    commit = nil
    place.ended += 1
    ended += 1
    if ended % CommitSender.commitsHeld == 0 { store.engine.releaseMemory() }
    guard !incoming.isKnown else {
      newest = incoming.identity
      return
    }
    // The lines that wait are those before this one.
    place.line -= 1
    defer { place.line += 1 }
    if incoming.application == nil { try begin(&incoming) }
    guard let application = incoming.application else { return }
    last = try making(application) { try application.commit(incoming.info) }
    guard let number = last?.number else { return }
    received.append(number)
    newest = incoming.identity
    graph.add(try store.engine.commit(number), incoming.info.pedigree)
  }
}
