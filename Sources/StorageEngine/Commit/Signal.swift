import Locks

/// Something that one thread waits for and another makes happen, once.
final class Signal: Sendable {
  private let semaphore = Semaphore()
  private let stage: Atomic<Stage>

  /// `isAnnounced`: it will happen so soon that the thread need not sleep.
  init(isAnnounced: Bool = false) { stage = Atomic(isAnnounced ? .announced : .asleep) }

  private enum Stage: UInt8, AtomicRepresentable {
    case asleep
    /// It will happen soon: the thread is woken to look for it.
    case announced
    case fired
  }

  /// How often a thread that was told looks before it sleeps again.
  private static let looks = 200

  /// Wakes the one that waits, so that it is there when it happens. Only a hint.
  func announce() {
    let (isFirst, _) = stage.compareExchange(expected: .asleep, desired: .announced, ordering: .acquiringAndReleasing)
    if isFirst { semaphore.raise() }
  }

  func fire() {
    if stage.exchange(.fired, ordering: .acquiringAndReleasing) == .asleep { semaphore.raise() }
  }

  /// Only one thread may wait, and only once.
  func wait() {
    while true {
      switch stage.load(ordering: .acquiring) {
      case .fired: return
      case .asleep: semaphore.take()
      case .announced:
        for _ in 0..<Self.looks {
          if stage.load(ordering: .acquiring) == .fired { return }
          letOthersRun()
        }
        _ = stage.compareExchange(expected: .announced, desired: .asleep, ordering: .acquiringAndReleasing)
      }
    }
  }
}
