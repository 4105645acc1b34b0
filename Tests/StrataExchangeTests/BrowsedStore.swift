import StrataDocuments
import StrataEngine
import StrataLocks
import StrataModel
import Testing

@testable import StrataExchange

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// A store in a file with cities, served to a browser over two pipes of this process.
final class BrowsedStore: Sendable {
  let folder = "/tmp/strata-browsed-\(UInt64.random(in: 0 ... .max))"
  let own: EngineStore
  let isReadOnly: Bool
  /// After how many pages the server forgets what it has sent.
  let mostPages: Int
  private let wires = Mutex<[Wire]>([])
  /// The bytes after which the next connections are cut, from here and from there.
  private let cuts = Mutex<[(toThere: Int, toHere: Int)]>([])

  init(_ count: Int, isReadOnly: Bool = false, isUnproven: Bool = false, mostPages: Int = 4_096) throws {
    self.mostPages = mostPages
    self.isReadOnly = isReadOnly
    own = try EngineStore.open(path: folder, program: "test", author: "ada", creates: true)
    try own.engine.change { try DatastoreWriter.create(ExchangedStore.descriptor, in: $0) }
    guard count > 0 else { return }
    let documents = try (1...count).map { try JSONParser.parse(Self.city($0)) }
    _ = try own.commit(own.changes(putting: documents, into: "City"), named: "import", options: EditOptions())
    guard isUnproven else { return }
    var descriptor = ExchangedStore.descriptor
    for place in descriptor.indexes.indices { descriptor.indexes[place].rule = nil }
    try own.engine.change { [descriptor] in try DatastoreWriter.store(descriptor, in: $0) }
  }

  static func city(_ number: Int) -> String {
    let name = String((number &* 7_919) % 100_003, radix: 36)
    return
      #"{"id":\#(number),"name":"\#(name)","population":\#((number &* 31) % 1_000),"text":"\#(name)\#(name)\#(name)"}"#
  }

  var store: ExchangedStore { ExchangedStore(own) }

  /// Opens it from the other side.
  func browse(pauses: ClosedRange<Int> = 1...1) throws -> RemoteStore {
    try RemoteStore(line(pauses: pauses), isReadOnly: false, mayAsk: false)
  }

  func line(pauses: ClosedRange<Int> = 1...1) -> RemoteLine {
    RemoteLine(name: "ssh://there/store", pauses: pauses) { [self] _ in
      let cut = cuts.withLock { $0.isEmpty ? (Int.max, Int.max) : $0.removeFirst() }
      let wire = try Wire(self, toThere: cut.0, toHere: cut.1)
      wires.withLock { $0.append(wire) }
      return wire
    }
  }

  /// Cuts the next connection after a number of bytes in each direction.
  func cutNext(toThere: Int = .max, toHere: Int = .max) { cuts.withLock { $0.append((toThere, toHere)) } }

  func cutNone() { cuts.withLock { $0 = [] } }

  /// Cuts the connection after a number of further bytes in each direction.
  func limitLast(toThere: Int, toHere: Int) { wires.withLock { $0.last }?.limit(toThere: toThere, toHere: toHere) }

  func cutNow() { wires.withLock { $0.last }?.end() }
  var connections: Int { wires.withLock { $0.count } }
  /// The bytes that came over all connections.
  var bytesToHere: Int { wires.withLock { $0.reduce(0) { $0 + $1.bytesToHere } } }
  var bytesToThere: Int { wires.withLock { $0.reduce(0) { $0 + $1.bytesToThere } } }

  deinit {
    for wire in wires.withLock({ $0 }) { wire.end() }
    try? removeFolder(folder)
  }
}

/// Two pipes with a server at the other end, which may be cut after some bytes.
final class Wire: LineEnds {
  let input: Int32
  let output: Int32
  private let toThere: Cutter
  private let toHere: Cutter

  init(_ browsed: BrowsedStore, toThere limit: Int, toHere limitBack: Int) throws {
    let (first, second, third, fourth) = (Pipe(), Pipe(), Pipe(), Pipe())
    (input, output) = (first.writeEnd, fourth.readEnd)
    toThere = Cutter(from: first.readEnd, to: second.writeEnd, limit: limit)
    toHere = Cutter(from: third.readEnd, to: fourth.writeEnd, limit: limitBack)
    try toThere.start { [toHere] in toHere.cut() }
    try toHere.start { [toThere] in toThere.cut() }
    let (folder, isReadOnly, mostPages) = (browsed.folder, browsed.isReadOnly, browsed.mostPages)
    try startThread {
      defer { close(third.writeEnd) }
      guard let store = try? EngineStore.open(path: folder, readOnly: isReadOnly, program: "serve", author: "there")
      else {
        close(second.readEnd)
        return
      }
      var server = PeerServer(store, isReadOnly: isReadOnly, now: wallClock())
      server.mostPages = mostPages
      try? server.serve(
        LineReader(descriptor: second.readEnd, name: "in"), LineWriter(descriptor: third.writeEnd, name: "out"))
    }
  }

  var bytesToHere: Int { toHere.passed }
  var bytesToThere: Int { toThere.passed }

  func limit(toThere more: Int, toHere moreBack: Int) {
    toThere.allow(more)
    toHere.allow(moreBack)
  }

  func end() {
    toThere.cut()
    toHere.cut()
  }

  func reason() -> String { "the wire was cut" }
}

/// A pipe's two descriptors.
struct Pipe {
  let readEnd: Int32
  let writeEnd: Int32

  init() {
    var ends: [Int32] = [-1, -1]
    precondition(pipe(&ends) == 0)
    (readEnd, writeEnd) = (ends[0], ends[1])
  }
}

/// Passes bytes on until a limit, or until it is stopped.
final class Cutter: Sendable {
  private let from: Int32
  private let to: Int32
  private let limit: Mutex<Int>
  private let count = Mutex(0)
  private let isCut = Mutex(false)

  init(from: Int32, to: Int32, limit: Int) {
    (self.from, self.to) = (from, to)
    self.limit = Mutex(limit)
  }

  var passed: Int { count.withLock { $0 } }
  func allow(_ more: Int) { limit.withLock { $0 = more == .max ? .max : passed + more } }
  func cut() { isCut.withLock { $0 = true } }

  func start(_ ended: @escaping @Sendable () -> Void) throws {
    try startThread { [self] in
      var bytes = [UInt8](repeating: 0, count: 1 << 14)
      while true {
        if isCut.withLock({ $0 }) { break }
        // A cut must be seen while nothing comes.
        guard isReady(from, for: Int32(POLLIN), patience: 5) ?? true else { continue }
        let room = limit.withLock { $0 } - passed
        let got = read(from, &bytes, bytes.count)
        guard got > 0, room > 0 else { break }
        let part = min(got, room)
        guard (try? withoutPipeSignal { write(to, bytes, part) }) == part else { break }
        count.withLock { $0 += part }
        if part < got { break }
      }
      close(from)
      close(to)
      ended()
    }
  }
}
