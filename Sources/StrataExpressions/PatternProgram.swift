import StrataDocuments

/// A pattern as steps for `PatternMachine`.
struct PatternProgram: Sendable {
  enum Step: Sendable {
    case scalar(Unicode.Scalar)
    case set(Int)
    /// Goes on at both, with the first one preferred.
    case split(Int, Int)
    case jump(Int)
    /// Notes the place in a slot.
    case save(Int)
    case assertion(PatternAssertion)
    case match
  }

  private(set) var steps: [Step] = []
  private(set) var sets: [PatternSet] = []
  let slots: Int
  let ignoresCase: Bool
  private var work = 0

  /// The longest program: `{n}` repeats its part in it.
  private static let stepLimit = 5000

  init(compiling tree: PatternTree, groups: Int, ignoresCase: Bool) throws(ExpressionError) {
    slots = 2 * (min(groups, 9) + 1)
    self.ignoresCase = ignoresCase
    try append(.save(0))
    try append(tree)
    try append(.save(1))
    try append(.match)
  }

  private mutating func append(_ tree: PatternTree) throws(ExpressionError) {
    // Parts without any step count too, or repetitions of nothing could go on for ever.
    work += 1
    guard work < 10 * Self.stepLimit else { throw ExpressionError("the pattern is too large", column: 1) }
    switch tree {
    case .scalar(let scalar): try append(Step.scalar(ignoresCase ? Self.folded(scalar) : scalar))
    case .set(let set):
      try append(.set(sets.count))
      sets.append(set)
    case .assertion(let assertion): try append(Step.assertion(assertion))
    case .sequence(let parts): for part in parts { try append(part) }
    case .choice(let branches): try append(choice: branches)
    case .group(let inner, let number):
      guard let number, number <= 9 else { return try append(inner) }
      try append(.save(2 * number))
      try append(inner)
      try append(.save(2 * number + 1))
    case .repetition(let part, let least, let most, let isLazy):
      for _ in 0..<least { try append(part) }
      if let most {
        try append(part, upTo: most - least, isLazy: isLazy)
      } else {
        let loop = steps.count
        try append(.match)
        try append(part)
        try append(.jump(loop))
        steps[loop] = isLazy ? .split(steps.count, loop + 1) : .split(loop + 1, steps.count)
      }
    }
  }

  private mutating func append(choice branches: [PatternTree]) throws(ExpressionError) {
    var exits: [Int] = []
    for branch in branches.dropLast() {
      let fork = steps.count
      try append(.match)
      try append(branch)
      exits.append(steps.count)
      try append(.match)
      steps[fork] = .split(fork + 1, steps.count)
    }
    if let last = branches.last { try append(last) }
    for exit in exits { steps[exit] = .jump(steps.count) }
  }

  private mutating func append(_ part: PatternTree, upTo count: Int, isLazy: Bool) throws(ExpressionError) {
    var forks: [Int] = []
    for _ in 0..<count {
      forks.append(steps.count)
      try append(.match)
      try append(part)
    }
    for fork in forks { steps[fork] = isLazy ? .split(steps.count, fork + 1) : .split(fork + 1, steps.count) }
  }

  private mutating func append(_ step: Step) throws(ExpressionError) {
    guard steps.count < Self.stepLimit else { throw ExpressionError("the pattern is too large", column: 1) }
    steps.append(step)
  }

  /// The lower case of a character, if that is one character.
  static func folded(_ scalar: Unicode.Scalar) -> Unicode.Scalar {
    if scalar.isASCII { return "A"..."Z" ~= scalar ? Unicode.Scalar(UInt8(ascii: scalar) | 0x20) : scalar }
    let lower = scalar.properties.lowercaseMapping.unicodeScalars
    return lower.count == 1 ? lower.first ?? scalar : scalar
  }
}
