/// A walk over an answer whose entries are on a server. Requests wait on threads that may block. Entries that have arrived are decoded
/// on the caller's executor, like those of a file.
final class ServedRun<Format: DatastoreFormat>: @unchecked Sendable {
  // `@unchecked`: the iterating task is suspended while another thread requests more, so the two never use it at the same time.
  private var run: TypedQueryRun<Format>
  private var isBegun: Bool

  /// - Parameter isAnswered: whether the server was asked for the first page, and has answered.
  init(_ run: TypedQueryRun<Format>, isAnswered: Bool = false) {
    self.run = run
    isBegun = isAnswered
  }

  func next() async throws -> TypedQueryRun<Format>.Found? {
    if isBegun, run.isAtHand { return try await run.next() }
    isBegun = true
    return try await ServerThreads.run { try await self.run.next() }
  }
}
