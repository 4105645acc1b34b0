package import DatastoreModel
import Documents
package import StorageEngine

/// Takes commits from a stream into a store: the one reader, for fetch, push and import with history.
///
/// Nothing in a stream moves `head` or gives a name. A commit is taken whole or not at all; where a line is not what it should be,
/// `ExchangeError.stream` tells which and why, and the commits before it stay, beside every history. Commits that are there already are
/// skipped, and compared by their digests.
///
/// Memory: a commit's lines up to 16 MiB; what is more goes into the store's file as it comes. While a commit comes in, writers of this
/// process wait only where it is longer than that. A commit of more than 16 GiB of lines is refused, so that a peer that never ends one
/// takes no more of the disk; `CommitApplication` says what it may take of memory.
package final class CommitReceiver {
  private let store: OwnStore
  package private(set) var graph: CommitGraph
  /// Numbers of the commits that were taken in.
  package private(set) var received: [UInt64] = []
  /// The last commit that came whole, or was there already.
  package private(set) var newest: CommitIdentity?
  /// Commits whose end came, also of those that were here before.
  package private(set) var ended = 0
  /// How many the stream says that it has; nil where it does not say.
  package private(set) var announced: Int?
  /// The line that was taken last, from 1.
  private(set) var line = 0
  private let now: Int64
  private let mostUnannounced: Int
  private let mostOfCommit: Int
  private var requiresParents = false
  private var bytesTaken = 0
  private var hasHeader = false
  private var blankLines = 0
  private var commit: Incoming?
  private var last: PendingCommit?

  /// So many bytes of a commit wait for its end.
  private static let mostWaiting = 16 << 20
  private static let dayAhead: Int64 = 86_400_000_000_000
  /// Of what says nothing, as a peer sends it that floods.
  private static let mostBlankLines = 1_000
  /// So many bytes are taken of a stream that does not say how many commits it has.
  package static let mostUnannounced = 1 << 30
  /// So many bytes are the lines of one commit.
  package static let mostOfCommit = 16 << 30

  /// A commit of which the end has not come.
  private struct Incoming {
    var identity: CommitIdentity
    var isKnown: Bool
    var base: UInt64 = 0
    var info = CommitInfo()
    var changes = 0
    var bytes = 0
    var check: UInt32
    var waiting: [[UInt8]] = []
    var waitingBytes = 0
    var application: CommitApplication?
  }

  /// - Parameters:
  ///   - now: nanoseconds since 1970, by this machine's clock.
  ///   - mostUnannounced: so many bytes are taken of a stream that does not say how many commits it has.
  ///   - mostOfCommit: so many bytes of lines are taken of one commit.
  package init(
    _ store: OwnStore, _ graph: CommitGraph, now: Int64, mostUnannounced: Int = mostUnannounced,
    mostOfCommit: Int = mostOfCommit
  ) {
    self.store = store
    self.graph = graph
    self.now = now
    self.mostUnannounced = mostUnannounced
    self.mostOfCommit = mostOfCommit
  }

  deinit { commit?.application?.cancel() }

  /// Goes on after other streams were read.
  ///
  /// - Parameters:
  ///   - graph: the commits that the store has by now; nil: those that this one knows of.
  ///   - requiresParents: refuses a commit of which a parent does not lie here, as missing, and may be given its line again: another
  ///     stream may bring the parent, and a commit is linked to what lies here when it comes.
  func goOn(with graph: CommitGraph?, requiresParents: Bool) {
    if let graph { self.graph = graph }
    self.requiresParents = requiresParents
  }

  /// Takes the next line, without its end.
  package func take(_ bytes: [UInt8]) throws {
    line += 1
    if bytes.allSatisfy({ $0 == 0x20 || $0 == 0x0D || $0 == 0x09 }) {
      blankLines += 1
      guard blankLines <= Self.mostBlankLines else { throw wrong("there are more than 1,000 blank lines") }
      return
    }
    guard let parsed = StreamLine(bytes) else { throw wrong("it is no JSON object on one line") }
    if !hasHeader { return try takeHeader(parsed) }
    bytesTaken += bytes.count
    guard announced != nil || bytesTaken <= mostUnannounced else {
      throw wrong("the stream does not say how many commits it has, and goes on after \(mostUnannounced) bytes")
    }
    switch parsed.kind {
    case "commit": try begin(parsed)
    case "end": try end(parsed)
    default: try change(parsed)
    }
  }

  /// Says that no line follows: makes durable what came. Throws where a commit was cut off.
  package func finish() throws {
    let open = commit?.identity
    try settle()
    if let open { throw wrong("the stream ends within commit \(open.text)") }
    if !hasHeader { throw wrong("the stream is empty") }
    if let announced, ended < announced { throw wrong("the stream ends after \(ended) of \(announced) commits") }
  }

  /// Makes durable what has come whole, and lets go of a commit that has not: it keeps others from writing where it is long.
  package func settle() throws {
    commit?.application?.cancel()
    commit = nil
    if let last { try last.wait() }
    last = nil
  }

  private func wrong(_ reason: String) -> ExchangeError { .stream(line: line, reason: reason) }

  private func takeHeader(_ header: StreamLine) throws {
    guard header.kind == "strata", let version = header.number("strata") else {
      throw wrong("a stream of commits begins with {\"strata\":1,…}")
    }
    guard version == 1 else { throw wrong("this is a stream of version \(version); this program knows version 1") }
    hasHeader = true
    announced = header.number("commits").flatMap { Int(exactly: $0) }
  }

  // MARK: Commits

  private func begin(_ line: StreamLine) throws {
    if let commit { throw wrong("commit \(commit.identity.text) has no end") }
    if let announced, ended >= announced { throw wrong("more commits come than the \(announced) that were announced") }
    guard let identity = line.text("commit").flatMap(CommitIdentity.init(text:)) else {
      throw wrong("the commit has no identity")
    }
    guard let parents = identities(line, "parents"), parents.count <= 2 else {
      throw wrong("the parents of a commit are a list of at most two identities")
    }
    guard let date = line.text("date").flatMap(StreamDate.nanoseconds) else { throw wrong("the commit has no date") }
    guard let flags = StreamFlags.flags(line.texts("flags") ?? []) else { throw wrong("it has unknown flags") }
    let undoes = line.text("undoes").flatMap(CommitIdentity.init(text:))
    let texts = try (action: text(line, "action"), program: text(line, "program"), author: text(line, "author"))
    let digest = CommitDigest.text(
      identity: identity, parents: parents, date: date, action: texts.action, program: texts.program,
      author: texts.author, flags: flags, undoes: undoes)
    guard line.text("digest") == digest else { throw wrong("the digest of \(identity.text) is another one") }
    var incoming = Incoming(
      identity: identity, isKnown: false, check: crc32c(0, line.bytes + [UInt8(ascii: "\n")]))
    if let number = graph.number(of: identity), let node = graph[identity] {
      let known = try store.engine.commit(number)
      guard CommitDigest.text(of: known, node) == digest else { throw ExchangeError.cloned(identity) }
      incoming.isKnown = true
      commit = incoming
      return
    }
    if requiresParents, let missing = parents.first(where: { graph.number(of: $0) == nil }) {
      defer { self.line -= 1 }
      throw ExchangeError.missing(missing, line: self.line)
    }
    let base = try self.base(line, parents)
    try check(date: date, on: base)
    incoming.base = base?.number ?? 0
    let squashed = try runs(line)
    // What comes whole has no parent to be linked to, also where that is here: the stream counts from the empty store.
    let linked = base == nil ? [] : linked(base, parents)
    for number in linked.dropFirst() { try check(date: date, on: store.engine.commit(number)) }
    let isTold = Set(linked.compactMap { graph.identity(of: $0) }) == Set(parents)
    let undone = undoes.flatMap { graph.number(of: $0) }
    var pedigree: Pedigree?
    if !isTold || !squashed.isEmpty || (undoes != nil && undone == nil) {
      pedigree = Pedigree(
        parents: isTold ? nil : parents, undoes: undone == nil ? undoes : nil, squashed: squashed)
    }
    incoming.info = CommitInfo(
      date: date, action: texts.action, program: texts.program, author: texts.author, flags: flags, undoes: undone,
      parents: Array(linked), movesHead: false, identity: identity, pedigree: pedigree, durability: .collated)
    incoming.info.clock = line.text("clock").flatMap(StreamDate.nanoseconds)
    commit = incoming
  }

  /// The commit here that the changes are made on; nil: the empty store.
  private func base(_ line: StreamLine, _ parents: [CommitIdentity]) throws -> CommitRecord? {
    var wanted = parents.first
    if line.has("on") {
      wanted = line.text("on").flatMap(CommitIdentity.init(text:))
      if wanted == nil, line.document("on") != .null { throw wrong("“on” is no identity") }
    }
    guard let wanted else { return nil }
    guard let number = graph.number(of: wanted) else {
      throw ExchangeError.missing(wanted, line: self.line)
    }
    return try store.engine.commit(number)
  }

  /// The first parent that its changes are made on, and another one that is here.
  private func linked(_ base: CommitRecord?, _ parents: [CommitIdentity]) -> ArraySlice<UInt64> {
    ([base?.number].compactMap { $0 } + parents.compactMap { graph.number(of: $0) })
      .reduce(into: [UInt64]()) { if !$0.contains($1) { $0.append($1) } }.prefix(2)
  }

  private func check(date: Int64, on base: CommitRecord?) throws {
    if let base, date < base.date { throw wrong("it is dated before the commit that it was made on") }
    guard date <= now.addingReportingOverflow(Self.dayAhead).partialValue else {
      throw wrong("it is dated \(StreamDate.text(date)), more than a day ahead of this machine's clock")
    }
  }

  private func text(_ line: StreamLine, _ name: String) throws -> String {
    guard line.has(name) else { return "" }
    guard let text = line.text(name), text.utf8.count <= Limits.text else {
      throw wrong("“\(name)” is no text of at most \(Limits.text) bytes")
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
    // A run takes 27 bytes and more with its three commas, so that what is parsed is not many times as long as it stands.
    guard raw.count(where: { $0 == UInt8(ascii: ",") }) <= raw.count / 8 + 1,
      case .array(let elements)? = try? JSONParser.parse(Array(raw))
    else { throw wrong("“squashed” is no list of runs") }
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
      guard identities.count == parents.count else { throw wrong("“squashed” has a parent that is no identity") }
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
    incoming.check = crc32c(incoming.check, parsed.bytes + [UInt8(ascii: "\n")])
    // Only one holds what waits, so that appending does not copy it.
    commit = nil
    defer { commit = incoming }
    guard !incoming.isKnown else { return }
    if let application = incoming.application {
      try apply(parsed, application)
      return
    }
    incoming.waiting.append(parsed.bytes)
    incoming.waitingBytes += parsed.bytes.count
    if incoming.waitingBytes > Self.mostWaiting { try begin(&incoming) }
  }

  /// Takes the writer's turn and makes the changes that wait.
  private func begin(_ incoming: inout Incoming) throws {
    try store.engine.admitCommitsOfOthers()
    let base = incoming.base
    let transaction = try store.engine.beginBlocking(on: base)
    // One that compaction has left out here may come again.
    guard transaction.origin != incoming.identity.origin || graph.knows(incoming.identity) else {
      transaction.cancel()
      throw wrong("it claims to be a commit that this store made and does not have")
    }
    let second = incoming.info.parents?.dropFirst().first
    let application: CommitApplication
    do {
      let theirs = try second.map { number in
        try store.engine.view(at: number)
      }
      application = CommitApplication(transaction, takingFrom: theirs)
    } catch {
      transaction.cancel()
      throw error
    }
    incoming.application = application
    let end = line
    line = end - incoming.waiting.count
    for bytes in incoming.waiting {
      line += 1
      guard let parsed = StreamLine(bytes) else { throw wrong("it is no JSON object") }
      try apply(parsed, application)
    }
    line = end
    incoming.waiting = []
  }

  private func apply(_ parsed: StreamLine, _ application: CommitApplication) throws {
    do {
      try application.apply(parsed)
    } catch let error as ChangeError {
      application.cancel()
      throw wrong(error.reason)
    } catch {
      application.cancel()
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
    ended += 1
    if ended % CommitSender.commitsHeld == 0 { store.engine.releaseMemory() }
    guard !incoming.isKnown else {
      newest = incoming.identity
      return
    }
    // The lines that wait are those before this one.
    line -= 1
    defer { line += 1 }
    do {
      if incoming.application == nil { try begin(&incoming) }
      guard let application = incoming.application else { return }
      last = try application.commit(incoming.info)
    } catch let error as ChangeError {
      incoming.application?.cancel()
      throw wrong(error.reason)
    } catch {
      incoming.application?.cancel()
      throw error
    }
    guard let number = last?.number else { return }
    received.append(number)
    newest = incoming.identity
    graph.add(try store.engine.commit(number), incoming.info.pedigree)
  }
}
