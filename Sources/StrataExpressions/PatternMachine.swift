/// Runs a pattern over a text, all alternatives at once: it checks each character once for each live step, so the time is at most the
/// length of the text times that of the program.
struct PatternMachine {
  /// The live steps, the preferred first, with their notes.
  private struct Threads {
    var instructions: [Int] = []
    /// The round in which each step was added last.
    var rounds: [Int]
    var notes: [[Int]] = []

    init(count: Int) { rounds = Array(repeating: -1, count: count) }

    mutating func cut(at position: Int) {
      instructions.removeSubrange(position...)
      notes.removeSubrange(position...)
    }

    mutating func removeAll() {
      instructions.removeAll(keepingCapacity: true)
      notes.removeAll(keepingCapacity: true)
    }
  }

  private let program: PatternProgram
  private let captures: Bool
  /// The steps that wait for the next character, and those that waited for the one before.
  private var alive: Threads
  private var before: Threads
  private var pending: [(instruction: Int, notes: [Int])] = []
  private var round = 0
  /// The number of steps in all its searches after which the machine stops and is exhausted.
  var stepLimit = Int.max
  private(set) var isExhausted = false

  init(_ program: PatternProgram, captures: Bool) {
    self.program = program
    self.captures = captures
    alive = Threads(count: program.steps.count)
    before = alive
  }

  /// Whether the pattern occurs in a text; notes nothing.
  mutating func occurs(in text: String) -> Bool {
    var rest = text.unicodeScalars.makeIterator()
    var scalar = rest.next()
    beginRound()
    if add(0, notes: [], at: 0, after: nil, before: scalar) { return true }
    while let current = scalar {
      scalar = rest.next()
      beginRound()
      for instruction in before.instructions where matches(instruction, current) {
        if add(instruction + 1, notes: [], at: 0, after: current, before: scalar) { return true }
      }
      if add(0, notes: [], at: 0, after: current, before: scalar) { return true }
    }
    return false
  }

  /// The places of the leftmost match and of its groups (−1 for a group that took no part), with the pattern's preferences.
  mutating func firstMatch(in scalars: [Unicode.Scalar], from start: Int) -> [Int]? {
    let nothing = Array(repeating: -1, count: program.slots)
    var best: [Int]?
    var at = start
    alive.removeAll()
    beginRound()
    _ = add(
      0, notes: nothing, at: at, after: at > 0 ? scalars[at - 1] : nil, before: at < scalars.count ? scalars[at] : nil)
    while true {
      if let match = alive.instructions.firstIndex(where: isMatch) {
        best = alive.notes[match]
        // Later steps are less preferred.
        alive.cut(at: match)
      }
      guard at < scalars.count, best == nil || !alive.instructions.isEmpty else { return best }
      stepLimit -= alive.instructions.count + 1
      guard stepLimit > 0 else {
        isExhausted = true
        return nil
      }
      let current = scalars[at]
      at += 1
      let following = at < scalars.count ? scalars[at] : nil
      beginRound()
      for (position, instruction) in before.instructions.enumerated() where matches(instruction, current) {
        _ = add(instruction + 1, notes: before.notes[position], at: at, after: current, before: following)
      }
      if best == nil { _ = add(0, notes: nothing, at: at, after: current, before: following) }
    }
  }

  private mutating func beginRound() {
    round += 1
    swap(&alive, &before)
    alive.removeAll()
  }

  private func isMatch(_ instruction: Int) -> Bool {
    if case .match = program.steps[instruction] { true } else { false }
  }

  /// Adds a step and all that is reached from it without a character. Returns true at a match, if the machine notes no groups.
  private mutating func add(
    _ instruction: Int, notes: [Int], at position: Int, after last: Unicode.Scalar?, before following: Unicode.Scalar?
  ) -> Bool {
    pending.append((instruction, notes))
    while var (instruction, notes) = pending.popLast() {
      guard alive.rounds[instruction] != round else { continue }
      alive.rounds[instruction] = round
      switch program.steps[instruction] {
      case .jump(let target): pending.append((target, notes))
      case .split(let first, let second):
        pending.append((second, notes))
        pending.append((first, notes))
      case .save(let slot):
        if captures, slot < notes.count { notes[slot] = position }
        instruction += 1
        pending.append((instruction, notes))
      case .assertion(let assertion):
        if Self.holds(assertion, after: last, before: following) { pending.append((instruction + 1, notes)) }
      case .match where !captures:
        pending.removeAll(keepingCapacity: true)
        return true
      case .match, .scalar, .set:
        alive.instructions.append(instruction)
        if captures { alive.notes.append(notes) }
      }
    }
    return false
  }

  private func matches(_ instruction: Int, _ scalar: Unicode.Scalar) -> Bool {
    switch program.steps[instruction] {
    case .scalar(let wanted): return (program.ignoresCase ? PatternProgram.folded(scalar) : scalar) == wanted
    case .set(let index):
      let set = program.sets[index]
      guard program.ignoresCase else { return set.contains(scalar) }
      let upper = scalar.properties.uppercaseMapping.unicodeScalars
      // A negated class contains a letter only if it excludes none of its cases.
      let cases = [scalar, PatternProgram.folded(scalar), upper.count == 1 ? upper.first ?? scalar : scalar]
      return set.isOpposite ? cases.allSatisfy(set.contains) : cases.contains(where: set.contains)
    default: return false
    }
  }

  private static func holds(
    _ assertion: PatternAssertion, after last: Unicode.Scalar?, before following: Unicode.Scalar?
  ) -> Bool {
    let isWordBefore = last.map { PatternSet.has(.word, $0) } ?? false
    let isWordAfter = following.map { PatternSet.has(.word, $0) } ?? false
    return switch assertion {
    case .start: last == nil
    case .end: following == nil
    case .wordBoundary: isWordBefore != isWordAfter
    case .noWordBoundary: isWordBefore == isWordAfter
    }
  }
}
