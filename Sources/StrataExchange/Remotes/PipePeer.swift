import StrataModel
import StrataDocuments
import StrataSystem
package import StrataEngine

/// Another copy behind two pipes, served by `strata serve`, usually over ssh.
///
/// Each request is a line and each answer is lines, as `PeerServer` has them. A peer that is silent for a minute counts as gone.
package final class PipePeer: Peer {
  package let name: String
  private let child: ChildProcess
  private let reader: LineReader
  private let writer: LineWriter
  private var greeting: StreamLine?
  /// Set if an answer was not read to its end: then the next lines do not belong to the next request.
  private var isBroken = false
  /// Requests that waited for an answer, for statistics.
  package private(set) var roundTrips = 0
  /// Bytes in both directions, for statistics.
  package var byteCount: Int { reader.byteCount + writer.byteCount }

  private static let patience: Int32 = 60_000
  private static let mostHaves = 10_000
  /// The longest answer line in bytes, except in streams.
  private static let answerLimit = 4 << 20

  /// Starts a program that serves a store on its standard input and output.
  ///
  /// - Parameter mayAsk: Whether ssh may use the terminal to ask for passwords and unknown hosts. A program that draws there passes false.
  package init(_ words: [String], name: String, mayAsk: Bool = true) throws {
    self.name = name
    child = try ChildProcess(words, keepsTerminal: mayAsk)
    reader = LineReader(descriptor: child.output, name: name, patience: Self.patience, takesRest: false)
    writer = LineWriter(descriptor: child.input, name: name, patience: Self.patience)
  }

  // This ends the writing program, and then the wait for it.
  deinit { reader.hangUp() }

  /// The program that `STRATA_SSH` names, to run instead of ssh, as a test does.
  private static var givenProgram: String? {
    getenv("STRATA_SSH").flatMap { $0.pointee == 0 ? nil : String(cString: $0) }
  }

  /// The words that run `strata serve` on another machine.
  ///
  /// A path that begins with `~/` is in the other side's home, which the shell there puts in its place.
  package static func words(
    user: String?, host: String, port: Int?, path: String, program given: String? = nil, mayAsk: Bool = true
  ) -> [String] {
    let program = given ?? givenProgram
    let home = path.hasPrefix("/~/") ? 3 : path.hasPrefix("~/") ? 2 : 0
    let rest = path.dropFirst(home).replacing("'", with: "'\\''")
    let quoted = (home > 0 ? "~/" : "") + "'\(rest)'"
    var words = [program ?? "ssh"]
    if !mayAsk, program == nil { words += ["-o", "BatchMode=yes"] }
    // A network that is cut without notice ends ssh after 45 seconds.
    if program == nil { words += ["-o", "ServerAliveInterval=15"] }
    if let port { words += ["-p", "\(port)"] }
    // A URL has an IPv6 address in brackets; ssh takes these for a part of a name.
    let host = host.hasPrefix("[") && host.hasSuffix("]") ? String(host.dropFirst().dropLast()) : host
    return words + ["--", user.map { "\($0)@\(host)" } ?? host, "strata serve \(quoted)"]
  }

  package func heads() throws -> [CommitIdentity] {
    let line = try greet()
    guard let text = line.text("head") else { return [] }
    guard let identity = CommitIdentity(text: text) else { throw wrong("its head is not an identity") }
    return [identity]
  }

  package func headCheck() throws -> String? { try greet().text("check") }

  /// The first line from the other side; later ones come with each change of its head.
  private func greet() throws -> StreamLine {
    if let greeting { return greeting }
    let line = try answer()
    guard line.kind == "serve", line.number("serve") == 1 else {
      throw wrong("it does not speak the language of strata serve, version 1")
    }
    greeting = line
    return line
  }

  package func fetch(
    haves: [Have], wants: [CommitIdentity], of tips: [CommitIdentity], take: ([UInt8]) throws -> Void
  ) throws {
    var request: [Document.Member] = [
      .init("fetch", .array(haves.map { .string($0.text) })), .init("wants", .array(wants.map { .string($0.text) })),
    ]
    if !tips.isEmpty { request.append(.init("tips", .array(tips.map { .string($0.text) }))) }
    try ask(request)
    isBroken = true
    var missing: ExchangeError?
    var passedOver = 0
    while true {
      guard let bytes = try reader.next() else { throw disconnected() }
      if bytes.starts(with: Array("{\"done\":".utf8)) {
        isBroken = false
        if let missing { throw missing }
        return
      }
      if bytes.starts(with: Array("{\"error\":".utf8)) {
        isBroken = false
        throw missing ?? refusal(bytes)
      }
      if let missing {
        passedOver += bytes.count
        guard passedOver <= PeerServer.mostRefused else { throw missing }
        continue
      }
      do {
        try take(bytes)
      } catch let error as ExchangeError {
        // It is asked for next, over the same pipe, on which the rest of this answer comes first.
        guard case .missing = error else { throw error }
        missing = error
      }
    }
  }

  package func pins() throws -> [PeerPin] {
    try ask([.init("pins", .bool(true))])
    guard case .object(let members)? = try answer().document("pins") else { throw wrong("it does not say its names") }
    return members.prefix(Self.mostHaves).compactMap { member in
      guard case .string(let text) = member.value, let commit = CommitIdentity(text: text) else { return nil }
      return PeerPin(name: member.name, commit: commit)
    }
  }

  package func haves() throws -> [Have] {
    try ask([.init("haves", .bool(true))])
    let line = try answer()
    guard let texts = line.texts("haves"), texts.count <= Self.mostHaves else {
      throw wrong("it does not say what it has")
    }
    return texts.compactMap(Have.init(text:))
  }

  package func push(_ commits: OutgoingCommits) throws -> Bool {
    try ask([.init("receive", .bool(true))])
    isBroken = true
    do {
      try commits.write { try self.writer.add($0) }
      isBroken = false
    } catch let error as ExchangeError {
      // The peer may have reported why it went away.
      if case .peer = error { throw disconnected() }
      throw error
    }
    try ask([.init("done", .bool(true))])
    _ = try answer()
    try ask([.init("propose", .string(commits.head.text))])
    let line = try answer()
    // If its head was not moved, another program has moved it since the greeting.
    greeting = line
    return line.document("moved") == true
  }

  private func ask(_ members: [Document.Member]) throws {
    _ = try greet()
    if isBroken { throw wrong("what it was asked before was not read to its end") }
    roundTrips += 1
    try writer.add(StreamLine.bytes(members))
    do {
      try writer.flush()
    } catch { throw disconnected() }
  }

  private func answer() throws -> StreamLine {
    guard let bytes = try reader.next(limit: Self.answerLimit) else { throw disconnected() }
    guard let line = StreamLine(bytes) else { throw wrong(StreamLine.refusal(of: bytes)) }
    if line.kind == "error" { throw refusal(bytes) }
    return line
  }

  private func refusal(_ bytes: [UInt8]) -> ExchangeError {
    let line = StreamLine(bytes)
    if let missing = line?.text("missing").flatMap(CommitIdentity.init(text:)) { return .missing(missing, line: 0) }
    return wrong(line?.text("error") ?? "it failed")
  }

  private func wrong(_ reason: String) -> ExchangeError { .peer(name: name, reason: reason) }

  /// The error of a peer that has gone, with the reason that it wrote.
  private func disconnected() -> ExchangeError { wrong(child.reason()) }
}
