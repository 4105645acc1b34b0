/// The changes of a transaction, in their order, as they are noted for observers.
///
/// They are kept in pieces: one array of 50,000 would be copied as it grows, which takes milliseconds in which the caller's executor runs
/// nothing else.
struct RecordedChanges: Sendable {
  private var pieces: [[StoredChange]] = []
  private static let pieceSize = 1_024

  mutating func append(_ change: StoredChange) {
    if pieces.last?.count ?? Self.pieceSize >= Self.pieceSize {
      pieces.append([])
    }
    pieces[pieces.count - 1].append(change)
  }

  static func += (changes: inout RecordedChanges, more: RecordedChanges) { changes.pieces += more.pieces }

  /// All changes in one array. Cost: grows with the changes.
  var all: [StoredChange] { Array(pieces.joined()) }
}
