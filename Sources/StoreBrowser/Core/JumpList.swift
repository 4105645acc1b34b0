import StrataModel
import StrataDocuments

/// An earlier place of the cursor, for ^o and gi.
struct Jump: Sendable, Hashable {
  var source: RowSource
  var identifier: StoredKey?
  var asOf: CommitNumber?
  /// The selected field, if the record pane had the focus.
  var field: DocumentPath?
}

struct JumpList: Sendable {
  private var jumps: [Jump] = []
  private var position = 0

  static let limit = 200

  /// Notes a place before the cursor leaves it.
  mutating func leave(_ jump: Jump) {
    jumps.removeSubrange(min(position, jumps.count)...)
    if jumps.last != jump { jumps.append(jump) }
    if jumps.count > Self.limit { jumps.removeFirst() }
    position = jumps.count
  }

  mutating func back(from here: Jump) -> Jump? {
    guard position > 0 else { return nil }
    if position == jumps.count { jumps.append(here) }
    position -= 1
    return jumps[position]
  }

  mutating func forward() -> Jump? {
    guard position + 1 < jumps.count else { return nil }
    position += 1
    return jumps[position]
  }
}
