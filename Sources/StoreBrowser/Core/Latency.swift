/// Measured times from key to picture.
struct Latency: Sendable, Hashable {
  private var times: [Int64] = []

  mutating func record(_ nanoseconds: Int64) {
    times.append(nanoseconds)
    if times.count > 200 { times.removeFirst() }
  }

  var text: String {
    guard !times.isEmpty else { return "key→paint: no key yet" }
    let sorted = times.sorted()
    func ms(_ part: Double) -> String {
      NumberFormat.fixed(Double(sorted[min(sorted.count - 1, Int(Double(sorted.count) * part))]) / 1e6, digits: 2)
    }
    return "key→paint p50 \(ms(0.5)) ms p99 \(ms(0.99)) ms"
  }
}
