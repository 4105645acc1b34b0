import StrataDocuments
import StrataEngine
import StrataLocks
import StrataModel

/// The bytes of a store on another computer: those that came are kept, the others are asked for.
///
/// A thread that says what it reads gets all bytes of that reading by one request. Other reads ask for the missing bytes and, while they go
/// on in order, for more and more of those behind them.
final class RemoteBytes: DurableBytes, DistantStore {
  fileprivate struct Intent {
    var reading: AnnouncedReading
    var depth = 1
    var isAsked = false
  }

  fileprivate struct State {
    var connection: BrowsingConnection?
    var file = FileIdentity(device: 0, inode: 0)
    var end: UInt64 = 0
    var kept = KeptUnits()
    /// The present readings, by thread.
    var intents: [UInt: Intent] = [:]
    /// The page of entries that a thread read last, if it asked for nothing: the values of its records may be missing all the same.
    var pages: [UInt: AnnouncedReading] = [:]
    /// The readings that asked last, with their budgets, and the ends of the plain reads, with their lengths.
    var asked: [(reading: AnnouncedReading, budget: UInt64)] = []
    var runs: [(end: UInt64, length: UInt64)] = []
    var roundTrips = 0
  }

  private let name: String
  private let state = Mutex(State())

  fileprivate static let firstBudget: UInt64 = 512 << 10
  fileprivate static let firstRun: UInt64 = 4 << 10
  fileprivate static let longestRun: UInt64 = 512 << 10
  private static let mostAtOnce: UInt64 = 1 << 20
  /// The bytes that are copied at once: with the rest of its first and last units, one request brings them all.
  private static let piece = Int(mostAtOnce) - 4_096
  private static let mostTries = 16
  private static let mostThreads = 64

  init(name: String) { self.name = name }

  /// The requests that waited for an answer, for statistics.
  var roundTrips: Int { state.withLock { $0.roundTrips } }

  func connect(_ connection: BrowsingConnection?) { state.withLock { $0.connection = connection } }

  // MARK: Receiving

  /// Takes in the bytes of a line. Returns false if they do not fit the file.
  func keep(_ line: StreamLine, of settled: DurableEnd?) -> Bool {
    guard let runs = line.base64("bytes") else { return false }
    return state.withLock { state in
      if let settled {
        if settled.file != state.file {
          state.kept.removeAll()
        } else if settled.end < state.end {
          return false
        } else if settled.end > state.end {
          // The other side forgets it then, too. A state in which only the writer changed brings no bytes.
          state.kept.forgetUnit(at: state.end)
        }
        (state.file, state.end) = (settled.file, settled.end)
      }
      if line.has("drops") { state.kept.removeAll() }
      return ByteRuns.forEach(in: runs, before: state.end) { state.kept.insert($0, at: $1) }
    }
  }

  // MARK: Reading

  func read(
    into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64, of file: FileIdentity
  ) throws(DiskError) -> Int {
    // The sides may keep fewer bytes than a long value has, so each piece is copied before the next is asked for.
    for start in stride(from: 0, to: buffer.count, by: Self.piece) {
      let piece = buffer[start..<min(start + Self.piece, buffer.count)]
      try copy(into: UnsafeMutableRawBufferPointer(rebasing: piece), at: offset + UInt64(start), of: file)
    }
    return buffer.count
  }

  private func copy(
    into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64, of file: FileIdentity
  ) throws(DiskError) {
    let range = offset..<offset + UInt64(buffer.count)
    var last: Range<UInt64>?
    for _ in 0..<Self.mostTries {
      let missing = try state.withLock { state throws(DiskError) in
        guard file == state.file else { throw DiskError.away(name) }
        return state.kept.copy(range, into: buffer)
      }
      guard let missing else { return }
      // The other side may have said in between that all is to be dropped.
      if missing == last { yieldThread() }
      last = missing
      try fetch(missing.lowerBound..<min(missing.upperBound, missing.lowerBound + Self.mostAtOnce))
    }
    throw DiskError.away(name)
  }

  private func fetch(_ range: Range<UInt64>) throws(DiskError) {
    let (connection, request) = state.withLock { ($0.connection, $0.request(for: range, by: threadIdentity())) }
    guard let connection else { throw .away(name) }
    let line = try? connection.ask(StreamLine.bytes([.init("get", coding: request)]))
    guard line?.kind == "got" else { throw .away(name) }
  }

  // MARK: Announced readings

  func beginReading(_ reading: AnnouncedReading) {
    let thread = threadIdentity()
    state.withLock { state in
      if case .entries = reading, !reading.isLong {
        if state.pages.count > Self.mostThreads { state.pages = [:] }
        state.pages[thread] = reading
      }
      guard var intent = state.intents[thread] else {
        state.intents[thread] = Intent(reading: reading)
        return
      }
      intent.depth += 1
      if intent.isAsked { (intent.reading, intent.isAsked) = (reading, false) }
      state.intents[thread] = intent
    }
  }

  func endReading() {
    let thread = threadIdentity()
    state.withLock { state in
      state.intents[thread]?.depth -= 1
      if state.intents[thread]?.depth == 0 { state.intents[thread] = nil }
    }
  }

  func rules(of datastore: DatastoreDescriptor, at commit: CommitNumber) throws(ModelError) -> [String: RuleOutcome] {
    let request = StreamLine.bytes([
      .init("rules", .string(datastore.key)), .init("at", .number(NumberText(commit.rawValue))),
    ])
    let connection = state.withLock { state in
      state.roundTrips += 1
      return state.connection
    }
    guard let line = try? connection?.ask(request, patience: BrowsingConnection.editPatience) else { throw .away(name) }
    if let reason = line.text("error") { throw .refused(reason: reason) }
    guard let document = line.document("rules"),
      let outcomes = RuleOutcome.outcomes(document, for: datastore.indexes)
    else { throw .away(name) }
    return outcomes
  }
}

extension RemoteBytes.State {
  /// The request for missing bytes: with the thread's reading, or with the bytes behind them.
  fileprivate mutating func request(for range: Range<UInt64>, by thread: UInt) -> MissingBytes {
    roundTrips += 1
    var request = MissingBytes(offset: range.lowerBound, count: UInt64(range.count), file: file.inode)
    if let intent = intents[thread], !intent.isAsked, let page = pages[thread], page.hasRecord(of: intent.reading) {
      // The next record of a page asks for the records of all.
      pages[thread] = nil
      (request.reading, request.budget) = (page, RemoteBytes.firstBudget)
    } else if let intent = intents[thread], !intent.isAsked {
      pages[thread] = nil
      intents[thread]?.isAsked = true
      (request.reading, request.budget) = (intent.reading, budget(for: intent.reading))
    } else {
      request.ahead = ahead(of: range)
    }
    return request
  }

  /// Twice as much as last time if the reading goes on.
  private mutating func budget(for reading: AnnouncedReading) -> UInt64 {
    let earlier = asked.firstIndex { $0.reading.leads(to: reading) }
    let budget = earlier.map { min(asked.remove(at: $0).budget * 2, SentUnits.mostBytes - (64 << 10)) }
    // A long range may be left early.
    let first = reading.isLong ? RemoteBytes.firstBudget / 8 : RemoteBytes.firstBudget
    asked = asked.suffix(7) + [(reading, budget ?? first)]
    return budget ?? first
  }

  private mutating func ahead(of range: Range<UInt64>) -> UInt64 {
    let earlier = runs.firstIndex { $0.end <= range.lowerBound && range.lowerBound - $0.end <= $0.length }
    let length = earlier.map { min(runs.remove(at: $0).length * 2, RemoteBytes.longestRun) } ?? RemoteBytes.firstRun
    runs = runs.suffix(7) + [(max(range.upperBound, range.lowerBound + length), length)]
    return length > UInt64(range.count) ? length - UInt64(range.count) : 0
  }
}
