/// A walk over an answer whose entries are on a server: instances are read ahead on threads that may wait, a few at first.
final class ServedRun<Format: DatastoreFormat>: @unchecked Sendable {
  // `@unchecked`: who iterates is suspended while more is read, so the two never touch it at the same time.
  private var run: TypedQueryRun<Format>
  private var found: ArraySlice<TypedQueryRun<Format>.Found> = []
  private var failure: (any Error)?
  private var isAtEnd = false
  private var batch = 1

  private static var largestBatch: Int { 128 }

  init(_ run: TypedQueryRun<Format>) { self.run = run }

  func next() async throws -> TypedQueryRun<Format>.Found? {
    if found.isEmpty, failure == nil, !isAtEnd { try await ServerThreads.run { await self.readAhead() } }
    if let first = found.popFirst() { return first }
    if let failure { throw failure }
    return nil
  }

  private func readAhead() async {
    var read: [TypedQueryRun<Format>.Found] = []
    do {
      // What the server must be asked for waits until somebody wants it.
      while read.count < batch, read.isEmpty || run.isAtHand {
        guard let next = try await run.next() else {
          isAtEnd = true
          break
        }
        read.append(next)
      }
    } catch {
      failure = error
    }
    found = read[...]
    batch = min(Self.largestBatch, batch * 4)
  }
}
