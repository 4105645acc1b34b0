package import StrataModel

/// The bytes of a store that its newest state does not need.
package struct HistorySize: Sendable, Equatable {
  package var bytes: UInt64
  package var commits: UInt64
  package var bytesEach: UInt64 { bytes / max(1, commits) }

  /// Returns nil if the store does not count the bytes of its newest state.
  package init?(of store: any ReadableStore) {
    guard let bytes = store.historyBytes else { return nil }
    self.bytes = bytes
    commits = store.commitCount
  }

  /// `history 94 MB in 41 000 commits, 2.3 KB each`.
  package var text: String {
    "history \(NumberFormat.bytes(bytes)) in \(NumberFormat.counted(commits, "commit")), \(NumberFormat.bytes(bytesEach)) each"
  }
}
