import StrataFoundation

// The activity of a writer, as the bytes that it leaves for other processes.

extension Activity {
  package init?(bytes: [UInt8]) {
    guard let read = try? JSONDecoder().decode(Self.self, from: Data(bytes)), read.isPlausible else { return nil }
    self = read
  }

  /// Whether no calculation with its numbers overflows: another program may have written any.
  private var isPlausible: Bool {
    let counts = [done, total, failureCount ?? 0, ending?.failureCount ?? 0]
    let measures = [share, secondsLeft?.lowerBound, secondsLeft?.upperBound] + steps.flatMap { [$0.rate, $0.seconds] }
    return startedAt >= 0 && ending?.at ?? 0 >= 0 && steps.count <= 1_000
      && (counts + steps.flatMap { [$0.done, $0.total] + ($0.course ?? []) }).allSatisfy { 0...1 << 48 ~= Int64($0) }
      && measures.allSatisfy { 0...1e12 ~= $0 ?? 0 } && steps.allSatisfy { 1...1_000 ~= $0.cost ?? 1 }
      && storeBefore ?? 0 <= 1 << 60 && UInt64(ending?.bytes.magnitude ?? 0) <= 1 << 60
  }

  package var bytes: [UInt8] {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys]
    return (try? [UInt8](encoder.encode(self))) ?? []
  }
}
