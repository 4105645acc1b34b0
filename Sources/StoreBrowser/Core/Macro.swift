import TerminalKit

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
