import Dispatch
import StrataDocuments
import StrataEngine
import StrataLocks
import StrataModel

/// The two ends of a line to `strata serve` that are here.
protocol LineEnds: AnyObject, Sendable {
  var input: Int32 { get }
  /// For a `LineReader`, which closes it.
  var output: Int32 { get }
  /// Ends the other side. From any thread, and more than once.
  func end()
  /// Why the other side went away.
  func reason() -> String
}

/// One run of `strata serve` on another computer, for a browser. It ends with the line, and is not begun again.
///
/// A thread reads what comes. Requests are answered in their order, so several threads may wait for replies.
final class BrowsingConnection: Sendable {
  /// Why the line has ended, as a sentence.
  struct Ended: Error { var reason: String }

  /// A thread that waits for a reply.
  private final class Waiter: Sendable {
    let ready = DispatchSemaphore(value: 0)
    let reply = Mutex<Result<StreamLine, Ended>?>(nil)

    func resolve(_ result: Result<StreamLine, Ended>) {
      reply.withLock { $0 = result }
      ready.signal()
    }
  }

  private struct Waiting {
    var waiters: [Waiter] = []
    var ended: Ended?
    var writer: LineWriter
  }

  private let ends: any LineEnds
  private let waiting: Mutex<Waiting>
  private let accepts: @Sendable (StreamLine) -> Bool

  private static let lineLimit = 4 << 20
  private static let writePatience: Int32 = 60_000
  /// For how many seconds a reply is waited for.
  static let patience = 60
  /// The same for the reply to an edit, which may read each record there.
  static let editPatience = 600

  /// Begins to read, and returns before the other side answers.
  ///
  /// - Parameters:
  ///   - accepts: receives each line with bytes before the reply is passed on, and each state; false means that the line lies.
  ///   - ended: is called once, on the reading thread.
  init(
    _ ends: any LineEnds, name: String, accepts: @escaping @Sendable (StreamLine) -> Bool,
    ended: @escaping @Sendable (Ended) -> Void
  ) throws {
    self.ends = ends
    self.accepts = accepts
    waiting = Mutex(Waiting(writer: LineWriter(descriptor: ends.input, name: name, patience: Self.writePatience)))
    try startThread { [self] in
      let end = Ended(reason: read(LineReader(descriptor: ends.output, name: name, takesRest: false)))
      let waiters = waiting.withLock { waiting in
        waiting.ended = end
        defer { waiting.waiters = [] }
        return waiting.waiters
      }
      for waiter in waiters { waiter.resolve(.failure(end)) }
      ended(end)
    }
  }

  /// Why it has ended. Returns nil if it has not.
  var end: Ended? { waiting.withLock { $0.ended } }

  /// Ends the other side, and so the thread that reads.
  func close() { ends.end() }

  /// Sends a request and waits for its reply.
  ///
  /// - Throws: `Ended`; then the request may have been received.
  func ask(_ request: [UInt8], patience: Int = BrowsingConnection.patience) throws -> StreamLine {
    let waiter = Waiter()
    try waiting.withLock { waiting in
      if let ended = waiting.ended { throw ended }
      waiting.waiters.append(waiter)
      do {
        try waiting.writer.add(request)
        try waiting.writer.flush()
      } catch {
        // The reading thread finds the reason.
        close()
      }
    }
    if waiter.ready.wait(timeout: .now() + .seconds(patience)) == .timedOut {
      close()
      throw Ended(reason: "no answer came for \(patience) seconds")
    }
    return try waiter.reply.withLock { reply in
      guard let reply else { throw Ended(reason: "no answer came") }
      return try reply.get()
    }
  }

  /// Passes on what comes, until the end. Returns why it ended.
  private func read(_ reader: LineReader) -> String {
    defer { close() }
    var isGreeted = false
    do {
      while let bytes = try reader.next(limit: Self.lineLimit) {
        guard let line = StreamLine(bytes) else { return StreamLine.refusal(of: bytes) }
        if !isGreeted {
          guard line.kind == "serve" else { return "what comes is not from strata serve" }
          if let refusal = Self.refusal(ofVersion: line.number("browse")) { return refusal }
          isGreeted = true
          continue
        }
        if line.has("bytes"), !accepts(line) { return "what comes does not fit the store" }
        if line.kind == "state" { continue }
        let waiter = waiting.withLock { $0.waiters.isEmpty ? nil : $0.waiters.removeFirst() }
        guard let waiter else { return "an answer comes to no request" }
        waiter.resolve(.success(line))
      }
    } catch {
      return "\(error)"
    }
    return ends.reason()
  }

  static func refusal(ofVersion version: UInt64?) -> String? {
    guard version != BrowsingServer.version else { return nil }
    let theirs = version.map { "version \($0) of browsing" } ?? "no browsing, only version 1 of strata serve"
    return "the strata there speaks \(theirs), and this one speaks version \(BrowsingServer.version) of browsing: "
      + "install the same release on both sides"
  }
}
