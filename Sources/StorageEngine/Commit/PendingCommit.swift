/// A commit that was appended and will be durable with the next sync. Letting go of it without waiting does not take it back.
package struct PendingCommit: Sendable {
  package let number: UInt64
  let writer: Writer

  /// Returns when the commit is durable, holding no thread meanwhile, and runs where its caller does. Commits that wait at
  /// once share one sync.
  package nonisolated(nonsending) func durable() async throws(StorageError) { try await writer.untilDurable(number) }

  /// Returns when the commit is durable; the thread syncs itself, or waits for one that does.
  package func wait() throws(StorageError) { try writer.waitUntilDurable(number) }

  /// As `wait`, without giving others that write at this moment the time to share the sync.
  func waitAtOnce() throws(StorageError) { try writer.waitUntilDurable(number, gathers: false) }
}
