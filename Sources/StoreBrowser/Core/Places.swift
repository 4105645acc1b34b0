import Documents
import DatastoreModel
import TerminalKit

/// Where one was: for ^o and gi.
struct Place: Sendable, Hashable {
  var source: RowSource
  var identifier: StoredKey?
  var asOf: CommitNumber?
}

struct PlaceHistory: Sendable {
  private var places: [Place] = []
  private var position = 0

  static let limit = 200

  /// Notes a place that is about to be left.
  mutating func leave(_ place: Place) {
    places.removeSubrange(min(position, places.count)...)
    if places.last != place { places.append(place) }
    if places.count > Self.limit { places.removeFirst() }
    position = places.count
  }

  mutating func back(from here: Place) -> Place? {
    guard position > 0 else { return nil }
    if position == places.count { places.append(here) }
    position -= 1
    return places[position]
  }

  mutating func forward() -> Place? {
    guard position + 1 < places.count else { return nil }
    position += 1
    return places[position]
  }
}

/// Keys that were recorded.
struct Macro: Sendable {
  private(set) var isRecording = false
  private(set) var keys: [KeyChord] = []
  var file: String?

  mutating func start(file: String?) {
    isRecording = true
    keys = []
    self.file = file
  }

  /// Ends the recording. What was typed to end it is not part of it, or replaying it would begin another.
  mutating func stop() {
    isRecording = false
    if keys.last == KeyChord(.enter), let colon = keys.lastIndex(of: KeyChord(writing: ":")) {
      keys.removeSubrange(colon...)
    } else {
      _ = keys.popLast()
    }
  }

  mutating func note(_ chord: KeyChord) { if isRecording { keys.append(chord) } }
}

/// What was copied here, for p.
struct Copied: Sendable {
  var records: [Record] = []
  var value: Document?
}

/// Measured times from key to picture.
struct Latency: Sendable, Hashable {
  private var times: [Int64] = []

  mutating func note(_ nanoseconds: Int64) {
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
