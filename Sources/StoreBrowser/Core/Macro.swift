import StrataTerminal

struct Macro: Sendable {
  private(set) var isRecording = false
  private(set) var keys: [KeyChord] = []

  /// Ends the recording. The keys that end it are removed, because replaying them would begin another recording.
  mutating func stop() {
    isRecording = false
    if keys.last == KeyChord(.enter), let colon = keys.lastIndex(of: KeyChord(writing: ":")) {
      keys.removeSubrange(colon...)
    } else {
      _ = keys.popLast()
    }
  }

  mutating func record(_ chord: KeyChord) { if isRecording { keys.append(chord) } }
}
