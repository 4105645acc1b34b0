import StrataTerminal

struct Macro: Sendable {
  private(set) var isRecording: Bool
  private(set) var events: [TerminalEvent] = []
  /// The number of events before the command whose keys are being pressed.
  private var start = 0

  init(isRecording: Bool = false) { self.isRecording = isRecording }

  /// Ends the recording. The keys of the command that ends it are removed, because replaying them would begin another recording.
  mutating func stop() {
    isRecording = false
    leaveCommandOut()
  }

  /// Removes the keys of the command that is being run: a macro that replays itself never ends.
  mutating func leaveCommandOut() { events.removeSubrange(min(start, events.count)...) }

  /// - Parameter begins: whether it is the first event of a command.
  mutating func record(_ event: TerminalEvent, begins: Bool) {
    guard isRecording else { return }
    if begins { start = events.count }
    events.append(event)
  }
}
