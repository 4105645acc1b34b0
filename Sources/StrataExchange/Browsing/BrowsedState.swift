import StrataEngine
import StrataFoundation
import StrataModel

/// All that changes in a store that is browsed over a line, as a line says it.
struct BrowsedState: Hashable, Codable, Sendable {
  var settled: DurableEnd
  /// Whether it was deleted or moved.
  var isAbsent: Bool?
  /// Why it takes no changes from the line.
  var refusal: String?
  /// The other process that writes there.
  var writer: WriterHold?
  var activity: Data?
  /// The bytes on disk, including the zeros ahead, which are not sent.
  var bytes: UInt64?

  private static let mostBytes: UInt64 = 1 << 60

  init(_ store: EngineStore, _ settled: DurableEnd, isReadOnly: Bool) {
    self.settled = settled
    if !store.isInPlace {
      (isAbsent, refusal) = (true, EngineStore.absence)
    } else if isReadOnly {
      refusal = "it is served for reading only"
    } else if case .readOnly(let reason) = store.access {
      refusal = reason
    }
    writer = store.writer
    activity = store.activity.map { Data($0.bytes) }
    bytes = try? store.byteCount
  }

  /// Returns nil if a line says no state.
  ///
  /// - Parameter connection: Distinguishes the files of one connection from those of an earlier one.
  init?(_ line: StreamLine, connection: UInt64) {
    guard let state = line.value("state", as: Self.self), state.settled.end < Self.mostBytes else { return nil }
    self = state
    settled.file.device = connection
  }
}
