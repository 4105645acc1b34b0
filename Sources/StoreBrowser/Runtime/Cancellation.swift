import StrataLocks

/// Tells running work to stop. Work looks at it between its pieces.
package final class Cancellation: Sendable {
  private let flag = Atomic(false)

  package init() {}

  package var isCancelled: Bool { flag.load(ordering: .acquiring) }
  package func cancel() { flag.store(true, ordering: .releasing) }
}
