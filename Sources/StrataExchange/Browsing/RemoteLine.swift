import Dispatch
import StrataDocuments
import StrataEngine
import StrataLocks
import StrataModel

/// The way to a store on another computer. It connects again by itself if the line breaks.
final class RemoteLine: Sendable {
  private struct State {
    var connection: BrowsingConnection?
    var count: UInt64 = 0
    var browsed: BrowsedState?
    /// The identity of the store, which must be the same after each connecting.
    var store: String?
    var followers: [UInt64: @Sendable () -> Void] = [:]
    var nextFollower: UInt64 = 0
    var isClosed = false
    /// Why the line is broken.
    var problem: String?
  }

  let name: String
  let bytes: RemoteBytes
  private let start: @Sendable (_ mayAsk: Bool) throws -> any LineEnds
  private let state = Mutex(State())
  private let disk = Mutex<DurableDisk?>(nil)
  /// The first pause before connecting again, in milliseconds, and the longest.
  private let pauses: ClosedRange<Int>

  /// - Parameter start: begins a connection.
  init(
    name: String, pauses: ClosedRange<Int> = 250...15_000,
    start: @escaping @Sendable (_ mayAsk: Bool) throws -> any LineEnds
  ) {
    self.name = name
    self.start = start
    self.pauses = pauses
    bytes = RemoteBytes(name: name)
  }

  /// Begins a connection of its own.
  func begin() throws -> any LineEnds { try start(false) }

  /// Why the line is broken at present. Returns nil if it is not.
  var problem: String? { state.withLock { $0.problem } }
  var browsed: BrowsedState? { state.withLock { $0.browsed } }

  /// The disk that shows the store as far as the line has told it.
  func durableDisk() throws(ModelError) -> DurableDisk {
    // With the lock of `receive`, or a state that comes between the two is not shown.
    let new = disk.withLock { disk in
      disk = browsed.map { DurableDisk(name, bytes, $0.settled) }
      return disk
    }
    guard let new else { throw .away(name) }
    return new
  }

  // MARK: Connecting

  /// Connects, and waits for the state of the store.
  func connect(mayAsk: Bool) throws(ModelError) {
    let number = state.withLock { state in
      state.count += 1
      return state.count
    }
    do {
      let connection = try BrowsingConnection(
        start(mayAsk), name: name, accepts: { [weak self] in self?.receive($0, from: number) ?? false },
        ended: { [weak self] in self?.ended(number, $0.reason) })
      do {
        let hello = StreamLine.bytes([.init("browse", .number(NumberText(BrowsingServer.version)))])
        try admit(connection, connection.ask(hello))
      } catch {
        connection.close()
        throw error
      }
      // It may have ended before it was admitted.
      if let end = connection.end { ended(number, end.reason) }
    } catch let error as BrowsingConnection.Ended {
      throw .storage("\(name): \(error.reason)", kind: .failed)
    } catch {
      throw .storage("\(error)", kind: .failed)
    }
  }

  private func admit(_ connection: BrowsingConnection, _ reply: StreamLine) throws {
    if let reason = reply.text("error") { throw BrowsingConnection.Ended(reason: reason) }
    let isSame = state.withLock { state in
      guard let store = reply.text("store"), state.browsed != nil, state.store ?? store == store, !state.isClosed else {
        return false
      }
      (state.store, state.connection, state.problem) = (store, connection, nil)
      return true
    }
    guard isSame else { throw BrowsingConnection.Ended(reason: "another store lies there by now") }
    bytes.connect(connection)
  }

  /// Takes in a line with bytes, and a new state of the store.
  private func receive(_ line: StreamLine, from connection: UInt64) -> Bool {
    guard line.kind == "state" else { return bytes.keep(line, of: nil) }
    guard let browsed = BrowsedState(line, connection: connection), bytes.keep(line, of: browsed.settled) else {
      return false
    }
    disk.withLock { disk in
      disk?.setEnd(browsed.settled)
      state.withLock { $0.browsed = browsed }
    }
    stir()
    return true
  }

  /// Says that the line is broken, and connects again unless it was closed.
  private func ended(_ connection: UInt64, _ reason: String) {
    let isBroken = state.withLock { state in
      guard state.connection != nil, connection == state.count, !state.isClosed else { return false }
      (state.connection, state.problem) = (nil, "\(name): \(reason)")
      return true
    }
    guard isBroken else { return }
    bytes.connect(nil)
    stir()
    reconnect(after: pauses.lowerBound)
  }

  private func reconnect(after pause: Int) {
    DispatchQueue.global(qos: .utility).asyncAfter(deadline: .now() + .milliseconds(pause)) { [weak self] in
      guard let self, state.withLock({ !$0.isClosed }) else { return }
      do throws(ModelError) {
        try connect(mayAsk: false)
      } catch {
        state.withLock { $0.problem = error.description }
        return reconnect(after: min(pause * 2, pauses.upperBound))
      }
      stir()
    }
  }

  func close() {
    let connection = state.withLock { state in
      state.isClosed = true
      defer { state.connection = nil }
      return state.connection
    }
    connection?.close()
  }

  // MARK: Following

  func follow(_ change: @escaping @Sendable () -> Void) -> any Sendable & AnyObject {
    let number = state.withLock { state in
      state.nextFollower += 1
      state.followers[state.nextFollower] = change
      return state.nextFollower
    }
    return FollowedLine { [weak self] in _ = self?.state.withLock { $0.followers.removeValue(forKey: number) } }
  }

  private func stir() { for change in state.withLock({ Array($0.followers.values) }) { change() } }

  // MARK: Edits

  private static let waitingStep = 100

  /// Sends an edit and returns its reply. If the line breaks meanwhile, sends it again as soon as there is one: the edit has a name, so it
  /// is made once.
  ///
  /// - Parameter goesOn: whether to wait on, asked now and then.
  /// - Throws: `.storage` of kind `unreachable` if the line is broken at the beginning, or if waiting ends before the outcome is known.
  func send(_ edit: [UInt8], while goesOn: () -> Bool) throws(ModelError) -> StreamLine {
    guard problem == nil else { throw .away(name) }
    repeat {
      if let connection = state.withLock({ $0.connection }) {
        if let reply = try? connection.ask(edit, patience: BrowsingConnection.editPatience) { return reply }
      }
      _ = DispatchSemaphore(value: 0).wait(timeout: .now() + .milliseconds(Self.waitingStep))
    } while goesOn()
    throw .storage(
      "the line to \(name) broke while the commit was under way. Whether it was made shows when the line is back; "
        + "the same commit again is made once", kind: .unreachable)
  }
}

/// Ends following when it is released.
private final class FollowedLine: Sendable {
  private let end: @Sendable () -> Void
  init(end: @escaping @Sendable () -> Void) { self.end = end }
  deinit { end() }
}
