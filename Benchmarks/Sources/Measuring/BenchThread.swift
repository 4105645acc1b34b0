import Glibc

/// A thread of its own for blocking work.
package final class BenchThread {
  private var thread = pthread_t()

  /// Starts it.
  package init(_ body: @escaping @Sendable () -> Void) {
    final class Box: Sendable {
      let body: @Sendable () -> Void
      init(_ body: @escaping @Sendable () -> Void) { self.body = body }
    }
    let box = Unmanaged.passRetained(Box(body))
    pthread_create(
      &thread, nil,
      { context in
        if let context { Unmanaged<Box>.fromOpaque(context).takeRetainedValue().body() }
        return nil
      }, box.toOpaque())
  }

  /// Waits until it has ended.
  package func join() { pthread_join(thread, nil) }
}
