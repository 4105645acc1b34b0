/// How values are merged that two sides changed, by the paths that a datastore declares: a list is one value without a rule.
package struct MergeRules: Hashable, Sendable {
  private var rules: [DocumentPath: MergeRule] = [:]

  package init() {}

  /// - Parameter texts: by paths, as a descriptor keeps them; what is no path and no rule is left out.
  package init(_ texts: [String: String]) {
    for (path, text) in texts {
      guard let path = try? DocumentPath(parsing: path), let rule = MergeRule(text) else { continue }
      rules[path] = rule
    }
  }

  func rule(at path: DocumentPath) -> MergeRule? { rules.isEmpty ? nil : rules[path] }
}

/// How one value is merged that both sides changed.
package enum MergeRule: Hashable, Sendable {
  /// A list without order: what one side added is in, what one side took out is out.
  case set
  /// A list of objects that are told apart by a member: merged element by element.
  case list(by: DocumentPath)
  /// A list with an order: changes at different places are put together.
  case sequence
  /// A text: changes of different lines are put together.
  case text
  /// A number that both count up or down: both changes count.
  case counter
  /// A number or a text (as a date) that only grows: the greater one.
  case maximum

  /// Reads `set`, `list by .id`, `sequence`, `text`, `counter`, `maximum`; nil where the text is none of them.
  package init?(_ text: String) {
    switch text {
    case "set": self = .set
    case "sequence": self = .sequence
    case "text": self = .text
    case "counter": self = .counter
    case "maximum": self = .maximum
    default:
      guard text.hasPrefix("list by "), let path = try? DocumentPath(parsing: String(text.dropFirst(8))) else {
        return nil
      }
      self = .list(by: path)
    }
  }

  package var description: String {
    switch self {
    case .set: "set"
    case .list(let path): "list by \(path)"
    case .sequence: "sequence"
    case .text: "text"
    case .counter: "counter"
    case .maximum: "maximum"
    }
  }

  /// Both changes together; nil where the rule does not fit the values, or the changes overlap.
  func merge(_ base: Document?, _ mine: Document?, _ theirs: Document?) -> Document? {
    guard let mine, let theirs else { return nil }
    switch (self, mine, theirs) {
    case (.set, .array(let mine), .array(let theirs)):
      return .array(Self.set(base?.elements ?? [], mine, theirs))
    case (.list(let path), .array(let mine), .array(let theirs)):
      return Self.list(base?.elements ?? [], mine, theirs, by: path).map { .array($0) }
    case (.sequence, .array(let mine), .array(let theirs)):
      guard case .array(let base)? = base else { return nil }
      return SequenceMerge(base: base, mine: mine, theirs: theirs).merged.map { .array($0) }
    case (.text, .string(let mine), .string(let theirs)):
      guard case .string(let base)? = base else { return nil }
      return SequenceMerge(base: base.linesWithEnds, mine: mine.linesWithEnds, theirs: theirs.linesWithEnds).merged
        .map { .string($0.joined()) }
    case (.counter, .number(let mine), .number(let theirs)): return Self.counter(base, mine, theirs)
    case (.maximum, .number(let left), .number(let right)):
      guard left.isFinite, right.isFinite else { return nil }
      return left.double < right.double ? theirs : mine
    case (.maximum, .string(let left), .string(let right)):
      return left.utf8.lexicographicallyPrecedes(right.utf8) ? theirs : mine
    case (.maximum, .date(let left), .date(let right)): return left < right ? theirs : mine
    default: return nil
    }
  }

  private static func counter(_ base: Document?, _ mine: NumberText, _ theirs: NumberText) -> Document? {
    var before = NumberText(0)
    if case .number(let number)? = base { before = number }
    guard let base = before.integer, let mine = mine.integer, let theirs = theirs.integer else { return nil }
    let (change, isTooLarge) = mine.subtractingReportingOverflow(base)
    let (sum, isTooMuch) = theirs.addingReportingOverflow(change)
    return isTooLarge || isTooMuch ? nil : .number(NumberText(sum))
  }

  private static func set(_ base: [Document], _ mine: [Document], _ theirs: [Document]) -> [Document] {
    let (before, here, there) = (Set(base), Set(mine), Set(theirs))
    let removed = before.subtracting(here).union(before.subtracting(there))
    var merged: [Document] = []
    var seen: Set<Document> = []
    for element in theirs + mine where !removed.contains(element) && seen.insert(element).inserted {
      merged.append(element)
    }
    return merged
  }

  /// Nil where an element has no name, or two have the same, or one was changed on both sides in ways that overlap.
  private static func list(
    _ base: [Document], _ mine: [Document], _ theirs: [Document], by path: DocumentPath
  ) -> [Document]? {
    func named(_ elements: [Document]) -> (names: [Document], values: [Document: Document])? {
      var names: [Document] = []
      var values: [Document: Document] = [:]
      for element in elements {
        guard let name = element[path], values.updateValue(element, forKey: name) == nil else { return nil }
        names.append(name)
      }
      return (names, values)
    }
    guard let before = named(base), let here = named(mine), let there = named(theirs) else { return nil }
    var merged: [Document] = []
    for name in there.names + here.names.filter({ there.values[$0] == nil }) {
      let (old, left, right) = (before.values[name], here.values[name], there.values[name])
      if left == right || old == left {
        if let right { merged.append(right) }
      } else if old == right {
        if let left { merged.append(left) }
      } else {
        guard let left, let right else { return nil }
        let merge = DocumentMerge(base: old ?? .object([]), mine: left, theirs: right)
        guard merge.overlaps.isEmpty else { return nil }
        merged.append(merge.merged)
      }
    }
    return merged
  }
}

/// Puts two edits of a list together (Khanna, Kunal, Pierce: “A formal investigation of diff3”, 2007): what stayed in both holds the
/// rest in place.
private struct SequenceMerge<Element: Hashable> {
  /// Nil where both changed the same place, and not to the same.
  let merged: [Element]?

  init(base: [Element], mine: [Element], theirs: [Element]) {
    let (here, there) = (Self.matches(base, mine), Self.matches(base, theirs))
    var merged: [Element] = []
    var (next, left, right) = (0, 0, 0)
    while true {
      // The next element that both kept.
      let stable = (next..<base.count).first { here[$0] != nil && there[$0] != nil }
      let (baseEnd, leftEnd, rightEnd) = (
        stable ?? base.count, stable.flatMap { here[$0] } ?? mine.count, stable.flatMap { there[$0] } ?? theirs.count
      )
      let (old, our, their) = (base[next..<baseEnd], mine[left..<leftEnd], theirs[right..<rightEnd])
      if Array(our) == Array(their) || Array(old) == Array(our) {
        merged += their
      } else if Array(old) == Array(their) {
        merged += our
      } else {
        self.merged = nil
        return
      }
      guard let stable else { break }
      merged.append(base[stable])
      (next, left, right) = (stable + 1, leftEnd + 1, rightEnd + 1)
    }
    self.merged = merged
  }

  /// Where each element of the base stands in the other list, for those that stayed.
  private static func matches(_ base: [Element], _ other: [Element]) -> [Int?] {
    let difference = other.difference(from: base)
    var removed: Set<Int> = []
    var inserted: Set<Int> = []
    for change in difference {
      switch change {
      case .remove(let offset, _, _): removed.insert(offset)
      case .insert(let offset, _, _): inserted.insert(offset)
      }
    }
    var positions: [Int?] = []
    var position = 0
    for index in base.indices {
      if removed.contains(index) {
        positions.append(nil)
        continue
      }
      while inserted.contains(position) { position += 1 }
      positions.append(position)
      position += 1
    }
    return positions
  }
}

extension Document {
  fileprivate var elements: [Document]? {
    if case .array(let elements) = self { elements } else { nil }
  }
}

extension String {
  fileprivate var linesWithEnds: [String] {
    var lines: [String] = []
    var line = ""
    for character in self {
      line.append(character)
      if character.isNewline {
        lines.append(line)
        line = ""
      }
    }
    return line.isEmpty ? lines : lines + [line]
  }
}
