import StrataFoundation

// The activity of a writer, as the bytes that it leaves for other processes.

extension Activity {
  package init?(bytes: [UInt8]) {
    guard let activity = try? JSONDecoder().decode(Self.self, from: Data(bytes)), activity.done >= 0,
      activity.total >= 0, activity.startedAt >= 0,
      activity.steps.allSatisfy({ $0.done >= 0 && $0.total >= 0 && (1...1_000).contains($0.cost ?? 1) })
    else { return nil }
    self = activity
  }

  package var bytes: [UInt8] {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys]
    return (try? [UInt8](encoder.encode(self))) ?? []
  }
}
